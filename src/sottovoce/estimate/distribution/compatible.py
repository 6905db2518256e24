"""Limits of what every distribution that is compatible with the reports gives, by linear programs.

Averages of neighbouring cumulative shares are known within a few of their own standard errors, all at once, whatever
the number of neighbours. A distribution is compatible with the reports if it lies within all of these limits. Its
shares are not negative, which no linear estimate uses. So, where single cumulative shares are poorly known, as through
a square wave, the least and the largest one over all compatible distributions are nearer to each other than the limits
of the share itself. They hold all at once, with the level of the limits.

A number that is rounded to a grid has a law of its own at each point of the grid. There the points of the grid, rather
than the buckets, bear the distribution, so that it makes no difference where answers lie inside a bucket.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy  # loads its parts at their first use

from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.distribution.reach import reach
from sottovoce.estimate.distribution.readings.decode import linear_decode
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.request import Target
from sottovoce.tally.laws import law_row

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint

    from sottovoce.estimate.distribution.base import DistributionEvidence

LONGEST = 4  # the longest averages are over this part of all edges
TOLERANCE = 1e-7  # of linear programs: limits are given so much room
_ROOM = 1 + 1e-7  # by which limits are widened, for the tolerance of linear programs


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The compatible distributions: shares of points, for which `rows` times the shares are within the limits."""

    rows: Floats
    low: Floats
    high: Floats
    per_bucket: int | None  # steps of the grid in each bucket; None if the buckets are the points

    def least(self, weights: Floats) -> float:
        """The smallest share of a set of buckets, whose weights are one and those of all others zero."""
        return max(0.0, self._solve(self._on_points(weights, np.minimum)) - TOLERANCE)

    def largest(self, weights: Floats) -> float:
        """The largest share of a set of buckets, whose weights are one and those of all others zero."""
        return min(1.0, TOLERANCE - self._solve(-self._on_points(weights, np.maximum)))

    def _on_points(self, weights: Floats, either: np.ufunc) -> Floats:
        """The weights of the points. Those who are rounded to an edge may lie in either of the two buckets."""
        if self.per_bucket is None:
            return weights
        steps = np.repeat(weights, self.per_bucket)
        return np.concatenate([steps[:1], either(steps[:-1], steps[1:]), steps[-1:]])

    def _solve(self, weights: Floats) -> float:
        limits = scipy.optimize.LinearConstraint(self.rows, self.low, self.high)
        return _program(weights, limits, np.ones(len(weights)))[0]

    def curve(self, buckets: int) -> tuple[Floats, Floats]:
        """The smallest and the largest cumulative share at each edge inside."""
        sets = np.tri(buckets - 1, buckets)
        return np.array([self.least(one) for one in sets]), np.array([self.largest(one) for one in sets])

    def edges(self, buckets: int, part: float) -> tuple[int, int]:
        """The first edges at which the largest and the smallest cumulative share reach a part; both rise."""
        sets, inside = np.tri(buckets - 1, buckets), range(buckets - 1)
        first = bisect_left(inside, part, key=lambda edge: self.largest(sets[edge]))
        last = bisect_left(inside, part, key=lambda edge: self.least(sets[edge]))
        return first + 1, last + 1


def shares(
    source: DistributionEvidence, inner: Floats, outer: Floats, level: float, target: Target
) -> tuple[Floats, Floats]:
    """Limits of the shares of sets of buckets: the least of those inside, and the largest of those that are touched."""
    within = region(source, level, target)
    return np.array([*map(within.least, inner)]), np.array([*map(within.largest, outer)])


def quantiles(
    source: DistributionEvidence, parts: Sequence[float], level: float, target: Target
) -> tuple[Floats, Floats]:
    """Limits of quantiles: the ends of the buckets in which the limits of the cumulative shares reach these parts."""
    within, buckets = region(source, level, target), source.buckets
    first, last = np.array([within.edges(len(buckets), part) for part in parts]).T
    return buckets.least_answers[first - 1], buckets.largest_answers[last - 1]


