"""The mean of a number from a tally, with intervals, and its exact predicted variance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.question import Question
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.candidates import refuse
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Contributions, Counted, Evidence
from sottovoce.estimate.mean.betting import Sides, sides
from sottovoce.estimate.mean.bounds import bernstein, hoeffding
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
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.request import check_target
from sottovoce.estimate.shares.base import SharesEvidence
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
READS = (CountOutputs,)


@dataclass(frozen=True, slots=True, eq=False)
class MeanEvidence(Evidence):
    """Reports read as numbers, whose mean is that of the answers.

    "normal" is the default where the reports are enough to know their own variance: the others hold at every n, but
    "betting", the narrowest of them, is about 1.4 times as wide. It is the default where they are too few.
    """

    methods: ClassVar[tuple[str, ...]] = ("normal", "betting", "hoeffding", "bernstein", "anytime")
    noun: ClassVar[str] = "mean"
    axes: ClassVar[Axes] = Axes.of("value", ("mean",))  # type: ignore[misc]
    readings: Readings
    ends: tuple[float, float]  # of the domain
    origin: float
    grid: Profile
    counted: Counted | None = None

    @property
    def question(self) -> Question | None:  # type: ignore[override]
        return None if self.counted is None else self.counted.mechanism.question

    @property
    def default(self) -> str:  # type: ignore[override]
        return "betting" if self.normal_is_poor()[0] else "normal"

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.readings.sums.n

    @property
    def sums(self) -> ReadSums:
        """Number, mean and sample variance of the readings."""
        return self.readings.sums

    @property
    def limits(self) -> tuple[float, float]:
        return self.ends

    @property
    def centre(self) -> float:
        """The middle of the domain."""
        return sum(self.ends) / 2

    @property
    def code(self) -> float:
        """The code of the middle."""
        return self.centre - self.origin

    @property
    def reach(self) -> float:
        """The length of the range of possible readings."""
        return self.readings.high - self.readings.low

    def values(self) -> Floats:
        return np.array([float(self.readings.sums.mean)])

    def contributions(self) -> Contributions:
        return Contributions(*(np.array([end]) for end in (self.readings.low, self.readings.high, float(self.n))))

    def pooled(self, others: Sequence[Evidence], weights: Sequence[float] | None = None) -> CombinedMeanEvidence:
        means = tuple(one for one in (self, *others) if isinstance(one, MeanEvidence))
        if len(means) <= len(others):
            raise ParameterError(UNLIKE)
        return weighted_mean(means, weights)

    # --- variances ---------------------------------------------------------------------------------
    @property
    def spread(self) -> float:
        """The sample variance of the readings; for a single reading, the largest possible variance."""
        variance = self.readings.sums.variance
        return self.reach**2 / 4 if variance is None else float(variance)

    @property
    def noise(self) -> float:
        """The variance of a report given its answer, averaged over the answers: an upper bound from the tally."""
        centre, sums = self.centre, self.readings.sums
        if sums.variance is None:
            return float(self.grid.squares(self.code).max())
        square = float(sums.variance * (sums.n - 1) / sums.n) + (float(sums.mean) - centre) ** 2
        return min(self.grid.noise(self.code, square), self.spread)

    def variances(self, target: str) -> Floats:
        each = self.spread if target == "population" else self.noise
        return np.array([each / self.n])

    @property
    def deviations(self) -> tuple[float, float]:
        """Bounds of the standard deviation of a reading, for any answers."""
        squares = self.grid.squares(self.code)
        return math.sqrt(self.grid.variances.min()), math.sqrt(squares.max())

    # --- intervals ---------------------------------------------------------------------------------
    def interval(self, level: float, method: str, target: str) -> Bounds:
        if method == "normal":
            return self.normal(level, target)
        if method in ("betting", "anytime"):
            if method == "anytime" and target == "sample":
                raise ParameterError(
                    "The anytime interval is about the population: the mean of those who have answered so far moves"
                    " with every report; for the sample use 'betting'."
                )
            low, high = self.sides(level, method).interval(level)
            return Bounds(np.array([low]), np.array([high]))
        if method == "hoeffding":
            half = hoeffding(self.reach, self.n, level)
        else:
            half = bernstein(self.reach, self.spread, self.n, level)
        return Bounds(self.values() - half, self.values() + half)

    def sides(self, level: float, method: str) -> Sides:
        """The bets behind "betting" and "anytime"."""
        return sides(self.readings, self.ends, self.deviations, level, for_ever=method == "anytime")

    def normal_is_poor(self) -> NDArray[np.bool_]:
        """Whether the variance itself is poorly known.

        Its relative error is that of n / kurtosis reports. If the sample variance is below the noise of every answer,
        the rare reports that make most of the variance have not been seen yet.
        """
        away = self.readings.numbers - float(self.readings.sums.mean)
        second, fourth = (float(np.dot(self.readings.counts, away**p)) / self.n for p in (2, 4))
        few = fourth == 0 or self.n * second**2 / fourth < POOR_BELOW
        return np.array([few or self.spread < self.grid.variances.min() / 2])

    def warning(self) -> str | None:
        if not self.normal_is_poor()[0]:
            return None
        return (
            f"The normal interval is poor for these {self.n} reports: they are too few to know their own variance."
            " The betting interval holds."
        )


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> MeanEvidence:
    """The evidence of a tally about the mean answer, in the domain's own numbers."""
    refuse(mechanism, candidates)
    return from_cells(mechanism, tally.n, tally.cells)


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> MeanEvidence:
    """The evidence of cells."""
    check_numbers(mechanism, "estimate")
    low, high, origin = numbers_of(mechanism)
    readings = read(mechanism.channel, cells, origin)
    grid, known = rounding_of(mechanism.channel), profile(mechanism.channel)
    if grid is not None and holds_every_code(mechanism.domain, grid):
        known = replace(known, between=False)
    ends = float(low + origin), float(high + origin)
    return MeanEvidence(readings, ends, float(origin), known, Counted(mechanism, n, cells))


def answer(found: Evidence, question: Question) -> Evidence | None:
    """The mean of numbers from evidence about their shares."""
    return mean_of_shares(found, question.domain) if isinstance(found, SharesEvidence) else None


def predicted_variance(mechanism: Mechanism, truth: Any, n: int = 1, *, target: str = "population") -> Any:
    """The exact variance of the mean of n reports, for a given truth.

    A number: all participants hold it. An array: the same for each of its numbers. A prior: answers are drawn from it,
    and for the population that adds to the noise.
    """
    check_target(target)
    check_integer("n", "variance", n, 1, 1 << 53)
    if isinstance(truth, Prior):
        return (average_variance(mechanism, truth) + (truth.variance if target == "population" else 0)) / n
    if isinstance(truth, (list, tuple, np.ndarray)) and np.ndim(truth):
        return variances_at(mechanism, truth) / n
    return float(variance_at(mechanism, truth) / n)
