"""The mean of a number from a tally, with intervals, and its exact predicted variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.candidates import of_all_cells
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Counted, Evidence, Ints
from sottovoce.estimate.frequency.base import SharesEvidence
from sottovoce.estimate.mean.betting import Sides, sides
from sottovoce.estimate.mean.combine import UNLIKE, CombinedMeanEvidence, weighted_mean
from sottovoce.estimate.mean.moments import (
    Profile,
    average_variance,
    check_numbers,
    holds_every_code,
    numbers_of,
    profile,
    variance_at,
    variances_at,
)
from sottovoce.estimate.mean.of_shares import mean_of_shares
from sottovoce.estimate.mean.readings import Readings, ReadSums, read
from sottovoce.estimate.mean.single import ReadMean
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.request import IntervalRequest, Method, Target

READS = (CountOutputs,)


@dataclass(frozen=True, slots=True, eq=False)
class MeanEvidence(ReadMean):
    """Reports read as numbers, whose mean is that of the answers.

    "normal" is the default where the reports are enough to know their own variance: the others hold at every n, but
    "betting", the narrowest of them, is about 1.4 times as wide. It is the default where they are too few.
    """

    methods: ClassVar[tuple[Method, ...]] = (
        Method.NORMAL,
        Method.BETTING,
        Method.HOEFFDING,
        Method.BERNSTEIN,
        Method.ANYTIME,
    )
    readings: Readings
    ends: tuple[float, float]
    origin: float
    grid: Profile
    counted: Counted | None = None

    @property
    def question(self) -> Question | None:
        return None if self.counted is None else self.counted.mechanism.question

    @property
    def sums(self) -> ReadSums:
        return self.readings.sums

    @property
    def reached(self) -> tuple[float, float]:
        return self.readings.low, self.readings.high

    def pooled(self, others: Sequence[Evidence], weights: Sequence[float] | None = None) -> CombinedMeanEvidence:
        means = tuple(one for one in (self, *others) if isinstance(one, MeanEvidence))
        if len(means) <= len(others):
            raise ParameterError(UNLIKE)
        return weighted_mean(means, weights)

    def interval(self, request: IntervalRequest) -> Bounds:
        if request.method not in (Method.BETTING, Method.ANYTIME):
            return ReadMean.interval(self, request)
        if request.method == Method.ANYTIME and request.target == Target.SAMPLE:
            raise ParameterError(
                "The anytime interval is about the population: the mean of those who have answered so far moves with"
                " every report; for the sample use 'betting'."
            )
        low, high = self.sides(request.level, request.method).interval(request.level)
        return Bounds(np.array([low]), np.array([high]))

    def sides(self, level: float, method: Method) -> Sides:
        """The bets behind "betting" and "anytime"."""
        return sides(self.readings, self.ends, self.deviations, level, for_ever=method == Method.ANYTIME)

    def watched(self) -> list[Sides]:
        return [self.sides(0.95, Method.ANYTIME)]  # bets for all times do not depend on a level

    @property
    def deviations(self) -> tuple[float, float]:
        """Bounds of the standard deviation of a reading, for any answers."""
        squares = self.grid.squares(self.centre - self.origin)
        return math.sqrt(self.grid.variances.min()), math.sqrt(squares.max())

    @property
    def few(self) -> bool:
        """The relative error of the sample variance is that of n / kurtosis reports."""
        away = self.readings.numbers - float(self.sums.mean)
        second, fourth = (float(np.dot(self.readings.counts, away**p)) / self.n for p in (2, 4))
        return fourth == 0 or self.n * second**2 / fourth < POOR_BELOW


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> MeanEvidence:
    """The evidence of the cells of a tally about the mean answer."""
    check_numbers(mechanism, "estimate")
    numbers = numbers_of(mechanism)
    readings = read(mechanism.channel, cells, numbers.origin)
    grid, known = rounding_of(mechanism.channel), profile(mechanism.channel)
    if grid is not None and holds_every_code(mechanism.domain, grid):
        known = replace(known, between=False)
    return MeanEvidence(readings, numbers.ends, float(numbers.origin), known, Counted(mechanism, n, cells))


evidence = of_all_cells(from_cells)


def answer(evidence: Evidence, question: Question) -> Evidence | None:
    """The mean of numbers from evidence about their shares."""
    return mean_of_shares(evidence, question.domain) if isinstance(evidence, SharesEvidence) else None


def predicted_variance(mechanism: Mechanism, truth: Any, n: int = 1, *, target: Target = Target.POPULATION) -> Any:
    """The exact variance of the mean of n reports, for a given truth.

    The truth is a number that all participants hold, an array of such numbers, each by itself, or a prior from which
    answers are drawn; for the population the variance of the prior adds to the noise.
    """
    check_people("n", "variance", n)
    if isinstance(truth, Prior):
        return (average_variance(mechanism, truth) + (truth.variance if target == Target.POPULATION else 0)) / n
    if isinstance(truth, (list, tuple, np.ndarray)) and np.ndim(truth):
        return variances_at(mechanism, truth) / n
    return float(variance_at(mechanism, truth) / n)
