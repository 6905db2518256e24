"""The variance of a number, from reports of the number and reports of its squared distance from a public centre.

With d = mean - centre the variance is E (x - centre)**2 - d**2. The mean of the squares is estimated without bias. What
is taken off for d**2 decides about the bias of the whole (METHODS, erratum 13):

- the square of the *estimated* distance is too large by the variance V of the mean estimate, so V is added again;
- where the centre *is* the estimated mean of earlier participants, the squares about it are too large by V on average,
  so V is subtracted.

V has an unbiased estimate: the sample variance of the mean's reports over their number. So both forms are unbiased for
the variance of the population, and, over coins and arms, for the sample variance with the divisor n - 1: a factor
n / (n - 1) would spoil that. Both can be negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import question
from sottovoce.core.channel import Each
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.powers import Powers
from sottovoce.core.domain.views import Square
from sottovoce.core.errors import NoIntervalError, ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.statistic.moments import POWERS, Moments
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.estimate import Estimate, check_tally
from sottovoce.estimate.evidence import Bounds, Evidence
from sottovoce.estimate.mean.from_sums import SummedMeanEvidence, from_sums
from sottovoce.estimate.mean.mean import MeanEvidence, evidence, hoeffding
from sottovoce.estimate.mean.readings import scale_of
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CURVED = 0.25  # share of the variance of an estimate that comes from the square of the mean's error and is not normal


class Part(NamedTuple):
    """Reports read as numbers whose mean is wanted: their number, mean and sample variance, exactly."""

    n: int
    mean: Fraction
    variance: Fraction
    reach: float  # the length of the range of possible readings
    ends: tuple[float, float]  # of what the mean can be
    poor: bool  # whether the sample variance is itself hardly known

    @classmethod
    def of(cls, mean: MeanEvidence | SummedMeanEvidence) -> Part:
        """What evidence of a mean says."""
        sums = mean.sums
        if sums.variance is None:
            raise ParameterError("A variance takes at least two reports of the number and two of its square.")
        return cls(sums.n, sums.mean, sums.variance, mean.reach, mean.ends, bool(mean.normal_is_poor()[0]))

    @property
    def error(self) -> Fraction:
        """The estimated variance of the mean, unbiased."""
        return self.variance / self.n


class Noise(NamedTuple):
    """The part of the variances of readings, and of their covariance, that is noise rather than spread of answers."""

    number: float
    square: float
    covariance: float = 0.0


def straight(number: float, square: float, covariance: float, distance: float, participants: tuple[int, int]) -> float:
    """The variance of the readings of the square minus 2 d times those of the number, from those of single readings.

    `covariance` is that of both where one participant gives both; `distance` d is that of the mean from the centre, and
    0 where the centre was learned.
    """
    n, m = participants
    return square / m + 4 * distance**2 * number / n - 4 * distance * covariance / n


def curved(number: float, n: int) -> float:
    """The variance of the square of the mean's error, with its expectation taken off; `number` that of a reading."""
    return 2 * number**2 / (n * (n - 1)) if n > 1 else math.inf


def error_variance(
    number: float, square: float, covariance: float, distance: float, participants: tuple[int, int]
) -> float:
    """The exact variance of the estimate, from the variances of single readings: both parts are uncorrelated."""
    return straight(number, square, covariance, distance, participants) + curved(number, participants[0])


def variance_error(mean_error: float, square_error: float, farthest: float, n: int) -> float:
    """Proposition 2 of the survey, for any range: how far the plug-in variance n / (n - 1) (m2 - m**2) can be off.

    It holds where the mean is known to `mean_error` *and* the mean square to `square_error`: if each fails with
    probability beta, both hold at once with 1 - 2 beta only (METHODS, erratum 13). For parts of the participants the
    errors are those of a subsample's mean, so that they count the drawing of the part, not the privacy noise alone.
    `farthest` is the largest distance of an answer from the centre of the squares, 1 on [-1, 1].
    """
    check_integer("n", "variance_error", n, 2, 1 << 53)
    return n / (n - 1) * (square_error + mean_error**2 + 2 * farthest * mean_error)


