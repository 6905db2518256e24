"""Evidence about one mean: limits, intervals from the range of readings that hold at every n, and words."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import Bounds, Contributions, Evidence, Flags, Floats
from sottovoce.estimate.mean.moments import Profile
from sottovoce.estimate.mean.readings import ReadSums
from sottovoce.estimate.request import IntervalRequest, Method, Target

UNSEEN = 3.0  # reports: what a share of 3 / n has is absent from n reports with a probability of 5 %


def hoeffding(reach: float, n: int, level: float) -> float:
    """Half the width from the range of readings alone; two sides, so log(2 / alpha) (METHODS, erratum 7)."""
    return reach * math.sqrt(math.log(2 / (1 - level)) / (2 * n))


def bernstein(reach: float, spread: Any, n: int, level: float) -> Any:
    """Half the width from range and sample variance, by Theorem 11 of Maurer and Pontil for each side.

    The interval is for independent readings, whether or not they have the same law; so it holds for both targets.
    Reference: Maurer, Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT 2009.
    """
    if n < 2:
        return reach
    confidence = math.log(2 / ((1 - level) / 2))
    return np.sqrt(2 * spread * confidence / n) + 7 * reach * confidence / (3 * (n - 1))


def hides_rare_answers(spread: Any, n: Any, reach: Any) -> Any:
    """Whether answers that are likely to be absent from n reports could move the mean out of the normal interval.

    Answers of a share up to 3 / n are absent with a probability of 5 % or more. At the far end of the range, `reach`
    away, they move the mean by up to 3 reach / n.
    """
    return 1.96 * np.sqrt(spread * n) < UNSEEN * reach


class SingleMean(Evidence):
    """The mean of a number.

    Attributes:
        ends: of the domain.
        reach: the length of the range of the readings of one report.
        spread: the sample variance of the readings; for a single reading, the largest possible variance.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL, Method.HOEFFDING, Method.BERNSTEIN)
    noun: ClassVar[str] = "mean"
    ends: tuple[float, float]
    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def reach(self) -> float: ...
        @property
        def spread(self) -> float: ...

    @property
    def axes(self) -> Axes:
        return Axes.of("value", ("mean",))

    @property
    def default(self) -> Method:
        """The normal interval; where reports are too few to know their own variance, the betting one, if there is."""
        return Method.BETTING if Method.BETTING in self.methods and self.poor else Method.NORMAL

    @property
    @abstractmethod
    def poor(self) -> bool:
        """Whether the variance itself is poorly known."""

    def normal_is_poor(self) -> Flags:
        return np.array([self.poor])

    def other_interval(self, request: IntervalRequest) -> Bounds:
        if request.method == Method.HOEFFDING:
            half = hoeffding(self.reach, self.n, request.level)
        else:
            half = bernstein(self.reach, self.spread, self.n, request.level)
        return Bounds(self.values() - half, self.values() + half)

    def warning(self) -> str | None:
        if not self.poor:
            return None
        return f"The normal interval is poor for these {self.n} reports: {self.why_poor} interval holds."

    @property
    def why_poor(self) -> str:
        """Why the normal interval is poor, and the name of one that is not."""
        raise NotImplementedError


class ReadMean(SingleMean):
    """The mean of reports that are read as numbers.

    Attributes:
        sums: number, mean and sample variance of the readings.
        reached: the least and the largest possible reading.
        origin: what is added to a code.
        grid: the variance of a reading by the answer.
    """

    origin: float
    grid: Profile
    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def sums(self) -> ReadSums: ...
        @property
        def reached(self) -> tuple[float, float]: ...

    @property
    def n(self) -> int:
        return self.sums.n

    @property
    def centre(self) -> float:
        """The middle of the domain."""
        return sum(self.ends) / 2

    @property
    def reach(self) -> float:
        return self.reached[1] - self.reached[0]

    def values(self) -> Floats:
        return np.array([float(self.sums.mean)])

    def contributions(self) -> Contributions:
        return Contributions(*(np.array([end]) for end in (*self.reached, float(self.n))))

    @property
    def spread(self) -> float:
        return self.reach**2 / 4 if self.sums.variance is None else float(self.sums.variance)

    @property
    def noise(self) -> float:
        """The variance of a report given its answer, averaged over the answers: an upper bound from the tally."""
        code, (n, mean, variance) = self.centre - self.origin, self.sums
        if variance is None:
            return float(self.grid.squares(code).max())
        square = float(variance * (n - 1) / n) + (float(mean) - self.centre) ** 2
        return min(self.grid.noise(code, square), self.spread)

    def variances(self, target: Target) -> Floats:
        return np.array([(self.spread if target == Target.POPULATION else self.noise) / self.n])

    @property
    @abstractmethod
    def few(self) -> bool:
        """Whether the reports are too few to know their own variance, by its kurtosis."""

    @property
    def poor(self) -> bool:
        """True for too few reports, or a sample variance below that of every answer: rare reports were not seen.

        Rare answers that nobody gave so far count too, if they could move the mean out of the interval.
        """
        if self.few or self.spread < self.grid.variances.min() / 2:
            return True
        mean, (low, high) = float(self.sums.mean), self.ends
        return bool(hides_rare_answers(self.spread, self.n, max(high - mean, mean - low)))

    @property
    def why_poor(self) -> str:
        best = Method.BETTING if Method.BETTING in self.methods else Method.HOEFFDING
        return f"they are too few to know their own variance. The {best}"
