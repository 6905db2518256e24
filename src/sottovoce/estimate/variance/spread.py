"""The variance of a number, from reports of the number and reports of its squared distance from a public centre.

With d = mean - centre the variance is E (x - centre)**2 - d**2. The mean of the squares is estimated without bias. The
estimate of d**2 determines the bias of the whole (METHODS, erratum 13):

- the square of the *estimated* distance is too large by the variance V of the mean estimate, so V is added again;
- if the centre *is* the estimated mean of earlier participants, the squares about it are too large by V on average,
  so V is subtracted.

V has an unbiased estimate: the sample variance of the mean's reports over their number. So both forms are unbiased for
the variance of the population, and, over coins and arms, for the sample variance with the divisor n - 1; a factor
n / (n - 1) would add a bias. Both can be negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.errors import NoIntervalError, ParameterError
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import MOST_EXCESS, Bounds, Evidence, Flags, Floats, deviate, slack_deviate
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.mean.single import hoeffding
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.variance.errors import MeanPart, ReadingNoise, curved, reach, straight


@dataclass(frozen=True, slots=True, eq=False)
class VarianceEvidence(Evidence):
    """Evidence about a variance.

    "normal" is the profile likelihood interval of two normal means; where the centre was estimated, the estimate plus
    and minus its standard error. "hoeffding" holds at every n: both means at once, each with half of the error
    probability, and then the least and the largest variance they allow.
    It is the default where the reports are too few to know their own variance, as after a round that was closed early.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL, Method.HOEFFDING)
    noun: ClassVar[str] = "variance"
    axes: ClassVar[Axes] = Axes.of("value", ("variance",))
    number: MeanPart
    square: MeanPart
    centre: Fraction
    ends: tuple[float, float]  # of the domain
    learned: bool = False  # the centre is the estimated mean
    joint: Fraction | None = None  # of the two readings of one participant; None: different participants
    noise: Callable[[], ReadingNoise] | None = None  # used for intervals about the sample only
    question: Question | None = None
    also: tuple[Evidence, ...] = ()
    slack: float = 0.0

    @property
    def default(self) -> Method:
        return Method.HOEFFDING if self._few else Method.NORMAL

    @property
    def _few(self) -> bool:
        return self.number.poor or self.square.poor

    @property
    def n(self) -> int:
        return self.number.n if self.joint is not None else self.number.n + self.square.n

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, (self.ends[1] - self.ends[0]) ** 2 / 4

    @property
    def exact(self) -> Fraction:
        """The unbiased estimate. If the centre is the rounded estimated mean, the effect of rounding is subtracted."""
        away = (self.number.mean - self.centre) ** 2
        return self.square.mean - away + (-self.number.error if self.learned else self.number.error)

    def values(self) -> Floats:
        return np.array([float(self.exact)])

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        """Bounds of the variance under fake reports: both means moved to their worst case.

        The error of the mean is at most that of its range. A learned centre stays: only squares about it were asked.
        """
        number, square = self.number.without_fakes(fakes), self.square.without_fakes(fakes)
        if number is None or square is None:
            return None
        rest = self.number.n * (1 - float(fakes.among(self.number.n))) - 1
        if rest <= 0 or not all(map(math.isfinite, (*number, *square))):
            return Bounds(np.array([-math.inf]), np.array([math.inf]))
        least, largest = _squares(*(end - float(self.centre) for end in number))
        error = self.number.reach**2 / (4 * rest)
        low = square[0] - largest - (error if self.learned else 0.0)
        high = square[1] - least + (0.0 if self.learned else error)
        return Bounds(np.array([low]), np.array([high]))

    # --- variances ---------------------------------------------------------------------------------
    @property
    def distance(self) -> float:
        """The distance of the mean from the centre; its square is estimated without bias, and 0 if that is negative."""
        if self.learned:
            return 0.0
        away = self.number.mean - self.centre
        return math.copysign(math.sqrt(max(0.0, float(away**2 - self.number.error))), away)

    def _readings(self, target: Target) -> tuple[ReadingNoise, float]:
        """The variances of single readings, and what they make of the variance of the estimate."""
        known = ReadingNoise(float(self.number.variance), float(self.square.variance), float(self.joint or 0))
        crowd = self.distance, (self.number.n, self.square.n)
        variance = straight(*known, *crowd)
        # For a sample, only the variance of (x - mean)**2 over n is saved. Two separate parts of the participants
        # do not determine it, so for them the interval for the population serves both.
        if target == Target.SAMPLE and self.noise is not None:
            noise = self.noise()
            return min((variance, known), (straight(*noise, *crowd), noise))[::-1]
        return known, variance

    def variances(self, target: Target) -> Floats:
        # For counts of supports the law of pairs replaces sample moments, and few reports may make it negative.
        return np.array([max(self._readings(target)[1], 0.0) + curved(float(self.number.variance), self.number.n)])

    # --- intervals ---------------------------------------------------------------------------------
    def normal(self, request: IntervalRequest) -> Bounds:
        if self.learned:
            return Evidence.normal(self, request)
        (number, square, joint), n = self._readings(request.target)[0], self.number.n
        away, size = float(self.number.mean - self.centre), deviate(request.level)
        errors = np.array([[number / n], [square / self.square.n], [joint / n], [away]])
        far = reach(errors[0], errors[1], errors[2], errors[3], size)
        low, high = (slack_deviate(request.level, self.slack, one / size) for one in far)
        return Bounds(self.values() - low, self.values() + high)

    def other_interval(self, request: IntervalRequest) -> Bounds:
        factor = self.n / (self.n - 1) if request.target == Target.SAMPLE else 1.0
        most = self.limits[1] * factor
        if self.learned and request.target == Target.SAMPLE:
            if self._few:
                return Bounds(np.array([0.0]), np.array([most]))  # all that is certain about these participants
            raise NoIntervalError(
                "The centre was estimated from some of the participants, so the hoeffding interval is about the"
                " population; for the sample use 'normal'."
            )
        half = 1 - (1 - request.level) / 2  # each mean is missed with half of the error probability
        low, high = _hoeffding_limits(self.square, half, 0.0)
        least, largest = _squares(*_hoeffding_limits(self.number, half, float(self.centre)))
        bounds = low - largest - self.slack, high - least + self.slack
        return Bounds(*(np.array([min(max(end * factor, 0.0), most)]) for end in bounds))

    def normal_is_poor(self) -> Flags:
        """True for too few reports."""
        return np.array([self._few])

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        if request.method != Method.NORMAL and self._few:
            return (
                f"{self.number.n} reports are about the mean and {self.square.n} about the squares: too few to know"
                " their own variance. The interval allows for the worst and is wide."
            )
        return self.warning() or self._impossible(request.level) if request.method == Method.NORMAL else None

    def warning(self) -> str | None:
        if not self.normal_is_poor()[0]:
            return None
        return (
            f"The normal interval is poor for these {self.n} reports: too few of them are about the mean, or about the"
            " squares. The hoeffding interval holds."
        )

    def _impossible(self, level: float) -> str | None:
        """A doubt about an interval that surely misses.

        An interval that reaches below zero is as good as any other. A doubt about estimates near zero would leave the
        larger ones without a doubt, and of those too many miss: they are large because of their errors.
        """
        if self.normal(IntervalRequest(level)).high[0] >= 0:
            return None
        return (
            f"All of this interval lies below zero, where no variance is: the estimate is {float(self.exact):.3g}, with"
            f" a standard error of {math.sqrt(self.variances(Target.POPULATION)[0]):.3g}. The hoeffding interval holds."
        )