@dataclass(frozen=True, slots=True, eq=False)
class Spread(Evidence):
    """What is known of a variance.

    "normal" takes the exact variance of the estimate with everything estimated; "hoeffding" holds at every n: both
    means at once, each with half of the error probability, and then the least and the largest variance they allow.
    """

    methods: ClassVar[tuple[str, ...]] = ("normal", "hoeffding")
    default: ClassVar[str] = "normal"
    number: Part
    square: Part
    centre: Fraction
    ends: tuple[float, float]  # of the domain
    learned: bool = False  # the centre is the estimated mean
    covariance: Fraction | None = None  # of the two readings of one participant; None: different participants
    noise: Callable[[], Noise] | None = None  # asked for intervals about the sample only

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.number.n if self.covariance is not None else self.number.n + self.square.n

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, (self.ends[1] - self.ends[0]) ** 2 / 4

    @property
    def exact(self) -> Fraction:
        """The unbiased estimate. Where the centre is the estimated mean, rounded, what rounding moved is taken off."""
        away = (self.number.mean - self.centre) ** 2
        return self.square.mean - away + (-self.number.error if self.learned else self.number.error)

    def values(self) -> Floats:
        return np.array([float(self.exact)])

    def labels(self, domain: Domain) -> Sequence[object]:
        return ("variance",)

    # --- variances ---------------------------------------------------------------------------------
    @property
    def distance(self) -> float:
        """That of the mean from the centre; its square is estimated without bias, and 0 where that is negative."""
        if self.learned:
            return 0.0
        away = self.number.mean - self.centre
        return math.copysign(math.sqrt(max(0.0, float(away**2 - self.number.error))), away)

    @property
    def _curve(self) -> float:
        """What the square of the mean's error adds to the variance of the estimate."""
        return curved(float(self.number.variance), self.number.n)

    def variances(self, target: str) -> Floats:
        known = Noise(float(self.number.variance), float(self.square.variance), float(self.covariance or 0))
        crowd = self.distance, (self.number.n, self.square.n)
        found = straight(*known, *crowd)
        # Of a sample, all that is saved is the variance of (x - mean)**2 over n. Two separate parts of the
        # participants do not show it, so for them the interval for the population serves both.
        if target == "sample" and self.noise is not None:
            found = min(found, max(0.0, straight(*self.noise(), *crowd)))
        return np.array([found + self._curve])

    # --- intervals ---------------------------------------------------------------------------------
    def interval(self, level: float, method: str, target: str) -> Bounds:
        if method == "normal":
            return self.normal(level, target)
        if self.learned and target == "sample":
            raise NoIntervalError(
                "Where the centre was learned from some participants, the others are no sample that it knows nothing"
                " of: the hoeffding interval is about the population; for the sample ask for 'normal'."
            )
        low, high = self._both(level)
        factor = self.n / (self.n - 1) if target == "sample" else 1.0
        most = self.limits[1] * factor
        return Bounds(np.array([min(max(low * factor, 0.0), most)]), np.array([min(max(high * factor, 0.0), most)]))

    def _both(self, level: float) -> tuple[float, float]:
        """The variances that are possible where both means are, each missed with half of the error probability."""
        each = 1 - (1 - level) / 2
        squares = _around(self.square, each, 0.0)
        aways = _around(self.number, each, float(self.centre))
        largest = max(away**2 for away in aways)
        least = 0.0 if aways[0] <= 0 <= aways[1] else min(away**2 for away in aways)
        return squares[0] - largest, squares[1] - least

    def normal_is_poor(self) -> NDArray[np.bool_]:
        """Too few reports, or too much of the error comes from the square of the mean's own error."""
        curved = self._curve > CURVED * float(self.variances("population")[0])
        return np.array([self.number.poor or self.square.poor or curved])

    def warning(self) -> str | None:
        if self.normal_is_poor()[0]:
            return (
                f"The normal interval is poor for these {self.n} reports: they are too few, or too few of them are"
                " about the mean. The hoeffding interval holds."
            )
        value, error = float(self.exact), math.sqrt(self.variances("population")[0])
        if value > 2 * error:
            return None
        return (
            f"This variance can hardly be told from zero: {value:.3g} with a standard error of {error:.3g}. Its"
            " interval may reach below zero, and that of the standard deviation is cut there."
        )

    def project(self, name: str) -> Floats:
        if name != "range":
            raise ParameterError("There is no such projection of a variance. Known: range.")
        return np.clip(self.values(), *self.limits)


