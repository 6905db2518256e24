"""Counting reports into a tally."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.fast.batch import Reports, from_messages
from sottovoce.fast.kernels import counter
from sottovoce.fast.kernels.masks import count_indices
from sottovoce.fast.threads import run, thread_count
from sottovoce.tally.tally import Tally


def tally(mechanism: Mechanism, reports: Any, *, threads: int | None = None) -> Tally:
    """Count a batch of `privatize`, or a list of messages as devices send them."""
    batch = reports if isinstance(reports, Reports) else from_messages(mechanism, list(reports))
    check_same(mechanism, batch.mechanism, "count reports")
    return Tally(mechanism, len(batch), count_cells(batch, threads=threads))


def count_cells(batch: Reports, *, threads: int | None = None) -> NDArray[np.int64]:
    """The cells of a batch, counted on all cores."""
    mechanism = batch.mechanism
    count = None if mechanism.statistic == "outputs" else counter(mechanism.channel)

    def work(start: int, stop: int) -> NDArray[np.int64]:
        cells = np.zeros(mechanism.cells, np.int64)
        if count is None:
            count_indices(batch.payload[start:stop], cells)
        else:
            public = None if batch.public is None else batch.public[start:stop]
            count(batch.payload[start:stop], public, cells)
        return cells

    # One chunk per thread: each holds its own cells, and their sum does not depend on the split.
    size = max(1, -(-len(batch) // thread_count(threads)))
    parts = run(work, len(batch), size, threads)
    return np.sum(parts, axis=0, dtype=np.int64) if parts else np.zeros(mechanism.cells, np.int64)
