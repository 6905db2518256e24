"""Measure how far an estimated distribution is from a true one.

The arguments are estimates, or lists of shares of the same buckets. Where one is an estimate, errors of values are in
the units of its domain; two lists are over [0, 1]. Shares are taken as they are, also negative ones.

Reference: Li et al., "Estimating numerical distributions under local differential privacy", SIGMOD 2020, section 3.
Its discrete Wasserstein distance is the sum of the differences of cumulative shares, ours is their integral over the
domain, which does not grow with the number of buckets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.core.domain import Circle, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats

DECILES = tuple(part / 10 for part in range(1, 10))


def histogram(estimate: Estimate, answers: Any) -> Floats:
    """Compute the shares of known answers in the buckets of an estimate: the truth of a simulation.

    Args:
        estimate: An estimate of a distribution.
        answers: The true answers.

    Returns:
        One share for each bucket.

    Examples:
        >>> m = sv.mechanism("square-wave-discrete", sv.Interval(0, 12), epsilon=2, buckets=4)
        >>> sleep = m.estimate(m.tally(m.privatize([7, 8] * 500, seed=1)))
        >>> sv.metrics.histogram(sleep, [7, 8] * 500)
        array([0., 0., 1., 0.])
    """
    buckets = estimate._distribution.buckets
    named = len(answers) > 0 and isinstance(next(iter(answers)), str)
    places = np.array([buckets.place(answer) for answer in answers]) if named else np.asarray(answers, float)
    if isinstance(buckets.domain, Circle):
        places = places % (buckets.edges[-1] - buckets.edges[0])
    counts, _ = np.histogram(places, buckets.edges)
    if counts.sum() != len(places) or not len(places):
        raise ParameterError("A histogram needs at least one answer, and all of them inside the domain.")
    return np.asarray(counts / len(places))


def wasserstein(estimate: Any, truth: Any) -> float:
    """Compute the area between two cumulative distributions: how far answers must be moved, on average.

    Args:
        estimate: An estimate, or shares.
        truth: An estimate, or shares of the same buckets.

    Returns:
        The distance, in units of the domain.

    Examples:
        >>> sv.metrics.wasserstein([0.5, 0.5], [0.25, 0.75])
        0.125
    """
    buckets, difference = _difference(estimate, truth)
    return float(np.abs(np.cumsum(difference)) @ buckets.widths)


def kolmogorov_smirnov(estimate: Any, truth: Any) -> float:
    """Compute the largest difference of two cumulative distributions.

    Args:
        estimate: An estimate, or shares.
        truth: An estimate, or shares of the same buckets.

    Returns:
        A difference of shares, from 0 to 1 for shares that are non-negative.

    Examples:
        >>> sv.metrics.kolmogorov_smirnov([0.5, 0.5], [0.25, 0.75])
        0.25
    """
    _, difference = _difference(estimate, truth)
    return float(np.abs(np.cumsum(difference)).max())


def range_error(estimate: Any, truth: Any, part: float = 0.1) -> float:
    """Compute the mean error of the share of a range, over all ranges of one length.

    Args:
        estimate: An estimate, or shares.
        truth: An estimate, or shares of the same buckets.
        part: The length of a range, as a part of the domain.

    Returns:
        The mean absolute error of a share.

    Examples:
        >>> sv.metrics.range_error([0.5, 0.5], [0.25, 0.75], part=0.5)
        0.25
    """
    _, difference = _difference(estimate, truth)
    sums = np.concatenate([[0.0], np.cumsum(difference)])
    length = round(part * len(difference))
    if not 0 < length <= len(difference):
        raise ParameterError("A range must hold at least one bucket, and no more than there are.")
    return float(np.abs(sums[length:] - sums[:-length]).mean())


def quantile_error(estimate: Any, truth: Any, parts: tuple[float, ...] = DECILES) -> float:
    """Compute the mean error of quantiles, by default of the nine deciles.

    Args:
        estimate: An estimate, or shares.
        truth: An estimate, or shares of the same buckets.
        parts: The shares of the quantiles.

    Returns:
        The mean absolute error, in units of the domain.

    Examples:
        >>> round(sv.metrics.quantile_error([0.5, 0.5], [0.25, 0.75], parts=(0.5,)), 3)
        0.167
    """
    buckets, ours, true = _pair(estimate, truth)
    return float(np.mean([abs(buckets.quantile(ours, part) - buckets.quantile(true, part)) for part in parts]))


def mean_error(estimate: Any, truth: Any) -> float:
    """Compute the absolute error of the mean of a distribution.

    Args:
        estimate: An estimate, or shares.
        truth: An estimate, or shares of the same buckets.

    Returns:
        The error, in units of the domain.

    Examples:
        >>> sv.metrics.mean_error([0.5, 0.5], [0.25, 0.75])
        0.125
    """
    buckets, difference = _difference(estimate, truth)
    return float(abs(buckets.numbers() @ difference))


def variance_error(estimate: Any, truth: Any) -> float:
    """Compute the absolute error of the variance of a distribution.

    Args:
        estimate: An estimate, or shares.
        truth: An estimate, or shares of the same buckets.

    Returns:
        The error, in squared units of the domain.

    Examples:
        >>> round(sv.metrics.variance_error([0.5, 0.5], [0.25, 0.75]), 4)
        0.0156
    """
    buckets, ours, true = _pair(estimate, truth)
    ours_, true_ = (buckets.squares(float(buckets.numbers() @ shares)) @ shares for shares in (ours, true))
    return float(abs(ours_ - true_))


def _difference(estimate: Any, truth: Any) -> tuple[Buckets, Floats]:
    buckets, ours, true = _pair(estimate, truth)
    return buckets, ours - true


def _pair(estimate: Any, truth: Any) -> tuple[Buckets, Floats, Floats]:
    """The buckets, the estimated shares and the true ones."""
    known = [side._distribution.buckets for side in (estimate, truth) if isinstance(side, Estimate)]
    ours, true = (
        side.values if isinstance(side, Estimate) else np.asarray(side, dtype=np.float64) for side in (estimate, truth)
    )
    buckets = known[0] if known else Buckets(Interval(0, 1), np.linspace(0, 1, len(ours) + 1))
    same = all(np.array_equal(other.edges, buckets.edges) for other in known)
    if ours.shape != (len(buckets),) or true.shape != ours.shape or not same:
        raise ParameterError("Two distributions are compared where both have shares of the same buckets.")
    if buckets.circular:
        raise ParameterError("Values on a circle have no order, so they have no cumulative distribution to compare.")
    return buckets, ours, true