def _squares(low: float, high: float) -> tuple[float, float]:
    """The least and the largest square of a number between two."""
    ends = low**2, high**2
    return 0.0 if low <= 0 <= high else min(ends), max(ends)


def _hoeffding_limits(part: MeanPart, level: float, centre: float) -> tuple[float, float]:
    """Hoeffding's limits for a mean, within the range it can have, from the centre on."""
    half, mean = hoeffding(part.reach, part.n, level), float(part.mean)
    low, high = (min(max(end, part.ends[0]), part.ends[1]) for end in (mean - half, mean + half))
    return low - centre, high - centre


def from_readings(
    n: int,
    ends: tuple[float, float],
    values: Floats,
    covariance: Floats,
    noise: Callable[[], Floats],
    *,
    reach: Sequence[float],
    lowest: Sequence[float | None] = (None, None),
    poor: bool,
    question: Question,
    mean: Evidence,
    slack: float = 0.0,
) -> VarianceEvidence:
    """The variance from n reports, each read as a distance from the middle of the domain and as its square.

    `values` are the means of both readings, `covariance` is that of the readings of one report, and `noise` its part
    that is not spread of answers.
    """
    if n < 2:
        raise ParameterError("A variance needs at least two reports.")
    (low, high), centre = ends, sum(ends) / 2
    sample = covariance * n / (n - 1)
    number, square = (
        MeanPart(n, Fraction(start + values[i]), Fraction(sample[i, i]), reach[i], limits, poor, lowest[i])
        for i, (start, limits) in enumerate(((centre, ends), (0.0, (0.0, (high - low) ** 2 / 4))))
    )

    def reading_noise() -> ReadingNoise:
        matrix = noise()
        return ReadingNoise(matrix[0, 0], matrix[1, 1], matrix[0, 1])

    return VarianceEvidence(
        *(number, square, Fraction(centre), ends),
        joint=Fraction(sample[0, 1]),
        noise=reading_noise,
        question=question,
        also=(mean,),
        slack=slack,
    )


@dataclass(frozen=True, slots=True, eq=False)
class DeviationEvidence(Evidence):
    """The standard deviation: the square root of a variance, and 0 of a negative one. It is not unbiased."""

    methods: ClassVar[tuple[Method, ...]] = VarianceEvidence.methods
    noun: ClassVar[str] = "standard deviation"
    quality: ClassVar[str] = "the square root of the unbiased variance"
    axes: ClassVar[Axes] = Axes.of("value", ("standard deviation",))
    spread: VarianceEvidence
    default = delegated("spread.default")
    n = delegated("spread.n")
    normal_is_poor = delegated("spread.normal_is_poor")
    doubt = delegated("spread.doubt")
    warning = delegated("spread.warning")

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, math.sqrt(self.spread.limits[1])

    def values(self) -> Floats:
        return np.sqrt(np.maximum(self.spread.values(), 0))

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        bounds = self.spread.without_fakes(fakes)
        return None if bounds is None else Bounds(*(np.sqrt(np.maximum(end, 0)) for end in bounds))

    def variances(self, target: Target) -> Floats:
        """Variances by the delta method; if the variance is less than its own error, at that error."""
        errors = self.spread.variances(target)
        at = np.maximum(self.spread.values(), np.sqrt(errors))
        return np.asarray(np.divide(errors, 4 * at, out=np.zeros_like(errors), where=at > 0))

    def interval(self, request: IntervalRequest) -> Bounds:
        return Bounds(*(np.sqrt(np.maximum(end, 0)) for end in self.spread.interval(request)))
