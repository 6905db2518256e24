"""Heaped answers: hypotheses in which people round, or choose an end of the scale.

A lattice is a hypothesis in which all answers are multiples of a round step of the domain's unit. The logarithm of their
shares is a walk along the multiples; those of larger round steps may stand out together, and so may both ends. In the
other hypothesis answers lie anywhere, and an atom lies at each end. Each has a posterior and evidence like a walk along
the buckets, and joins the same average.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Integers, Interval
from sottovoce.estimate.distribution.bayes.condense import Condensed
from sottovoce.estimate.distribution.bayes.modes import Posterior
from sottovoce.estimate.distribution.bayes.walks import Walk, waves
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.shares.mixture import Mixture

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FEWEST_POINTS, MOST_POINTS = 8, 262
ROUND = 1.5  # standard deviation of the effect of a rounder step
END = 2.5  # of an end of the scale
ATOM = 3.2  # of an atom at an end, against the walk beside it
_ATOM_SIZE = 5  # of an average bucket, in the middle of the prior
_FEWEST_ROUND = 3  # points that share an effect
_NEAR = 1e-9


class Heap(NamedTuple):
    """Where answers may lie: in the parts of a likelihood if there is a background, and at points.

    `base` is the place of each part and point along the walk, `effects` has a column for each random effect.
    """

    name: str
    law: Floats
    logs: Floats
    base: Ints
    effects: Floats
    buckets: Ints  # of the points
    background: bool
    penalty: float = 0.0

    def shares(self, given: Condensed, own: Floats, widths: Floats) -> Floats:
        """The shares of the buckets."""
        parts = len(own) - len(self.buckets)
        points = np.bincount(self.buckets, own[parts:], len(widths))
        return np.asarray(points + given.spread(own[:parts], widths) if parts else points)


class HeapPosterior(Posterior):
    """The posterior of a walk and of random effects. A start is a walk, followed by effects in standard units."""

    def __init__(self, given: Condensed, heap: Heap) -> None:
        self.heap, self.law, self.counts, self.logs = heap, heap.law, given.counts, heap.logs
        self.n, self.circular = float(given.counts.sum()), False
        self.length = int(heap.base.max()) + 1

    def along(self, family: Walk, size: float, walk: Floats) -> tuple[Floats, Floats]:
        basis = waves(self.length, family.order, False)
        deviations = family.deviations(basis, size)
        vectors = basis.vectors[:, : len(deviations)]
        directions = np.concatenate([(vectors * deviations)[self.heap.base], self.heap.effects], axis=1)
        return directions, np.concatenate([vectors.T @ walk[: self.length] / deviations, walk[self.length :]])

    def walk(self, directions: Floats, place: Floats) -> Floats:
        count = len(place) - self.heap.effects.shape[1]
        return np.concatenate([directions[: self.length, :count] @ place[:count], place[count:]])

    def start(self, family: Walk, shares: Floats) -> Floats:
        """A walk with the densities of these shares of buckets, without effects."""
        


def round_steps(low: float, high: float) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Steps of which a range has a moderate number of multiples, each with the rounder ones, as multiples of it."""
    width = high - low
    for power in range(math.floor(math.log10(width)) + 1, math.floor(math.log10(width)) - 4, -1):
        for lead, rounder in ((5, (2, 10, 20)), (1, (5, 10, 50, 100))):
            step = lead * 10.0**power
            if FEWEST_POINTS <= width / step + 1 <= MOST_POINTS:
                yield step, rounder
