"""Shares of each code from a tally, and their exact predicted variance."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np

from sottovoce.core.channel import Channel, Subset
from sottovoce.core.channel.compose.public import behind_maps
from sottovoce.core.channel.facets import rates_of
from sottovoce.core.channel.shapes import contrast_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.core.statistic.asked import CountAsked
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.core.statistic.sums import Sums
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.candidates import CandidateCodes, candidate_codes
from sottovoce.estimate.evidence import Counted, Evidence, Floats, Ints, floats_of
from sottovoce.estimate.frequency import asked, contrasts, matrix, rows, sums, supports
from sottovoce.estimate.frequency.base import SharesEvidence
from sottovoce.estimate.frequency.likelihood import mapped_codes
from sottovoce.estimate.frequency.supports import SupportsEvidence, two_rates
from sottovoce.estimate.on_demand import TallyOnDemand
from sottovoce.estimate.request import Target
from sottovoce.fast.batch import Reports, checked
from sottovoce.fast.threads import run
from sottovoce.tally.tally import Tally

READS = (CountOutputs, CountSupports, CountAsked, CountSeeds, CountCohorts, Sums)
ROWS = 1 << 16
NOTHING = np.empty(0, np.int64)


def home(mechanism: Mechanism) -> ModuleType:
    """The module of the shape of a law: it has `from_cells(counted)` and `predicted_variance(mechanism, truth, ...)`.

    Sums of bins, bits about some codes, supports with two rates, contrasts within groups, rows of public functions
    whose values collide, or a table of outputs.
    """
    statistic, channel = mechanism.statistic, mechanism.channel
    if isinstance(statistic, (Sums, CountAsked)):
        return sums if isinstance(statistic, Sums) else asked
    if rates_of(channel) is None:
        return rows if isinstance(statistic, (CountSeeds, CountCohorts)) else matrix
    return supports if contrast_of(channel) is None else contrasts


def evidence(
    mechanism: Mechanism, tally: Tally | TallyOnDemand, candidates: Iterable[object] | None = None
) -> SharesEvidence:
    """The evidence of a tally, in the shape of the channel's law; about candidates without work for other codes."""
    wanted = None if candidates is None else candidate_codes(mechanism.domain, candidates)
    if wanted is not None and home(mechanism) is supports:
        counted = _about_codes(mechanism, tally, wanted)
        if counted is not None:
            return counted
    shares = from_cells(mechanism, tally.n, tally.cells)
    if isinstance(tally, TallyOnDemand):
        shares = shares.with_reports(tally.reports)
    return shares if wanted is None else shares.restricted(*wanted)


def _about_codes(mechanism: Mechanism, tally: Tally | TallyOnDemand, wanted: CandidateCodes) -> SupportsEvidence | None:
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


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> SharesEvidence:
    """The evidence of cells."""
    shares: SharesEvidence = home(mechanism).from_cells(Counted(mechanism, n, cells))
    return shares


def answer(source: Evidence, question: Question) -> Evidence | None:
    """The shares of groups, from evidence of their means."""
    groups = source.by_group
    return groups.shares if groups is not None and groups.shares.question == question else None


def predicted_variance(mechanism: Mechanism, shares: Any, n: int, *, target: Target = Target.POPULATION) -> Floats:
    """The exact variance of each estimated share, for these true shares of n participants."""
    check_people("n", "variance", n)
    inputs = mechanism.channel.inputs
    truth = floats_of(shares)
    if truth.shape != (inputs,) or not (truth.min() >= 0 and abs(truth.sum() - 1) <= 1e-9):
        raise ParameterError(f"The 'shares' parameter of variance must be {inputs} shares that sum to 1.")
    variances: Floats = home(mechanism).predicted_variance(mechanism, truth, n, target)
    return variances