def _around(part: Part, level: float, centre: float) -> tuple[float, float]:
    """Hoeffding's limits for a mean, within the range it can have, from the centre on."""
    half, mean = hoeffding(part.reach, part.n, level), float(part.mean)
    low, high = (min(max(end, part.ends[0]), part.ends[1]) for end in (mean - half, mean + half))
    return low - centre, high - centre


@dataclass(frozen=True, slots=True, eq=False)
class Deviation(Evidence):
    """The standard deviation: the square root of a variance, and 0 of a negative one. It is not unbiased."""

    methods: ClassVar[tuple[str, ...]] = Spread.methods
    default: ClassVar[str] = Spread.default
    spread: Spread

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.spread.n

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, math.sqrt(self.spread.limits[1])

    def values(self) -> Floats:
        return np.sqrt(np.maximum(self.spread.values(), 0))

    def labels(self, domain: Domain) -> Sequence[object]:
        return ("standard deviation",)

    def variances(self, target: str) -> Floats:
        """By the delta method; where the variance is less than its own error, at that error."""
        errors = self.spread.variances(target)
        at = np.maximum(self.spread.values(), np.sqrt(errors))
        return np.asarray(np.divide(errors, 4 * at, out=np.zeros_like(errors), where=at > 0))

    def interval(self, level: float, method: str, target: str) -> Bounds:
        return Bounds(*(np.sqrt(np.maximum(end, 0)) for end in self.spread.interval(level, method, target)))

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return self.spread.normal_is_poor()

    def warning(self) -> str | None:
        return self.spread.warning()

    def project(self, name: str) -> Floats:
        return np.sqrt(self.spread.project(name))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MomentEstimate(Estimate):
    """A mean, a variance or a standard deviation that came out of one protocol."""

    def _explained(self, level: float) -> str:
        (what,), (low, high) = self.evidence.labels(self.mechanism.domain), self.ci(level)
        kind = "unbiased" if self.projection is None else f"projected ({self.projection})"
        if isinstance(self.evidence, Deviation):
            kind = "the square root of the unbiased variance"
        epsilon = self.mechanism.epsilon
        return (
            f"{self.n} participants answered once each; nobody's answer can be told from one report with odds better"
            f" than e^{epsilon:.4g} = {math.exp(epsilon):.3g} to 1 against any other answer. The estimate of their"
            f" {what} is {kind}: {self.values[0]:.6g}, with a standard error of {self.std_errors[0]:.2g} ({level:.0%}"
            f" {self.evidence.default} interval from {low[0]:.6g} to {high[0]:.6g} for the population)."
        )


# --- from tallies ----------------------------------------------------------------------------------
def from_arms(number: Tally, square: Tally, *, learned: bool = False) -> Spread:
    """Two tallies of different participants: of the number, and of its squared distance from a centre."""
    view = square.mechanism.domain
    if not isinstance(view, Square):
        raise ParameterError(f"The second tally of a variance is of squares, not of a domain of kind {view.kind}.")
    if not number.n or not square.n:
        raise ParameterError("A variance takes at least two reports of the number and two of its square.")
    first, second = (evidence(tally.mechanism, tally.cells) for tally in (number, square))
    return Spread(Part.of(first), Part.of(second), Fraction(view.centre), first.ends, learned)


def parts(mechanism: Mechanism) -> tuple[Mechanism, Mechanism]:
    """The two mechanisms that one with joint cells holds side by side."""
    domain, channel = mechanism.domain, mechanism.channel
    if not isinstance(domain, Powers) or not isinstance(channel, Each):
        raise ParameterError(f"The joint cells of {mechanism.name} are not those of a number and its square.")
    first, second = (
        Mechanism(f"{mechanism.name}: {name}", question.Mean(own), part, mechanism.claimed, CountOutputs())
        for name, own, part in zip(("number", "square"), domain.parts, channel.channels, strict=True)
    )
    return first, second


