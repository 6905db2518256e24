"""Populations whose distribution is known exactly: numbers in [0, 1], and whole numbers."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.domain import Domain, Integers, Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.distribution.buckets import Buckets, coded_buckets
from sottovoce.tally.laws import law_row

Floats = NDArray[np.float64]
# Spikes and where they stand: one heavy, some light, on an even floor.
SPIKES = ((0.2013, 0.3), (0.4987, 0.2), (0.7511, 0.1), (0.9003, 0.1))
WHOLE = "whole"  # whole numbers, with the shares of the parts of [0, 1] of the spiky population
_FINE = 200_001


def domain_of(crowd: str, buckets: int) -> Domain:
    """What a participant answers."""
    return Integers(0, buckets - 1) if crowd == WHOLE else Interval(0, 1)


@lru_cache(maxsize=4)
def truth(crowd: str) -> tuple[Floats, Floats]:
    """The cumulative distribution on a fine grid."""
    grid = np.linspace(0, 1, _FINE)
    if crowd == "smooth":
        from scipy.stats import beta

        return grid, np.asarray(beta.cdf(grid, 5, 2))
    floor = 1 - sum(weight for _, weight in SPIKES)
    return grid, floor * grid + sum(weight * (grid >= place) for place, weight in SPIKES)


def heights_at(crowd: str, buckets: Buckets, edges: Floats) -> Floats:
    """The cumulative shares below these places on the axis of the buckets."""
    first, last = buckets.edges[0], buckets.edges[-1]
    return np.asarray(np.interp((edges - first) / (last - first), *truth(crowd)))


def moments(crowd: str, buckets: int = 1) -> tuple[float, float]:
    """Mean and variance of the population."""
    if crowd == WHOLE:
        shares, values = np.diff(np.interp(np.linspace(0, 1, buckets + 1), *truth(crowd))), np.arange(buckets)
        mean = float(shares @ values)
        return mean, float(shares @ (values - mean) ** 2)
    if crowd == "smooth":
        return 5 / 7, 10 / (49 * 8)
    floor = 1 - sum(weight for _, weight in SPIKES)
    mean = floor / 2 + sum(weight * place for place, weight in SPIKES)
    return mean, floor / 3 + sum(weight * place**2 for place, weight in SPIKES) - mean**2


def integral(crowd: str, points: Floats) -> Floats:
    """Of the cumulative distribution, from 0 on."""
    if crowd == "smooth":
        from scipy.stats import beta

        return np.asarray(points * beta.cdf(points, 5, 2) - 5 / 7 * beta.cdf(points, 6, 2))
    floor = 1 - sum(weight for _, weight in SPIKES)
    return np.asarray(floor * points**2 / 2 + sum(weight * np.maximum(points - place, 0) for place, weight in SPIKES))


def quantile(crowd: str, share: float, buckets: int = 1) -> float:
    """The smallest value up to which this share lies."""
    grid, heights = truth(crowd)
    if crowd == WHOLE:
        upto = np.interp(np.arange(1, buckets + 1) / buckets, grid, heights)
        return float(np.searchsorted(upto, share - 1e-12))
    return float(grid[np.searchsorted(heights, share - 1e-12)])


@lru_cache(maxsize=32)
def shares_of(method: Mechanism, crowd: str) -> Floats:
    """The shares of the codes, or of the points of the grid that numbers are rounded to."""
    grid = rounding_of(method.channel)
    if grid is None:
        buckets = coded_buckets(method.domain)
        return np.diff(heights_at(crowd, buckets, buckets.edges))
    # A number is rounded to one of its two neighbours: the share of a point is the mean of a hat around it.
    below = integral(crowd, np.linspace(0, 1, grid.steps + 1)) * grid.steps
    return np.diff(np.concatenate([[0.0], np.diff(below), [1.0]]))


@lru_cache(maxsize=32)
def law(method: Mechanism, crowd: str) -> tuple[Floats, Floats]:
    """These shares, and the law of a report of somebody of the population."""
    shares = shares_of(method, crowd)
    rates = shares @ np.array([law_row(method.channel, code) for code in range(len(shares))])
    return shares, rates / rates.sum()
