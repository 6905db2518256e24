"""Shares of each code from a tally, and their exact predicted variance."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import (
    Block,
    Channel,
    Contrast,
    HadamardSets,
    Histogram,
    ProjectiveSets,
    Public,
    Rates,
)
from sottovoce.core.channel.facets import Supporting, need, rates_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.question import Question
from sottovoce.core.statistic.asked import CountAsked, asked_bits
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.core.statistic.sums import Sums
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.candidates import candidate_codes
from sottovoce.estimate.evidence import Counted, Evidence
from sottovoce.estimate.on_demand import TallyOnDemand
from sottovoce.estimate.request import check_target
from sottovoce.estimate.shares.asked import asked_evidence, asked_variance
from sottovoce.estimate.shares.base import SharesEvidence
from sottovoce.estimate.shares.candidates import about_codes
from sottovoce.estimate.shares.contrasts import ContrastsEvidence
from sottovoce.estimate.shares.matrix import MatrixEvidence, left_inverse, output_law
from sottovoce.estimate.shares.pool import function_supports
from sottovoce.estimate.shares.projective import hyperplane_counts
from sottovoce.estimate.shares.rows import rows_evidence, rows_variance
from sottovoce.estimate.shares.sums import SumsEvidence, bin_variance, bins
from sottovoce.estimate.shares.supports import SupportsEvidence
from sottovoce.estimate.shares.walsh import walsh
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
READS = (CountOutputs, CountSupports, CountAsked, CountSeeds, CountCohorts, Sums)


def evidence(
    mechanism: Mechanism, tally: Tally | TallyOnDemand, candidates: Iterable[object] | None = None
) -> SharesEvidence:
    """The evidence of a tally, in the shape of the channel's law; about candidates without work for other codes."""
    wanted = None if candidates is None else candidate_codes(mechanism, candidates)
    counted = None if wanted is None else about_codes(mechanism, tally, wanted)
    if counted is not None:
        return counted
    shares = from_cells(mechanism, tally.n, tally.cells)
    if isinstance(tally, TallyOnDemand):
        shares = shares.with_reports(tally.reports)
    return shares if wanted is None else shares.restricted(*wanted)


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> SharesEvidence:
    """The evidence of cells."""
    channel, counted = mechanism.channel, Counted(mechanism, n, cells)
    if isinstance(channel, Histogram):
        return SumsEvidence(cells, n, bins(channel), counted)
    if isinstance(mechanism.statistic, CountAsked):
        return asked_evidence(counted)
    rates = rates_of(channel)
    if rates is None and isinstance(mechanism.statistic, (CountSeeds, CountCohorts)):
        return rows_evidence(counted)
    if isinstance(rates, Contrast):
        plus, hits = hadamard_counts(channel, cells)
        return ContrastsEvidence(plus, hits, n, float(rates.hit_own), float(rates.plus_own), counted)
    if rates is None:
        return MatrixEvidence(cells, n, left_inverse(channel), output_law(channel), counted)
    if isinstance(mechanism.statistic, (CountSeeds, CountCohorts)) and isinstance(channel, Public):
        counts = function_supports(mechanism, cells)
    elif isinstance(channel, Block) and isinstance(channel.sets, ProjectiveSets):
        counts = hyperplane_counts(channel.sets, cells)
    elif isinstance(channel, Block):
        counts, _ = hadamard_counts(channel, cells)
    else:
        counts = cells
    return SupportsEvidence(counts, n, *_rate_arrays(channel, rates), counted)


def answer(found: Evidence, question: Question) -> Evidence | None:
    """The shares of groups, from evidence of their means."""
    groups = found.by_group
    return groups.shares if groups is not None and groups.shares.question == question else None


def _rate_arrays(channel: Channel, rates: Rates) -> tuple[Any, Any]:
    if not need(channel, Supporting).rates_vary:
        return float(rates.own), float(rates.other)
    each = [rates_of(channel, code) for code in channel.codes()]
    own, other = zip(*[(float(r[0]), float(r[1])) for r in each if r is not None], strict=True)
    return np.array(own), np.array(other)


