"""The mean of a number from a tally, with intervals, and its exact variance before anyone has answered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.estimate.estimate import Estimate, check_tally, check_target
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Evidence
from sottovoce.estimate.mean.betting import Sides, sides
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
from sottovoce.estimate.mean.readings import Readings, Sums, read
from sottovoce.estimate.prior import Prior
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class MeanEvidence(Evidence):
    """Reports read as numbers, whose mean is that of the answers.

    "normal" is the default: the others hold at every n, but "betting", the narrowest of them, is about 1.4 times as
    wide. Where reports are too few for it a warning says so.
    """

    methods: ClassVar[tuple[str, ...]] = ("normal", "betting", "hoeffding", "bernstein", "anytime")
    default: ClassVar[str] = "normal"
    readings: Readings
    ends: tuple[float, float]  # of the domain
    origin: float
    grid: Profile

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.readings.sums.n

    @property
    def sums(self) -> Sums:
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

    def labels(self, domain: Domain) -> Sequence[object]:
        return ("mean",)

    # --- variances ---------------------------------------------------------------------------------
    @property
    def spread(self) -> float:
        """The sample variance of the readings; of a single one, the largest there can be."""
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
        """Between which the standard deviation of a reading lies, whatever the answers are."""
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
                    " with every report; for the sample ask for 'betting'."
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
        """Whether the variance itself is hardly known.

        Its relative error is that of n / kurtosis reports. Where less varies than the noise of any answer would, the
        rare reports that make most of the variance have not been seen yet.
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

    def project(self, name: str) -> Floats:
        if name != "range":
            raise ParameterError("There is no such projection of a mean. Known: range.")
        return np.clip(self.values(), *self.ends)


def hoeffding(reach: float, n: int, level: float) -> float:
    """Half the width from the range of readings alone; two sides, so log(2 / alpha) (METHODS, erratum 7)."""
    return reach * math.sqrt(math.log(2 / (1 - level)) / (2 * n))


def bernstein(reach: float, spread: Any, n: int, level: float) -> Any:
    """Half the width from range and sample variance, by Theorem 11 of Maurer and Pontil for each side.

    It is for independent readings, whether or not they have the same law; so it holds for both targets.
    Reference: Maurer, Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009.
    """
    if n < 2:
        return reach
    confidence = math.log(2 / ((1 - level) / 2))
    return np.sqrt(2 * spread * confidence / n) + 7 * reach * confidence / (3 * (n - 1))


def estimate(mechanism: Mechanism, tally: Tally) -> Estimate:
    """The unbiased estimate of the mean answer, in the domain's own numbers."""
    check_tally(mechanism, tally)
    found = evidence(mechanism, tally.cells)
    return Estimate(mechanism, tally.n, found.values(), np.sqrt(found.variances("population")), found, tally.cells)


def evidence(mechanism: Mechanism, cells: Ints) -> MeanEvidence:
    """What the cells say."""
    check_numbers(mechanism, "estimate")
    low, high, origin = numbers_of(mechanism)
    readings = read(mechanism.channel, cells, origin)
    grid, known = rounding_of(mechanism.channel), profile(mechanism.channel)
    if grid is not None and holds_every_code(mechanism.domain, grid):
        known = replace(known, between=False)
    return MeanEvidence(readings, (float(low + origin), float(high + origin)), float(origin), known)


def predicted_variance(mechanism: Mechanism, truth: Any, n: int = 1, *, target: str = "population") -> Any:
    """The exact variance of the mean of n reports, were this the truth.

    A number: all participants hold it. An array: so for each of its numbers. A prior: answers are drawn from it, and
    for the population that adds to the noise.
    """
    check_target(target)
    check_integer("n", "variance", n, 1, 1 << 53)
    if isinstance(truth, Prior):
        return (average_variance(mechanism, truth) + (truth.variance if target == "population" else 0)) / n
    if isinstance(truth, (list, tuple, np.ndarray)) and np.ndim(truth):
        return variances_at(mechanism, truth) / n
    return float(variance_at(mechanism, truth) / n)
