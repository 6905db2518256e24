"""Shares of some answers from hashed reports themselves: one hash for each report and candidate, none for others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Subset
from sottovoce.core.channel.compose.public import behind_maps
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.evidence import Counted
from sottovoce.estimate.shares.likelihood import mapped_codes
from sottovoce.estimate.shares.supports import SupportsEvidence, two_rates
from sottovoce.fast.batch import Reports, checked
from sottovoce.fast.threads import run

Ints = NDArray[np.int64]
ROWS = 1 << 16
NOTHING = np.empty(0, np.int64)


def hashed_by_report(mechanism: Mechanism) -> bool:
    """Whether a tally computes one hash for each report and code, and a report is a value of its hash."""
    inner = behind_maps(mechanism.channel)
    hashed = isinstance(mechanism.statistic, CountSupports) and mechanism.channel.publics > 0
    return hashed and isinstance(inner, Subset) and inner.w == 1


def from_reports(mechanism: Mechanism, reports: Reports, codes: Ints, names: Sequence[object]) -> SupportsEvidence:
    """The evidence of hashed reports about some codes."""
    safe = checked(mechanism, reports.payload, reports.public)
    counts = support_counts(mechanism.channel, safe, codes)
    counted = Counted(mechanism, len(reports), NOTHING, None, codes, names)
    return SupportsEvidence(counts, len(reports), *two_rates(mechanism.channel), counted)


def support_counts(channel: Channel, reports: Reports, codes: Ints) -> Ints:
    """How many reports support each of some codes."""
    public, payload = reports.public, reports.payload
    if public is None:
        raise TypeError("Only hashed reports are counted one by one.")

    def work(start: int, stop: int) -> Ints:
        words, sent = public[start:stop], payload[start:stop]
        return np.array([np.count_nonzero(sent == mapped_codes(channel, words, int(code))) for code in codes])

    return np.asarray(np.sum(run(work, len(reports), ROWS, None), axis=0, dtype=np.int64))
