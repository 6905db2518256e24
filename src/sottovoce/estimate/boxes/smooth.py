"""Shares over a grid whose logarithms have a Gaussian prior.

Logarithms of shares are a sum of cosines, whose coefficients are independent and normal: smooth ones are large, rough
ones small. The fit is the posterior mode: it minimises the squared distance to the unbiased shares, in the metric of
their information, plus the squared coefficients over their variances. Shares are positive with sum one by construction,
and regions without answers cost little, because there a smooth logarithm only has to be low.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.fft import dctn, idctn
from scipy.optimize import minimize

from sottovoce.estimate.distribution.readings.shifts import information
from sottovoce.estimate.distribution.readings.transition import ShiftTransition
from sottovoce.estimate.evidence import Floats

MEMORY = 20  # steps that the quasi-Newton method remembers


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


def noise_of(transition: ShiftTransition, shape: tuple[int, ...], n: int) -> GridNoise:
    """The information of n reports of a wave over the cells of a grid."""
    return GridNoise(shape, n * information(transition))


def deviations(shape: tuple[int, ...], spread: float) -> Floats:
    """The standard deviation of each cosine coefficient: `spread` over the frequency, for one cell.

    The mean is left out: shares sum to one whatever it is.
    """
    squares = np.zeros(1)
    for size in shape:
        squares = np.add.outer(squares, np.arange(size) ** 2.0).reshape(*squares.shape, size)
    found = spread * np.sqrt(math.prod(shape) / (1 + squares.reshape(shape)))
    found.flat[0] = 0.0
    return np.asarray(found, np.float64)


def fitted(values: Floats, noise: GridNoise, spread: float, steps: int) -> Floats:
    """The shares of the posterior mode, after at most so many steps of a quasi-Newton method."""
    scales = deviations(noise.shape, spread)

    def shares(scaled: Floats) -> Floats:
        logarithms = idctn(scales * scaled.reshape(noise.shape), norm="ortho").ravel()
        raised = np.exp(logarithms - logarithms.max())
        return np.asarray(raised / raised.sum(), np.float64)

    def loss(scaled: Floats) -> tuple[float, Floats]:
        """The negative logarithm of the posterior density, and its gradient."""
        own = shares(scaled)
        apart = own - values
        pull = noise.times(apart)
        slopes = own * (pull - own @ pull)
        back = scales * dctn(slopes.reshape(noise.shape), norm="ortho")
        return float(apart @ pull + scaled @ scaled) / 2, back.ravel() + scaled

    start = np.zeros(noise.cells)
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": MEMORY})
    return shares(np.asarray(best.x, np.float64))
