"""Non-negative shares over a grid with a Gaussian prior whose scales are estimated from the reports themselves.

The prior is diagonal in the cosine basis of the grid. Coefficients of similar frequencies along each axis, octave by
octave, share one variance: their mean square in a first fit without a prior. The fit minimises the squared distance to
the unbiased shares, in the metric of their information, plus the squared coefficients over their variances. Shares are
kept non-negative with sum one, by accelerated projected gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn

from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.distribution.readings.shifts import information
from sottovoce.estimate.distribution.readings.transition import ShiftTransition
from sottovoce.estimate.evidence import Floats

Operator = Callable[[Floats], Floats]
_FIELDS = 16  # of drawn noise, from which its spectrum is read
_SEED = 0


class GridNoise(NamedTuple):
    """The information of n reports about the cells of a grid, which lie row after row around a circle."""

    shape: tuple[int, ...]
    information: Floats  # of each wave around the circle, of all reports together

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)

    def times(self, shares: Floats) -> Floats:
        """The information matrix times a vector."""
        return np.asarray(np.fft.irfft(np.fft.rfft(shares) * self.information, self.cells))

    def spectrum(self) -> Floats:
        """The mean squared cosine coefficients of the noise of the unbiased shares."""
        white = np.random.default_rng(_SEED).normal(size=(_FIELDS, self.cells))
        noise = np.fft.irfft(np.fft.rfft(white) / np.sqrt(self.information), self.cells)
        axes = tuple(range(1, 1 + len(self.shape)))
        return np.asarray((dctn(noise.reshape(_FIELDS, *self.shape), axes=axes, norm="ortho") ** 2).mean(axis=0))


def noise_of(transition: ShiftTransition, shape: tuple[int, ...], n: int) -> GridNoise:
    """The information of n reports of a wave over the cells of a grid."""
    return GridNoise(shape, n * information(transition))


def octaves(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The number of the block of each cosine coefficient: one octave along each axis; block 0 is the mean alone."""
    blocks: NDArray[np.int64] = np.zeros(1, np.int64)
    for size in shape:
        own = np.array([0, *(1 + int(math.log2(place)) for place in range(1, size))])
        blocks = np.add.outer(blocks * (size.bit_length() + 1), own).reshape(*blocks.shape, size)
    return blocks.reshape(shape)


def precisions(shares: Floats, noise: GridNoise, *, least: float) -> Floats:
    """The inverse variance of each cosine coefficient of a first fit, at most that of `least` of the noise."""
    squares, blocks = dctn(shares.reshape(noise.shape), norm="ortho") ** 2, octaves(noise.shape)
    floor, inverse = noise.spectrum(), np.zeros(noise.shape)
    for block in np.unique(blocks):
        held = blocks == block
        if held.ravel()[0]:
            continue  # the sum of all shares is known
        inverse[held] = 1 / max(float(squares[held].mean()), least * float(floor[held].mean()))
    return inverse


def fitted(values: Floats, noise: GridNoise, inverse: Floats, start: Floats, steps: int) -> Floats:
    """The non-negative shares of least distance from the unbiased ones and from the prior."""
    goal = noise.times(values)

    def times(shares: Floats) -> Floats:
        smooth = idctn(inverse * dctn(shares.reshape(noise.shape), norm="ortho"), norm="ortho")
        return np.asarray(noise.times(shares) + smooth.ravel(), np.float64)

    length = 1 / (1.05 * _largest(times, noise.cells))
    best, ahead, momentum = start, start, 1.0
    for _ in range(steps):
        moved = simplex(ahead - length * (times(ahead) - goal))
        following = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        if float((ahead - moved) @ (moved - best)) > 0:  # the last step went too far
            following, ahead = 1.0, moved
        else:
            ahead = moved + (momentum - 1) / following * (moved - best)
        best, momentum = moved, following
    return best


def _largest(times: Operator, cells: int) -> float:
    """The largest eigenvalue among changes of shares that sum to zero, by power iteration."""
    vector, size = np.random.default_rng(_SEED).normal(size=cells), 1.0
    for _ in range(30):
        moved = times(vector - vector.mean())
        moved -= moved.mean()
        size = float(np.linalg.norm(moved))
        vector = moved / size
    return size
