"""Priors on distributions: random walks along the buckets, which bend into the logarithm of a density.

A walk u of order one to three, of some size, plus a little noise of each bucket's own, is bent into the logarithm of a
density, (e**(bend u) - 1) / bend. A negative bend flattens peaks and deepens valleys, as in distributions that are
level where people are and zero elsewhere; a positive one flattens valleys and sharpens peaks; without a bend it is u.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sottovoce.estimate.evidence import Floats

STEEPEST = 4.0  # the exponent from which on a positive bend is continued by its tangent
SLOPE_VARIANCE = 4.0  # of the straight line of a walk of order two, relative to its slowest wave
LEAST_SLOPE = 1.0
SLIGHT = 0.3
STILL = 0.05  # a deviation of a walk along a wave that does not count
FEWEST = 96  # waves of each walk, as far as there are so many
_HALVINGS = 40
_FLATTEST = np.exp(-STEEPEST)


@dataclass(frozen=True, slots=True)
class Walk:
    """A family of priors, of all sizes. `penalty` is taken off the logarithm of what speaks for it."""

    order: int
    noise: float
    bend: float
    penalty: float

    def deviations(self, waves: Waves, size: float) -> Floats:
        """The standard deviation of the walk along each of its waves, from slow to fast.

        Reports say nothing of slight noise in fast waves: those along which the walk stands still are left out.
        """
        variances = size**2 * waves.variances
        if self.order == 2 and not waves.circular:
            variances[0] = max(variances[0], LEAST_SLOPE * len(waves.vectors))
        moving = int(np.searchsorted(-variances, -(STILL**2)))
        count = len(variances) if self.noise > SLIGHT else max(FEWEST, moving)
        return np.sqrt(variances[:count] + self.noise**2)

    def bent(self, walk: Floats) -> tuple[Floats, Floats]:
        """The logarithm of the density, up to a constant, and its slope."""
        if self.bend == 0:
            return walk, np.ones_like(walk)
        exponent = self.bend * walk
        slope = np.exp(np.minimum(exponent, STEEPEST))
        beyond = np.maximum(exponent - STEEPEST, 0)
        return (slope * (1 + beyond) - 1) / self.bend, slope

    def straightened(self, logs: Floats) -> Floats:
        """A walk around zero that bends into these logarithms, up to a constant and what a bend cannot reach."""
        if self.bend == 0:
            return np.asarray(logs - logs.mean())
        low, high = logs.min() - 1 / abs(self.bend), logs.max() + 1 / abs(self.bend)
        for _ in range(_HALVINGS):
            level = (low + high) / 2
            walk = np.log(np.maximum(1 + self.bend * (logs - level), _FLATTEST)) / self.bend
            low, high = (level, high) if walk.mean() > 0 else (low, level)
        return np.asarray(walk - walk.mean())


class Waves(NamedTuple):
    """Orthogonal waves along the buckets, none of them constant, and their variances in a walk of size one."""

    vectors: Floats
    variances: Floats
    circular: bool


@lru_cache(maxsize=16)
def waves(buckets: int, order: int, circular: bool) -> Waves:
    """The waves of a walk: the mean variance of a bucket is one.

    Along a line a walk of order two leaves its slope open, and one of order three a parabola; they get variances of
    their own.
    """
    steps = np.eye(buckets)
    for _ in range(order):
        steps = steps - np.roll(steps, 1, axis=0) if circular else np.diff(steps, axis=0)
    # From the steps themselves, not their products: squares of the slowest waves would be lost in rounding.
    _, rates, rows = np.linalg.svd(steps)
    vectors = rows[::-1].T
    free = 1 if circular else order
    if free > 1:
        line = np.vander(np.linspace(-1, 1, buckets), free, increasing=True)
        vectors[:, :free] = np.linalg.qr(line)[0]
    variances = np.zeros(buckets)
    variances[free:] = 1 / rates[: buckets - free][::-1] ** 2
    variances *= buckets / variances.sum()
    variances[1:free] = SLOPE_VARIANCE * variances[free]
    basis = Waves(np.ascontiguousarray(vectors[:, 1:]), variances[1:], circular)
    for array in basis[:2]:
        array.setflags(write=False)
    return basis


# The list and the penalties were chosen on one half of the data sets of `sottovoce reproduce distribution-decoders` and
# on other columns of public files. The search starts with the walk whose mode is found on all data: others that are far
# worse are then left out soon.
FEW_WALKS = (
    Walk(2, 1.0, 0.0, 7.0),
    Walk(2, SLIGHT, 0.3, 1.0),
    Walk(1, SLIGHT, 0.0, 2.0),
    Walk(2, SLIGHT, -0.8, 0.0),
    Walk(1, 1.5, 0.0, 5.0),
)
WALKS = (*FEW_WALKS, Walk(3, SLIGHT, 0.0, 4.0), Walk(3, 0.1, -0.8, 5.0), Walk(2, 2.5, 0.0, 8.0))
