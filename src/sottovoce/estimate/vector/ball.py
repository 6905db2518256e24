"""The mean of vectors of a ball, from sums of rounded coordinates and of their squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Cap, Channel, Projected
from sottovoce.core.channel.facets import dimensions_of
from sottovoce.core.channel.vector.sphere import SummandScale
from sottovoce.core.domain import Ball
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Offer
from sottovoce.estimate.vector.base import UNNAMED, VectorEvidence

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class BallEvidence(VectorEvidence):
    """Reports read as vectors, whose mean is that of the answers.

    Noise has nearly the same size for all answers, and cannot be separated from the spread of the answers: for the
    "sample" the variance is the same as for the population, which is an upper bound there. It is a close one unless
    epsilon is large and there are few dimensions.
    """

    methods: ClassVar[tuple[str, ...]] = ("normal",)
    default: ClassVar[str] = "normal"
    n: int
    means: Floats
    spreads: Floats  # sample variances of the readings of each coordinate
    radius: float
    rare: float  # reports that are expected on the less likely side of the cap
    axes: Axes = UNNAMED
    question: Question | None = None

    @property
    def offers(self) -> frozenset[Offer]:
        return frozenset({Offer.BALL})

    def values(self) -> Floats:
        return self.means

    def variances(self, target: str) -> Floats:
        return np.asarray(self.spreads / self.n)

    def interval(self, level: float, method: str, target: str) -> Bounds:
        return self.normal(level, target)

    @property
    def limits(self) -> tuple[float, float]:
        return -self.radius, self.radius

    def normal_is_poor(self) -> NDArray[np.bool_]:
        """Coordinates of random directions are nearly normal; only their variance must be known, and for that enough
        reports must have come from either side of the cap."""
        return np.full(len(self.means), min(self.n, self.rare) < POOR_BELOW)

    def warning(self) -> str | None:
        if not self.normal_is_poor()[0]:
            return None
        return f"The normal interval is poor for these {self.n} reports: they are too few to know their own variance."


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> BallEvidence:
    """The evidence of cells."""
    reading, radius = _reading(mechanism), _radius(mechanism)
    first, second = cells.reshape(2, -1)
    unit = reading.step * radius
    means = (first / n - reading.origin) * unit
    # n * sum of squares - square of the sum, in Python's integers: in floats most of it would cancel.
    inner = [n * int(b) - int(a) ** 2 for a, b in zip(first, second, strict=True)]
    if min(inner) < 0:
        raise ParameterError(
            "The squares of this tally are smaller than its sums allow, so it cannot come from reports."
        )
    if n > 1:
        spreads = np.array(inner, float) / (n * (n - 1)) * unit**2
    else:
        spreads = np.full(len(first), max(reading.along, reading.across) * radius**2)
    return BallEvidence(
        n,
        means,
        spreads,
        radius,
        n * _rarer_side(mechanism.channel),
        Axes.of("coordinate", mechanism.domain),
        mechanism.question,
    )


def _rarer_side(channel: Channel) -> float:
    """How often a report comes from the less likely side of the cap."""
    cap = channel.inner if isinstance(channel, Projected) else channel
    keep = cap.keep / UNIT if isinstance(cap, Cap) else 0.5
    return min(keep, 1 - keep)


def predicted_variance(mechanism: Mechanism, truth: Any, n: int = 1, *, target: str = "population") -> Floats:
    """The variance of each coordinate of the mean of n reports, if all participants hold this vector."""
    reading, radius = _reading(mechanism), _radius(mechanism)
    dimensions = dimensions_of(mechanism.channel)
    held = np.asarray(truth, float)
    if held.shape != (dimensions,):
        raise reject("truth", "variance", f"a vector of {dimensions} numbers", truth)
    code = np.array(mechanism.domain.encode(held))
    length = float(np.linalg.norm(code))
    squares = (code / length) ** 2 if length else _of_zero(mechanism)
    each = reading.across + (reading.along - reading.across) * squares - code**2
    return np.asarray(each * radius**2 / n)


def total_variance(mechanism: Mechanism) -> float:
    """The mean square error of one report of a vector on the surface, summed over the coordinates.

    It is that of the worst vector less at most the square of the radius: inside the ball the mean square length of a
    report is the same, and the square of a shorter answer is subtracted from it.
    """
    reading, radius = _reading(mechanism), _radius(mechanism)
    dimensions = dimensions_of(mechanism.channel) or 0
    return float((reading.along + (dimensions - 1) * reading.across - 1) * radius**2)


def _of_zero(mechanism: Mechanism) -> Floats:
    """Squared cosines of the axis to which a zero vector is moved: the first one, before it is turned at random."""
    channel = mechanism.channel
    if isinstance(channel, Projected):
        return np.full(channel.size, 1 / channel.padded)
    return np.asarray(np.eye(1, dimensions_of(channel))[0])


def _reading(mechanism: Mechanism) -> SummandScale:
    channel = mechanism.channel
    if not isinstance(channel, (Cap, Projected)):
        raise ParameterError(f"The reports of {mechanism.name} are not vectors of a ball.")
    return channel.reading()


def _radius(mechanism: Mechanism) -> float:
    domain = mechanism.domain
    if not isinstance(domain, Ball):
        raise ParameterError(f"The answers of {mechanism.name} are not vectors of a ball.")
    return float(domain.radius)
