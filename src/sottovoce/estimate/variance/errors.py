"""The variance of an estimated variance, from the variances of single readings."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.mean.from_sums import SummedMeanEvidence

Floats = NDArray[np.float64]
TURNS = 721  # points of an ellipse: the ends of an interval are known to a part in a hundred thousand
Number = TypeVar("Number", float, NDArray[np.float64])  # of one estimate, or of many


class MeanPart(NamedTuple):
    """Reports read as numbers whose mean is wanted: their number, mean and sample variance, exactly."""

    n: int
    mean: Fraction
    variance: Fraction
    reach: float  # the length of the range of possible readings
    ends: tuple[float, float]  # of what the mean can be
    poor: bool  # whether the sample variance itself is poorly known
    lowest: float | None = None  # the lowest possible reading, if every report is read by itself

    @classmethod
    def of(cls, mean: MeanEvidence | SummedMeanEvidence) -> MeanPart:
        """The part of evidence about a mean."""
        sums = mean.sums
        if sums.variance is None:
            raise ParameterError("A variance needs at least two reports of the number and two of its square.")
        lowest = float(mean.contributions().least[0])
        return cls(sums.n, sums.mean, sums.variance, mean.reach, mean.ends, bool(mean.normal_is_poor()[0]), lowest)

    @property
    def error(self) -> Fraction:
        """The estimated variance of the mean, unbiased."""
        return self.variance / self.n

    def without_fakes(self, fakes: FakeReports) -> tuple[float, float] | None:
        """Between which numbers the mean of all other reports lies."""
        if self.lowest is None:
            return None
        low, high = fakes.removed(float(self.mean), self.lowest, self.lowest + self.reach, self.n)
        return float(low), float(high)


class ReadingNoise(NamedTuple):
    """The part of the variances of readings, and of their covariance, that is noise rather than spread of answers."""

    number: float
    square: float
    covariance: float = 0.0


def straight(
    number: Number, square: Number, covariance: Number, distance: Number, participants: tuple[int, int]
) -> Number:
    """The variance of the readings of the square minus 2 d times those of the number, from those of single readings.

    `covariance` is that of both if one participant gives both; `distance` d is that of the mean from the centre, and 0
    if the centre was estimated.
    """
    n, m = participants
    return square / m + 4 * distance**2 * number / n - 4 * distance * covariance / n


def curved(number: Number, n: int) -> Number:
    """The variance of the square of the mean's error, with its expectation taken off; `number` that of a reading."""
    return 2 * number**2 / (n * (n - 1)) if n > 1 else number + math.inf


def reach(number: Floats, square: Floats, covariance: Floats, away: Floats, deviate: float) -> tuple[Floats, Floats]:
    """How far the profile likelihood interval of a variance reaches below and above the estimate.

    The arguments are the variances and the covariance of the two estimated means, and the estimated distance of the
    mean from the centre. The variance is the mean square minus the squared distance, for all pairs of means inside an
    ellipse of `deviate` standard errors. An interval of 1.96 standard errors to both sides covers less, down to 84 %:
    its standard error is small where the error of the mean makes the estimate too large.
    """
    number, square = (np.maximum(part, 0.0)[:, None] for part in (number, square))
    covariance, away = covariance[:, None], away[:, None]
    error = np.sqrt(number)
    shared = np.divide(covariance, error, out=np.zeros_like(error), where=error > 0)
    shared = np.clip(shared, -np.sqrt(square), np.sqrt(square))
    turn = np.linspace(0, 2 * np.pi, TURNS)
    step = deviate * error * np.cos(turn)
    other = deviate * (shared * np.cos(turn) + np.sqrt(square - shared**2) * np.sin(turn))
    moved = other - 2 * away * step - step**2
    return -moved.min(axis=-1), moved.max(axis=-1)


def error_variance(
    number: float, square: float, covariance: float, distance: float, participants: tuple[int, int]
) -> float:
    """The exact variance of the estimate, from the variances of single readings: both parts are uncorrelated."""
    return straight(number, square, covariance, distance, participants) + curved(number, participants[0])


def variance_error(mean_error: float, square_error: float, farthest: float, n: int) -> float:
    """Proposition 2 of the survey, for any range: how far the plug-in variance n / (n - 1) (m2 - m**2) can be off.

    The bound holds where the mean is known to `mean_error` *and* the mean square to `square_error`: if each fails with
    probability beta, both hold at once with 1 - 2 beta only (METHODS, erratum 13). For parts of the participants the
    errors are those of a subsample's mean, so that they count the drawing of the part, not the privacy noise alone.
    `farthest` is the largest distance of an answer from the centre of the squares, 1 on [-1, 1].
    """
    check_integer("n", "variance_error", n, 2, 1 << 53)
    return n / (n - 1) * (square_error + mean_error**2 + 2 * farthest * mean_error)
