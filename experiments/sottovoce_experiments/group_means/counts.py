"""Estimated group means drawn from counts, without drawing a report for every participant.

A group's mean is estimated as in Definitions 4 and 8: sum over size, where the size comes from how many reports name
the group, and the sum from their readings. So only these matter for a group: how many of its members were kept, how
many came from other groups, and the sums of the readings of both.

The numbers are drawn exactly: kept and arrived are binomial, and independent of each other, since they are different
people. Arrivals in two groups are not independent, which is not reproduced; mean and deviation of the errors of single
groups do not depend on it. The sums are drawn as normal variables with the exact mean and variance, given the numbers:
they have hundreds of independent bounded terms where they matter, so the error of that is far below that of the runs.
Those kept are a sample of the group without replacement, hence the factor (size - kept) / (size - 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Keyed, Subset
from sottovoce.core.channel.facets import readings, scales_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GroupMoments:
    """Moments of the members of each group; arrays over groups, optionally with more axes in front.

    `mean` of the values, their variance `spread` (divided by the size), and `noise`, the mean over members of the
    variance of a reading.
    """

    size: Floats
    mean: Floats
    spread: Floats
    noise: Floats


@dataclass(frozen=True, slots=True)
class Law:
    """Rates of a keyed channel: how often a group is kept or named by another's member; and its neutral readings."""

    own: float
    other: float
    centre: float
    neutral: float

    @classmethod
    def of(cls, channel: Keyed) -> Law:
        """The law of a channel whose key is randomized response."""
        if not isinstance(channel.key, Subset) or channel.key.w > 1:
            raise TypeError("Drawing counts needs randomized response on the group.")
        scales = scales_of(channel.inner)
        if scales is None:
            raise TypeError("The inner channel is not read as numbers.")
        numbers = np.array([float(number) for number in readings(scales, channel.inner_outputs)])
        weights = np.array(channel.neutral, np.float64) / UNIT
        centre = float(weights @ numbers)
        square = float(weights @ (numbers - centre) ** 2)
        own, other = channel.key.rates()
        return cls(float(own), float(other), centre, square)


def draw_means(law: Law, crowd: GroupMoments, runs: int, rng: np.random.Generator) -> Floats:
    """Estimated means, one row for each run; the last axis is the group."""
    shape = (runs, *crowd.mean.shape)
    size = np.broadcast_to(crowd.size, crowd.mean.shape)
    everyone = size.sum(-1, keepdims=True)
    kept = rng.binomial(size.astype(np.int64), law.own, shape)
    arrived = rng.binomial((everyone - size).astype(np.int64), law.other, shape)
    left_out = (size - kept) / np.maximum(size - 1, 1)
    variance = kept * (crowd.noise + left_out * crowd.spread) + arrived * law.neutral
    # Readings are taken relative to the mean of the neutral ones, which then add nothing to the sum (Appendix C).
    total = kept * (crowd.mean - law.centre) + np.sqrt(variance) * rng.standard_normal(shape)
    sizes = (kept + arrived - everyone * law.other) / (law.own - law.other)
    means: Floats = law.centre + total / law.own / sizes
    return means


def error_row(errors: Floats) -> dict[str, float]:
    """The mean absolute error and its deviation, over everything, as in Tables 3-5 and 8-10."""
    size = np.abs(errors)
    return {"error": float(size.mean()), "std": float(size.std())}
