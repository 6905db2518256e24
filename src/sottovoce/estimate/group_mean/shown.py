"""The law of an estimate given that its group is shown.

A group is shown if its estimated size N exceeds a threshold c. Given that, N is biased upward, and estimates that are
correlated with N are biased as well. Let X = (N - true size) / error, and Z be a score of correlation r to N. For
normal noise Z has mean r X and variance 1 - r**2 given X, and X has a normal law cut at start = (c - true size) /
error. Only the true size is unknown. The law of Z is the average over all true sizes, in proportion to the likelihood
of N given N > c, times a weight: a power of the variance of X given X > start. The power is chosen such that tests
reject about as often as they should, for every true size.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri_exp

from sottovoce.estimate.evidence import Floats

BEYOND = 6.0  # errors above the threshold from which on the selection has no effect
POWER = 1.0  # of the weight of true sizes
_RAREST = 4.5  # errors of the threshold above the smallest true size that counts
_REACH = 8.0  # errors of N that are tried
_CLOSEST = 1 - 1e-6  # of correlations to one
_FARTHEST = 1e6  # scores beyond which every hypothesis is rejected
_TINY = 1e-280  # chances below which a sum of floats is not accurate
_points, _weights = np.polynomial.legendre.leggauss(36)


def log_weight(start: Floats) -> Floats:
    """The logarithm of the weight of the true size that is `start` errors below the threshold."""
    mills = np.exp(-(start**2) / 2 - log_ndtr(-start)) / np.sqrt(2 * np.pi)
    return np.asarray(POWER * np.log(1 + start * mills - mills**2))


def plausible_errors(margin: Floats) -> tuple[Floats, Floats]:
    """Values of X for sizes these errors above the threshold, along a last axis, and logarithms of their chances."""
    high = np.minimum(_RAREST + margin, _REACH)[..., None]
    x = -_REACH + (high + _REACH) * (_points + 1) / 2
    start = x - margin[..., None]
    parts = np.log(_weights) - x**2 / 2 - log_ndtr(-start) + log_weight(start)
    return x, parts - _log_sum(parts)[..., None]


def score_given_shown(score: Floats, correlation: Floats, margin: Floats) -> Floats:
    """The standard normal scores with the tails that these have, for sizes at these errors above the threshold.

    The last axis is that of the sizes.
    """
    near = np.flatnonzero(margin < BEYOND)
    x, chances = plausible_errors(margin[near])
    r = np.clip(correlation[..., near], -_CLOSEST, _CLOSEST)
    scores, clipped = score.copy(), np.clip(score[..., near], -_FARTHEST, _FARTHEST)
    side = np.where(clipped < r * (np.exp(chances) * x).sum(axis=-1), -1.0, 1.0)
    steep = side / np.sqrt(1 - r**2)
    distance = (steep * r)[..., None] * x - (steep * clipped)[..., None]
    tail = (ndtr(distance) * np.exp(chances)).sum(axis=-1)
    far = tail < _TINY  # logarithms of terms are slow, and needed only here
    logs = np.log(np.where(far, 1.0, tail))
    logs[far] = _log_sum(np.broadcast_to(chances, distance.shape)[far] + log_ndtr(distance[far]))
    scores[..., near] = np.where(clipped == score[..., near], -side * ndtri_exp(logs), score[..., near])
    return scores


def margin_of(size: Floats, error: Floats, least: Floats) -> Floats:
    """Errors by which the estimated size exceeds the threshold, or infinity if the selection has no effect."""
    margin = (size - least) / np.where(error > 0, error, 1.0)
    return np.where((error > 0) & (margin > 0) & (margin < BEYOND), margin, np.inf)


def _log_sum(parts: Floats) -> Floats:
    """The logarithm of the sum of exponentials along the last axis; much faster than `logaddexp.reduce`."""
    most = parts.max(axis=-1)
    return np.asarray(most + np.log(np.exp(parts - most[..., None]).sum(axis=-1)))
