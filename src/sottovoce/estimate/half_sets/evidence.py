"""Shares of public half-sets from a tally of their reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel.facets import need
from sottovoce.core.channel.shapes import Blocked
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.question import HalfSets, Question
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.candidates import refuse
from sottovoce.estimate.evidence import POOR_BELOW, Contributions, Evidence, Flags, Floats, Ints, Offer
from sottovoce.estimate.mean.betting import Sides, watched_sides
from sottovoce.estimate.reading import MatrixReading
from sottovoce.estimate.request import Method, Target
from sottovoce.tally.tally import Tally

READS = (CountOutputs,)


@dataclass(frozen=True, eq=False)
class HalfSetsEvidence(Evidence):
    """Reports inside and outside of each set: an even cell, then an odd one."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    noun: ClassVar[str] = HalfSets.noun
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.RANGE, Offer.HALF_SETS})
    mechanism: Mechanism
    n: int
    cells: Ints

    @property
    def question(self) -> Question:
        return self.mechanism.question

    @property
    def axes(self) -> Axes:
        return Axes.of("half-set", [f"set {place}" for place in range(1, len(self.cells) // 2 + 1)])

    @property
    def counts(self) -> Ints:
        """Reports inside and outside, one row for each set."""
        return self.cells.reshape(-1, 2)

    @property
    def slope(self) -> float:
        """How much more often holders of an answer in a set report "inside" than others: 2 p - 1."""
        return slope_of(self.mechanism)

    @cached_property
    def reading(self) -> MatrixReading:
        """Scores of reports, which are linear in the counts."""
        return reading_of(self.mechanism)

    @cached_property
    def rates(self) -> Floats:
        """How often each output was sent."""
        return np.asarray(self.cells / self.n)

    def values(self) -> Floats:
        return self.reading.values(self.rates)

    def variances(self, target: Target) -> Floats:
        shares = np.clip(self.values(), 0, 1)
        return _variances(self.mechanism, shares, target) / self.n

    def covariance(self, target: Target) -> Floats:
        if target == Target.SAMPLE:
            return Evidence.covariance(self, target)
        return self.reading.covariance(np.eye(len(self.counts)), self.rates, target) / self.n

    def contributions(self) -> Contributions:
        return self.reading.contributions(np.eye(len(self.counts)), self.n)

    def watched(self) -> list[Sides]:
        """Bets on the bits about each set, which only reports about it are part of."""
        numbers = 0.5 + np.array([0.5, -0.5]) / slope_of(self.mechanism)
        return [watched_sides(numbers, row.astype(float), self.ends) for row in self.counts]

    def normal_is_poor(self) -> Flags:
        return np.asarray(self.counts.min(axis=1) < POOR_BELOW)

    def warning(self) -> str | None:
        poor = int(self.normal_is_poor().sum())
        return f"The normal interval is poor for {poor} half-sets: too few reports are about them." if poor else None

    def sentence(self, estimate: Any, level: float) -> str:
        asked: Any = self.question  # `HalfSets`
        if asked.sets:
            return (
                f"The estimated share of each stated set is {estimate.quality}, with a standard error of about"
                f" {np.median(estimate.std_errors):.2g}. Use likelihood_ratio or sv.compare for tests."
            )
        return (
            f"The estimated shares of {len(self.counts)} half-sets are {estimate.quality}, with a standard error of"
            f" about {np.median(estimate.std_errors):.2g}. They are made for tests: use sv.goodness_of_fit or"
            " sv.compare."
        )


def slope_of(mechanism: Mechanism) -> float:
    """2 p - 1 of the randomized bit."""
    return 2 * need(mechanism.channel, Blocked).block.inside / UNIT - 1


def reading_of(mechanism: Mechanism) -> MatrixReading:
    """The score of each report for each set: a half, plus or minus what one report about this set stands for."""
    sets = mechanism.cells // 2
    step = sets / (2 * slope_of(mechanism))
    return MatrixReading(np.asarray(0.5 + step * np.kron(np.eye(sets), [1.0, -1.0]), np.float64))


def _variances(mechanism: Mechanism, shares: Floats, target: Target) -> Floats:
    """The variance of one score: its square is the same for both reports about the set."""
    sets, slope = mechanism.cells // 2, slope_of(mechanism)
    squares = sets / (4 * slope**2) + shares - 0.25
    return np.asarray(squares - (shares**2 if target == Target.POPULATION else shares))


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> HalfSetsEvidence:
    """The evidence of a tally."""
    refuse(mechanism, candidates)
    return HalfSetsEvidence(mechanism, tally.n, tally.cells)


def answer(source: Evidence, question: Question) -> Evidence | None:
    """Half-sets are read from their own reports only."""
    return None


def predicted_variance(mechanism: Mechanism, shares: Any, n: int, *, target: Target = Target.POPULATION) -> Floats:
    """The exact variance of the share of each half-set, for these true shares of all answers."""
    check_integer("n", "variance", n, 1, 1 << 53)
    return _variances(mechanism, shares_of_sets(mechanism, shares, "variance"), target) / n


def shares_of_sets(mechanism: Mechanism, shares: Any, owner: str) -> Floats:
    """The share of each half-set, from the shares of all answers."""
    question: Any = mechanism.question  # `HalfSets`
    size = question.domain.size
    try:
        truth = np.asarray(shares, float)
    except (TypeError, ValueError):
        truth = np.empty(0)
    if truth.shape != (size,) or not (truth.min() >= 0 and abs(truth.sum() - 1) <= 1e-9):
        raise ParameterError(f"The 'shares' parameter of {owner} must be {size} shares from 0 to 1 that sum to 1.")
    members = np.array([[*map(int, row)] for row in question.members()])
    return np.asarray(members @ truth)
