"""Shares of some answers only: no work for the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Public, Rates, Subset
from sottovoce.core.channel.facets import rates_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.candidates import CandidateCodes
from sottovoce.estimate.evidence import Counted
from sottovoce.estimate.on_demand import TallyOnDemand
from sottovoce.estimate.shares.likelihood import innermost, mapped_codes
from sottovoce.estimate.shares.pool import function_supports
from sottovoce.estimate.shares.supports import SupportsEvidence
from sottovoce.fast.batch import Reports, checked
from sottovoce.fast.threads import run
from sottovoce.tally.tally import Tally

Ints = NDArray[np.int64]
ROWS = 1 << 16
NOTHING = np.empty(0, np.int64)


def about_codes(mechanism: Mechanism, tally: Tally | TallyOnDemand, wanted: CandidateCodes) -> SupportsEvidence | None:
    """The evidence about some codes, where two support rates let them be counted without the others; else None."""
    rates = rates_of(mechanism.channel)
    if not isinstance(rates, Rates):
        return None
    if isinstance(mechanism.statistic, (CountSeeds, CountCohorts)):
        cells = tally.cells
        counts = function_supports(mechanism, cells, wanted.codes)
    elif isinstance(tally, TallyOnDemand) and _hashed_by_report(mechanism):
        cells = NOTHING
        safe = checked(mechanism, tally.reports.payload, tally.reports.public)
        counts = support_counts(mechanism.channel, safe, wanted.codes)
    else:
        return None
    counted = Counted(mechanism, tally.n, cells, None, *wanted)
    return SupportsEvidence(counts, tally.n, float(rates.own), float(rates.other), counted)


def _hashed_by_report(mechanism: Mechanism) -> bool:
    """Whether a tally computes one hash for each report and code."""
    channel = mechanism.channel
    inner = innermost(channel)
    simple = isinstance(inner, Subset) and inner.w == 1
    return isinstance(mechanism.statistic, CountSupports) and channel.publics > 0 and simple


def support_counts(channel: Channel, reports: Reports, codes: Ints) -> Ints:
    """How many reports support each of some codes."""
    public, payload = reports.public, reports.payload
    if public is None or not isinstance(channel, Public):
        raise TypeError("Only hashed reports are counted one by one.")

    def work(start: int, stop: int) -> Ints:
        words, found = public[start:stop], payload[start:stop]
        return np.array([np.count_nonzero(found == mapped_codes(channel, words, int(code))) for code in codes])

    return np.asarray(np.sum(run(work, len(reports), ROWS, None), axis=0, dtype=np.int64))
