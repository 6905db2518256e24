"""The mean of vectors of a ball, from sums of rounded coordinates and of their squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel.facets import dimensions_of, need
from sottovoce.core.channel.shapes import Capped
from sottovoce.core.domain import Ball
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import POOR_BELOW, Flags, Floats, Ints, Offer, floats_of
from sottovoce.estimate.request import Method, Target
from sottovoce.estimate.vector_mean.base import UNNAMED
from sottovoce.estimate.vector_mean.combine import VectorOfTally


@dataclass(frozen=True, slots=True, eq=False)
class BallEvidence(VectorOfTally):
    """Reports read as vectors, whose mean is that of the answers.

    Noise has nearly the same size for all answers, and cannot be separated from the spread of the answers: for the
    "sample" the variance is the same as for the population, which is an upper bound there. It is a close one unless
    epsilon is large and there are few dimensions.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.BALL})
    n: int
    means: Floats
    spreads: Floats  # sample variances of the readings of each coordinate
    radius: float
    rare: float  # reports that are expected on the less likely side of the cap
    axes: Axes = UNNAMED
    question: Question | None = None

    def values(self) -> Floats:
        return self.means

    def variances(self, target: Target) -> Floats:
        return np.asarray(self.spreads / self.n)

    @property
    def limits(self) -> tuple[float, float]:
        return -self.radius, self.radius

    def normal_is_poor(self) -> Flags:
        """Coordinates of random directions are nearly normal; only their variance must be known, and for that enough
        reports must have come from either side of the cap."""
        return np.full(len(self.means), min(self.n, self.rare) < POOR_BELOW)

    def _doubt(self, poor: int) -> str:
        return f"these {self.n} reports: they are too few to know their own variance."


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> BallEvidence:
    """The evidence of cells."""
    capped, radius = need(mechanism.channel, Capped), _radius(mechanism)
    reading, keep = capped.reading(), capped.cap.keep / UNIT
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
    rare = n * min(keep, 1 - keep)
    return BallEvidence(n, means, spreads, radius, rare, Axes.of("coordinate", mechanism.domain), mechanism.question)


def predicted_variance(mechanism: Mechanism, truth: Any, n: int = 1, *, target: Target = Target.POPULATION) -> Floats:
    """The variance of each coordinate of the mean of n reports, if all participants hold this vector."""
    capped, radius = need(mechanism.channel, Capped), _radius(mechanism)
    reading, dimensions = capped.reading(), dimensions_of(mechanism.channel)
    held = floats_of(truth)
    if held.shape != (dimensions,):
        raise reject("truth", "variance", f"a vector of {dimensions} numbers", truth)
    code = np.array(mechanism.domain.encode(held))
    length = float(np.linalg.norm(code))
    squares = (code / length) ** 2 if length else np.array(capped.zero_squares())
    variances = reading.across + (reading.along - reading.across) * squares - code**2
    return np.asarray(variances * radius**2 / n)


def _radius(mechanism: Mechanism) -> float:
    domain = mechanism.domain
    if not isinstance(domain, Ball):
        raise ParameterError(f"The answers of {mechanism.name} are not vectors of a ball.")
    return float(domain.radius)