def from_both(tally: Tally) -> tuple[MeanEvidence | SummedMeanEvidence, Spread]:
    """One tally of both reports of every participant: what it says of the mean, and of the variance."""
    both, view = parts(tally.mechanism), tally.mechanism.domain
    first: MeanEvidence | SummedMeanEvidence
    second: MeanEvidence | SummedMeanEvidence
    if isinstance(tally.mechanism.statistic, Moments):
        table = _moment_table(both, tally.cells)
        first = from_sums(both[0], [[int(n) for n in row] for row in table[:, :, [0, 1, 3]].sum(axis=1)])
        second = from_sums(both[1], [[int(n) for n in row] for row in table[:, :, [0, 2, 4]].sum(axis=0)])
        products = _products(both, table)
    else:
        joint = tally.cells.reshape([mechanism.cells for mechanism in both])
        first, second = evidence(both[0], joint.sum(axis=1)), evidence(both[1], joint.sum(axis=0))
        products = _products(both, _moments_of(both, joint))
    number, square = Part.of(first), Part.of(second)
    centre = Fraction(view.centre) if isinstance(view, Powers) else Fraction(0)
    covariance = (products - number.n * number.mean * square.mean) / (number.n - 1)

    def noise() -> Noise:
        return Noise(first.noise, second.noise)

    return first, Spread(number, square, centre, first.ends, covariance=covariance, noise=noise)


def _moment_table(both: tuple[Mechanism, Mechanism], cells: Ints) -> NDArray[np.object_]:
    """Moments by stretch of the number, stretch of the square and power: as whole numbers that do not overflow."""
    rows, columns = (len(_stretches(mechanism)) for mechanism in both)
    return cells.astype(object).reshape(rows, columns, len(POWERS))


def _moments_of(both: tuple[Mechanism, Mechanism], joint: Ints) -> NDArray[np.object_]:
    """The same moments from joint cells; only those that a covariance takes."""
    rows, columns = (_stretches(mechanism) for mechanism in both)
    found = np.zeros((len(rows), len(columns), len(POWERS)), object)
    for r, (_, row) in enumerate(rows):
        for c, (_, column) in enumerate(columns):
            block = joint[row, column].astype(object)
            ys, zs = (np.arange(size).astype(object) for size in block.shape)
            found[r, c] = [block.sum(), ys @ block.sum(axis=1), zs @ block.sum(axis=0), 0, 0, ys @ block @ zs]
    return found


def _products(both: tuple[Mechanism, Mechanism], table: NDArray[np.object_]) -> Fraction:
    """The sum of the products of both readings of each participant, exactly."""
    rows, columns = (_stretches(mechanism) for mechanism in both)
    total = Fraction(0)
    for r, (left, _) in enumerate(rows):
        for c, (right, _) in enumerate(columns):
            n, linear, other, crossed = (int(table[r, c, power]) for power in (0, 1, 2, 5))
            a, b = left.first - left.origin, right.first - right.origin
            total += (crossed + b * linear + a * other + a * b * n) / (left.slope * right.slope)
    return total


def _stretches(mechanism: Mechanism) -> list[tuple[Any, slice]]:
    numbers = mechanism.domain.numbers
    scales, ends = scale_of(mechanism.channel, numbers.origin if numbers is not None else Fraction(0))
    return [(scale, slice(scale.first, end)) for scale, end in zip(scales, ends, strict=True)]


def moments(mechanism: Mechanism, spread: Spread, mean: Evidence, cells: Ints) -> dict[str, Estimate]:
    """Mean, variance and standard deviation as estimates, which answer for the budget of a mechanism."""
    found: dict[str, Evidence] = {"mean": mean, "variance": spread, "sd": Deviation(spread)}
    return {
        name: MomentEstimate(mechanism, one.n, one.values(), np.sqrt(one.variances("population")), one, cells)
        for name, one in found.items()
    }


def estimate(mechanism: Mechanism, tally: Tally) -> Estimate:
    """The unbiased variance from a tally of joint cells."""
    check_tally(mechanism, tally)
    mean, spread = from_both(tally)
    return moments(mechanism, spread, mean, tally.cells)["variance"]


def predicted_variance(mechanism: Mechanism, truth: Any, n: int = 1, *, target: str = "population") -> Any:
    """Before anyone has answered the protocol knows more than its mechanism: refused here, with the way to go."""
    raise ParameterError(
        f"How well {mechanism.name} tells a variance depends on the whole law of the answers: ask the protocol for"
        " predicted_error(participants, law)."
    )
