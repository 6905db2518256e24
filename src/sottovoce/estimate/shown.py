"""The law of an estimate given that its group is shown.

A group is shown where its estimated size N exceeds a threshold c. Given that, N is too high, and what is correlated
with N is off as well. With normal noise the law given N > c is known: N has a truncated normal law; a score Z of
correlation r to N has the mixture, over X = (N - true size) / error > start, of normal laws with mean r X and variance
1 - r**2. Only `start` = (c - true size) / error is unknown; it is taken a little below where N is the median of its
truncated law.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtri_exp

Floats = NDArray[np.float64]
RAREST = 2.326  # errors of the threshold above the true size: a group is shown in at least 1 % of all studies
FAR = -4.0  # errors of the threshold below the size from which on being shown says nothing more
BEYOND = 6.0  # errors above the threshold where even a size well below the estimate is far from it
_STEPS = 32  # of a bisection
_BELOW = float(np.log(0.4))  # chance of a larger estimate at the size that is assumed: somewhat below the median
_CLOSEST = 1 - 1e-6  # of correlations to one
_points, _weights = np.polynomial.legendre.leggauss(24)
# Quantiles of X from the top, by a cubic scale: the far tail decides where p-values are small.
_LOG_TAILS = 3 * np.log((_points + 1) / 2)
_LOG_WEIGHTS = np.log(3 * _weights / 2 * ((_points + 1) / 2) ** 2)


def log_tail(score: Floats, correlation: Floats, start: Floats) -> Floats:
    """The logarithm of P(Z > score | X > start) for standard normal Z and X of this correlation."""
    r = np.clip(correlation, -_CLOSEST, _CLOSEST)[..., None]
    x = -ndtri_exp(_LOG_TAILS + log_ndtr(-start)[..., None])
    parts = _LOG_WEIGHTS + log_ndtr((r * x - score[..., None]) / np.sqrt(1 - r**2))
    return np.asarray(np.minimum(np.logaddexp.reduce(parts, axis=-1), -1e-300))


def score_given_shown(score: Floats, correlation: Floats, start: Floats) -> Floats:
    """The standard normal score with the tail that this one has given X > start.

    Being shown makes scores likelier only on the side of the correlation. On the other side they stay as they are: the
    true size is uncertain, and a larger one would take back what is gained there.
    """
    side = np.where(correlation < 0, -1.0, 1.0)
    touched = (start > FAR) & (side * score > 0)
    tail = log_tail(*(np.abs(part[touched]) for part in (score, correlation)), start[touched])
    found = score.copy()
    found[touched] = side[touched] * np.where(tail < np.log(0.5), -ndtri_exp(tail), 0.0)
    return found


def size_given_shown(size: Floats, error: Floats, least: Floats, log_chance: float = _BELOW) -> Floats:
    """The true size at which an estimate this large or larger has the chance, given that it exceeds `least`.

    Where there is none above zero this is zero.
    """
    low, high = np.zeros_like(size), np.maximum(size, 0.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        chance = log_ndtr((middle - size) / error) - log_ndtr((middle - least) / error)
        low, high = np.where(chance < log_chance, middle, low), np.where(chance < log_chance, high, middle)
    return np.asarray(low)


def start_of(size: Floats, error: Floats, least: Floats) -> Floats:
    """Errors by which the threshold exceeds the true size, or -infinity where that is of no consequence."""
    start = np.full(len(size), -np.inf)
    near = np.flatnonzero((error > 0) & (size > least) & (size < least + BEYOND * error))
    if len(near):
        sizes, errors, threshold = size[near], error[near], least[near]
        found = np.minimum((threshold - size_given_shown(sizes, errors, threshold)) / errors, RAREST)
        start[near] = np.where(found > FAR, found, -np.inf)
    return start
