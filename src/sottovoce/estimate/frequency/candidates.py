"""Shares of some answers only: no work for the others."""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel import Channel, Subset
from sottovoce.core.channel.compose.public import behind_maps
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.candidates import CandidateCodes
from sottovoce.estimate.evidence import Counted, Ints
from sottovoce.estimate.frequency import supports
from sottovoce.estimate.frequency.likelihood import mapped_codes
from sottovoce.estimate.frequency.supports import SupportsEvidence, two_rates
from sottovoce.estimate.on_demand import TallyOnDemand
from sottovoce.fast.batch import Reports, checked
from sottovoce.fast.threads import run
from sottovoce.tally.tally import Tally

ROWS = 1 << 16
NOTHING = np.empty(0, np.int64)


def about_codes(mechanism: Mechanism, tally: Tally | TallyOnDemand, wanted: CandidateCodes) -> SupportsEvidence | None:
    """The evidence about some codes with two support rates, where they are counted without the others; else None."""
    if isinstance(mechanism.statistic, (CountSeeds, CountCohorts)):
        return supports.from_cells(Counted(mechanism, tally.n, tally.cells, None, *wanted))
    if not isinstance(tally, TallyOnDemand) or not _hashed_by_report(mechanism):
        return None
    safe = checked(mechanism, tally.reports.payload, tally.reports.public)
    counts = support_counts(mechanism.channel, safe, wanted.codes)
    return SupportsEvidence(
        counts, tally.n, *two_rates(mechanism.channel), Counted(mechanism, tally.n, NOTHING, None, *wanted)
    )


def _hashed_by_report(mechanism: Mechanism) -> bool:
    """Whether a tally computes one hash for each report and code, and a report is a value of its hash."""
    inner = behind_maps(mechanism.channel)
    hashed = isinstance(mechanism.statistic, CountSupports) and mechanism.channel.publics > 0
    return hashed and isinstance(inner, Subset) and inner.w == 1


def support_counts(channel: Channel, reports: Reports, codes: Ints) -> Ints:
    """How many reports support each of some codes."""
    public, payload = reports.public, reports.payload
    if public is None:
        raise TypeError("Only hashed reports are counted one by one.")

    def work(start: int, stop: int) -> Ints:
        words, sent = public[start:stop], payload[start:stop]
        return np.array([np.count_nonzero(sent == mapped_codes(channel, words, int(code))) for code in codes])

    return np.asarray(np.sum(run(work, len(reports), ROWS, None), axis=0, dtype=np.int64))
