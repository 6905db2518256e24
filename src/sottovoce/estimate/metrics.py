"""How far an estimated distribution is from a true one: distances, and errors of what is read from it.

Both are estimates or lists of shares of the same buckets. Where one is an estimate, errors of values are in the units
of its domain; two lists are over [0, 1]. Shares are taken as they are, also negative ones.

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
    """The shares of answers that lie in the buckets of an estimate: the truth in a simulation."""
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
    """The area between both cumulative distributions: how far answers must be moved, on average."""
    buckets, difference = _difference(estimate, truth)
    return float(np.abs(np.cumsum(difference)) @ buckets.widths)


def kolmogorov_smirnov(estimate: Any, truth: Any) -> float:
    """The largest difference of the cumulative distributions."""
    _, difference = _difference(estimate, truth)
    return float(np.abs(np.cumsum(difference)).max())


def range_error(estimate: Any, truth: Any, part: float = 0.1) -> float:
    """The mean error of the share of a range as long as this part of the domain, over all ranges of buckets."""
    _, difference = _difference(estimate, truth)
    sums = np.concatenate([[0.0], np.cumsum(difference)])
    length = round(part * len(difference))
    if not 0 < length <= len(difference):
        raise ParameterError("A range must hold at least one bucket, and no more than there are.")
    return float(np.abs(sums[length:] - sums[:-length]).mean())


def quantile_error(estimate: Any, truth: Any, parts: tuple[float, ...] = DECILES) -> float:
    """The mean error of the quantiles, by default of the nine deciles."""
    buckets, ours, true = _pair(estimate, truth)
    return float(np.mean([abs(buckets.quantile(ours, part) - buckets.quantile(true, part)) for part in parts]))


def mean_error(estimate: Any, truth: Any) -> float:
    """The error of the mean."""
    buckets, difference = _difference(estimate, truth)
    return float(abs(buckets.numbers() @ difference))


def variance_error(estimate: Any, truth: Any) -> float:
    """The error of the variance."""
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