def averages(edges: int) -> Floats:
    """One row for each average of 1, 2, 4, ... neighbours, which begin every quarter of their number."""
    rows, length = [], 1
    while length == 1 or length <= edges // LONGEST:
        for start in range(0, edges - length + 1, max(1, length // 4)):
            row = np.zeros(edges)
            row[start : start + length] = 1 / length
            rows.append(row)
        length *= 2
    return np.array(rows)


def region(source: DistributionEvidence, level: float, target: Target, seed: int = 0) -> Region:
    """The distributions that are compatible with the reports; the true one is among them with this probability.

    If there is none, the limits are widened, all by the same factor, until there is one.
    """
    likely, per_bucket = source.likely_shares(), None
    rows, values, half = known_averages(source, level, target, seed)
    if rows.shape[1] > len(likely):
        per_bucket = (rows.shape[1] - 1) // len(likely)
        steps = np.repeat(likely / per_bucket, per_bucket) / 2
        likely = np.append(steps, 0.0) + np.append(0.0, steps)
    if (np.abs(rows @ likely - values) > half).any():  # else the likely distribution is a compatible one
        half = half * _widening(rows, values, half)
    return Region(rows, values - half, values + half, per_bucket)


def known_averages(
    source: DistributionEvidence, level: float, target: Target, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Averages of cumulative shares as weights of points, their unbiased values, and how far off all may be at once."""
    d = len(source.buckets)
    curve, means = source.fitted(np.tri(d - 1, d), target), averages(d - 1)
    errors = np.sqrt(np.maximum(((means @ curve.covariance) * means).sum(axis=1), 0))
    half = reach(curve.covariance, level, seed, means) * errors
    return _on_the_grid(source.channel, d), means @ curve.values, half


@lru_cache(maxsize=4)
def _on_the_grid(channel: Channel, buckets: int) -> Floats:
    """What each point adds to the expected averages: each point of the grid of numbers, else each bucket."""
    weights = averages(buckets - 1) @ np.tri(buckets - 1, buckets)
    grid = rounding_of(channel)
    if grid is None:
        return weights
    law = np.array([law_row(channel, point) for point in range(grid.steps + 1)])
    return np.asarray(linear_decode(channel, buckets).scores(weights) @ law.T)


def _widening(rows: Floats, values: Floats, half: Floats) -> float:
    """The least factor, at least one, of the limits within which there is a distribution."""
    size, sides = rows.shape[1], [np.column_stack([rows, sign * half]) for sign in (1, -1)]
    limits = [
        scipy.optimize.LinearConstraint(sides[0], lb=values),
        scipy.optimize.LinearConstraint(sides[1], ub=values),
    ]
    one = np.append(np.ones(size), 0.0)
    return _program(1 - one, limits, one, np.append(np.zeros(size), 1.0))[1] * _ROOM


def _program(
    cost: Floats, limits: LinearConstraint | list[LinearConstraint], total: Floats, least: Floats | None = None
) -> tuple[float, float]:
    """The least cost, and the last variable there, of numbers within the limits; those in `total` sum to one.

    A program without whole numbers; this way limits have two sides, which takes half of the time.
    """
    every = [
        *(limits if isinstance(limits, list) else [limits]),
        scipy.optimize.LinearConstraint(total.reshape(1, -1), 1, 1),
    ]
    bounds = scipy.optimize.Bounds(np.zeros(len(cost)) if least is None else least, np.inf)
    solution = scipy.optimize.milp(cost, constraints=every, bounds=bounds)
    if solution.status != 0:
        # The simplex method gives up where many limits hold at once, a method of interior points does not.
        solution = _by_interior_points(cost, every, bounds)
    if solution.status != 0:
        raise ParameterError("The limits of compatible distributions were not found.")
    return float(solution.fun), float(solution.x[-1])


def _by_interior_points(cost: Floats, every: list[LinearConstraint], bounds: Any) -> Any:
    *sides, total = every
    above = [(side.A, side.ub) for side in sides if np.isfinite(side.ub).all()]
    above += [(-side.A, -side.lb) for side in sides if np.isfinite(side.lb).all()]
    return scipy.optimize.linprog(
        cost,
        A_ub=np.vstack([rows for rows, _ in above]),
        b_ub=np.concatenate([most for _, most in above]),
        A_eq=total.A,
        b_eq=total.lb,
        bounds=np.column_stack([bounds.lb, np.full(len(cost), np.inf)]),
        method="highs-ipm",
    )