def hadamard_counts(channel: Channel, cells: Ints) -> tuple[Ints, Ints]:
    """For each code the reports in its set and those in its group, by a fast Walsh-Hadamard transform."""
    sets = channel.sets if isinstance(channel, Block) else None
    if not isinstance(sets, HadamardSets):
        raise TypeError(f"A {channel.kind} channel has no Hadamard sets.")
    table = walsh(cells.reshape(sets.groups, sets.order))
    codes = np.arange(sets.codes)
    groups, rows = codes % sets.groups, codes // sets.groups + 1
    hits = table[groups, 0]
    return (hits + table[groups, rows]) // 2, hits


def predicted_variance(mechanism: Mechanism, shares: Any, n: int, *, target: str = "population") -> Floats:
    """The exact variance of each estimated share, for these true shares of n participants."""
    check_target(target)
    check_integer("n", "variance", n, 1, 1 << 53)
    channel = mechanism.channel
    try:
        truth = np.asarray(shares, float)
    except (TypeError, ValueError):
        truth = np.empty(0)
    if truth.shape != (channel.inputs,) or not (truth.min() >= 0 and abs(truth.sum() - 1) <= 1e-9):
        raise ParameterError(f"The 'shares' parameter of variance must be {channel.inputs} shares that sum to 1.")
    if isinstance(channel, Histogram):
        return bin_variance(bins(channel), truth, target) / n
    if isinstance(mechanism.statistic, CountAsked):
        return asked_variance(mechanism, truth, n, target)
    rates = rates_of(channel)
    if rates is None and isinstance(mechanism.statistic, (CountSeeds, CountCohorts)):
        return rows_variance(mechanism, truth, n, target)
    if rates is None:
        law, inverse = output_law(channel), left_inverse(channel)
        second = inverse**2 @ (truth @ law)
        return np.asarray((second - (truth**2 if target == "population" else truth)) / n)
    if isinstance(rates, Contrast):
        hit_own, hit_other, _ = (float(x) for x in rates)
        slope = float(rates.slope)
        sets = channel.sets  # type: ignore[attr-defined]
        group = np.arange(sets.codes) % sets.groups
        mass = np.bincount(group, truth, sets.groups)[group]
        second = hit_other + mass * (hit_own - hit_other)
        return np.asarray((second / slope**2 - (truth**2 if target == "population" else truth)) / n)
    own, other = _rate_arrays(channel, rates)
    if target == "population":
        support = other + truth * (own - other)
        each = support * (1 - support)
    else:
        each = truth * own * (1 - own) + (1 - truth) * other * (1 - other)
    return np.asarray(each / n / (own - other) ** 2)


def rare_variance(mechanism: Mechanism) -> Fraction:
    """n times the variance at share zero for large n, all other values being equally common (sample target)."""
    channel, rates = mechanism.channel, rates_of(mechanism.channel)
    if isinstance(channel, Histogram):
        return Fraction(bins(channel).off / bins(channel).slope ** 2)
    if isinstance(mechanism.statistic, CountAsked):
        chosen, (own, other) = asked_bits(channel)
        return other * (1 - other) / (own - other) ** 2 * chosen.k / chosen.asked
    if isinstance(rates, Rates):
        return rates.other * (1 - rates.other) / (rates.own - rates.other) ** 2
    if isinstance(rates, Contrast):
        sets = mechanism.channel.sets  # type: ignore[attr-defined]
        mates = Fraction(-(-sets.codes // sets.groups) - 1, sets.codes - 1)
        return (rates.hit_other + mates * (rates.hit_own - rates.hit_other)) / rates.slope**2
    truth = np.full(mechanism.channel.inputs, 1 / (mechanism.channel.inputs - 1))
    truth[0] = 0
    return Fraction(float(predicted_variance(mechanism, truth, 1, target="sample")[0]))
