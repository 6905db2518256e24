"""Counting reports into a tally."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.base import NO_WORDS
from sottovoce.core.errors import BatchWarning, NoBatchError, ReportError
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.fast.batch import Reports, checked, from_messages, payload_outputs
from sottovoce.fast.kernels.base import Count, all_outputs_are_possible
from sottovoce.fast.threads import run, thread_count
from sottovoce.tally.tally import Tally, report_cells


def tally(mechanism: Mechanism, reports: Any, *, threads: int | None = None) -> Tally:
    """Count a batch of `privatize`, or a list of messages as devices send them."""
    if not isinstance(reports, (Reports, Iterable)):
        raise ReportError(f"A tally counts a batch of reports, or a list of messages. Got {type(reports).__name__}.")
    batch = reports if isinstance(reports, Reports) else from_messages(mechanism, list(reports))
    check_same(mechanism, batch.mechanism, "count reports")
    return Tally(mechanism, len(batch), count_cells(_safe(batch), threads=threads), batch.simulated)


def _safe(batch: Reports) -> Reports:
    """Kernels use reports as indices, and anyone can make a batch: invalid reports are refused first."""
    outputs, payload, public = payload_outputs(batch.mechanism), batch.payload, batch.public
    indices = outputs is not None and payload.ndim == 1 and payload.dtype.kind == "u"
    if batch.mechanism.channel.publics:
        if public is None or public.shape != (len(batch), 2) or public.dtype != np.uint64:
            raise ReportError("Hashed reports come with two public words each.")
        return checked(batch.mechanism, payload, public)
    plain = all_outputs_are_possible(batch.mechanism.channel)
    if indices and plain and payload.max(initial=0) < (outputs or 0):
        return batch
    return checked(batch.mechanism, payload, public)


def _counter(mechanism: Mechanism, *, warned: bool) -> Count:
    """The kernel of the statistic for this channel; without one the definition counts, where wanted with a warning."""
    try:
        kernel: Count = load(mechanism.statistic.kernel)(mechanism.channel)
    except NoBatchError as problem:
        if warned:
            warn(f"These reports are counted one by one, which takes longer: {problem}", BatchWarning, stacklevel=4)
    else:
        return kernel

    def count(reports: Any, public: Any, cells: NDArray[np.int64]) -> None:
        ids = [NO_WORDS] * len(reports) if public is None else public.tolist()
        for report, words in zip(Reports(mechanism, reports), ids, strict=True):
            cells += report_cells(mechanism, report, (words[0], words[1]))

    return count


def count_cells(batch: Reports, *, threads: int | None = None, warned: bool = True) -> NDArray[np.int64]:
    """The cells of a batch, counted on all cores."""
    mechanism = batch.mechanism
    count = _counter(mechanism, warned=warned)

    def work(start: int, stop: int) -> NDArray[np.int64]:
        cells = np.zeros(mechanism.cells, np.int64)
        public = None if batch.public is None else batch.public[start:stop]
        count(batch.payload[start:stop], public, cells)
        return cells

    # One chunk per thread: each holds its own cells, and their sum does not depend on the split.
    size = max(1, -(-len(batch) // thread_count(threads)))
    parts = run(work, len(batch), size, threads)
    return np.sum(parts, axis=0, dtype=np.int64) if parts else np.zeros(mechanism.cells, np.int64)
