"""All boxes over a grid as queries: what designs and planners share.

The cells of a grid, row after row, lie on one circle: the last cell of a row is next to the first cell of the next row,
and the last cell of all is next to the first. Shifts of that circle move a box along every axis, as shifts of a torus
do; they differ where a box leaves its row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.estimate.distribution.queries import Floats, Queries
from sottovoce.estimate.distribution.readings.shifts import information
from sottovoce.estimate.distribution.readings.transition import ShiftTransition, transition_of
from sottovoce.estimate.request import Target


@dataclass(frozen=True, eq=False)
class BoxQueries(Queries):
    """The shares of all boxes but that of all cells."""

    sizes: tuple[int, ...]

    @classmethod
    def over(cls, sizes: tuple[int, ...]) -> BoxQueries:
        """All boxes over a grid with so many buckets along each axis."""
        count = prod(size * (size + 1) // 2 for size in sizes) - 1
        return cls(prod(sizes), False, count, lambda _: _gram(sizes), lambda _: iter(()), sizes)

    @cached_property
    def lags(self) -> Floats:
        """The Gram matrix of the boxes, summed over all pairs of cells at each distance around the circle."""
        total, places = np.ones(1), np.zeros(1, np.int64)
        for size in self.sizes:
            distances = np.arange(1 - size, size)
            sums = np.array([np.trace(_ranges(size), distance) for distance in distances])
            total = np.multiply.outer(total, sums).ravel()
            places = np.add.outer(places * size, distances).ravel()
        return np.asarray(np.bincount(places % self.bins, total, minlength=self.bins) - float(self.bins), np.float64)

    def spectrum(self, cells: int) -> Floats:
        """The squared Fourier coefficients of all boxes on the circle of cells."""
        return np.maximum(np.fft.rfft(self.lags).real / self.bins, 0.0)

    def mean_variance(self, channel: Channel, target: Target) -> float:
        """The exact variance of one report's score for a box, averaged over all boxes, at equal shares of all cells."""
        transition = transition_of(channel, self.bins)
        if not isinstance(transition, ShiftTransition) or transition.cells != self.bins:
            raise TypeError(f"The boxes of a {channel.kind} channel are not read around a circle of its codes.")
        terms = self.spectrum(self.bins) / information(transition)
        ends = terms[0] + (terms[-1] if self.bins % 2 == 0 else 0.0)
        squares = 2 * float(terms.sum()) - float(ends)
        population = target == Target.POPULATION
        between = float(self.lags.sum()) / self.bins**2 if population else float(self.lags[0]) / self.bins
        return (squares - between) / self.count


def _ranges(size: int) -> Floats:
    """How many ranges of an axis hold each pair of its buckets."""
    index = np.arange(size)
    return np.asarray((np.minimum.outer(index, index) + 1.0) * (size - np.maximum.outer(index, index)))


def _gram(sizes: tuple[int, ...]) -> Floats:
    gram: Floats = np.ones((1, 1))
    for size in sizes:
        gram = np.asarray(np.kron(gram, _ranges(size)), np.float64)
    return gram - 1
