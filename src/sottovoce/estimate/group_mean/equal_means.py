"""Tests about means of groups that hold for uncertain group sizes, and the intervals that invert them.

If group g has the mean m, its sum less m times its size has the mean zero, for any size. So the hypothesis that
two means differ by d is tested by the least statistic over all pairs of means (m, m - d), with the variances at these
means; that all means are equal, by the least over one common mean (Anderson, Rubin 1949). The interval of a difference
holds the d that are not rejected: for a single group this is Fieller's interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import scipy  # loads its parts at their first use
from scipy.special import chdtrc

from sottovoce.estimate.evidence import Bounds, Floats, Ints
from sottovoce.estimate.group_mean.law import Blocks
from sottovoce.estimate.group_mean.ratio import Ratios

FIRST, AGAIN, ROUNDS = 33, 17, 5  # means that are tried: all over their reach, then ever closer to the best
TRIED = 8  # differences to either side of zero at which a test is inverted
AT_ONCE = 1 << 10  # pairs, to bound the memory
_STEPS = 28  # of a bisection
_CLOSEST = 1 - 1e-9  # of correlations to one


def least_over(function: Callable[[Floats], Floats], reach: tuple[float, float], shape: tuple[int, ...]) -> Floats:
    """The least values of functions of one number within its reach, one function for each place of the shape.

    First at places all over the reach, then ever closer to the best of these.
    """
    centre, half = np.full(shape, (reach[0] + reach[1]) / 2), (reach[1] - reach[0]) / 2
    best = np.full(shape, np.inf)
    for points in (FIRST, *[AGAIN] * ROUNDS):
        places = centre + np.linspace(-half, half, points).reshape(-1, *[1] * len(shape))
        values = function(places)
        place = values.argmin(axis=0)[None]
        best = np.minimum(best, np.take_along_axis(values, place, axis=0)[0])
        centre = np.take_along_axis(places, place, axis=0)[0]
        half *= 2 / (points - 1)
    return best


@dataclass(frozen=True, slots=True, eq=False)
class PairTests:
    """Tests of the differences of pairs of means that are shown."""

    first: Ratios
    second: Ratios
    joint: tuple[Floats, ...]  # covariances: size with size, size with sum, sum with size, sum with sum
    _known: dict[bytes, tuple[Floats, Floats, Ints]] = field(default_factory=dict, repr=False)  # what was tried before

    @classmethod
    def of(cls, ratios: Ratios, blocks: Blocks, rows: Ints, columns: Ints) -> PairTests:
        """The tests of pairs of groups that are shown."""
        return cls(ratios.part(rows), ratios.part(columns), blocks.at(rows, columns))

    @property
    def limit(self) -> float:
        """The largest possible difference."""
        low, high = self.first.rule.limits
        return high - low

    def squared_scores(self, one: Floats, two: Floats) -> Floats:
        """Squared scores of the hypotheses that the means of each pair, along the last axis, are `one` and `two`."""
        first, second = self.first.residual(one), self.second.residual(two)
        x = self.first.scores(one, self.first.margins, first)
        y = self.second.scores(two, self.second.margins, second)
        sizes, right, left, sums = self.joint
        mixed = sums - one * right - two * left + one * two * sizes
        r = np.clip(mixed / np.sqrt(np.maximum(first * second, np.finfo(float).tiny)), -_CLOSEST, _CLOSEST)
        return np.asarray((x**2 + y**2 - 2 * r * x * y) / (1 - r**2))

    def statistics(self, differences: Floats) -> Floats:
        """The least squared score of means with this difference."""
        return least_over(
            lambda one: self.squared_scores(one, one - differences), self.first.rule.reach, differences.shape
        )

    def p_values_at(self, differences: Floats) -> Floats:
        """P-values of the hypotheses that the means have these differences."""
        return np.asarray(chdtrc(1, self.statistics(differences)))

    def _tried(self, values: Floats) -> tuple[Floats, Floats, Ints]:
        """Differences in rising order, zero and the estimates among them; their p-values; and the largest of these."""
        if (key := values.tobytes()) in self._known:  # p-values and intervals try the same differences
            return self._known[key]
        ends = np.where(np.abs(values) < self.limit, self.limit, 3 * self.limit)
        grid = np.arange(-TRIED, TRIED + 1)[:, None] / TRIED * ends
        tried = np.sort(np.vstack([grid, values]), axis=0)
        chances = self.p_values_at(tried)
        self._known[key] = tried, chances, chances.argmax(axis=0)
        return self._known[key]

    def p_values(self, values: Floats) -> Floats:
        """P-values of the hypotheses of no difference: the least 1 - level whose interval leaves out zero.

        The p-value is the largest of those at and beyond zero: so a test and an interval agree even if the set of
        differences that are not rejected has a gap.
        """
        return np.concatenate([part._p_values(value) for part, value in self._with(values)] or [np.empty(0)])

    def _p_values(self, values: Floats) -> Floats:
        tried, chances, best = self._tried(values)
        centre = np.take_along_axis(tried, best[None], axis=0)[0]
        beyond = np.where(centre > 0, tried <= 0, tried >= 0)
        return np.asarray(np.where(beyond, chances, 0.0).max(axis=0))

    def intervals(self, values: Floats, level: float) -> Bounds:
        """From the least to the largest difference that is not rejected, within the possible differences."""
        ends = [part._intervals(value, 1 - level) for part, value in self._with(values)] or [np.empty((2, 0))]
        return Bounds(*np.concatenate(ends, axis=1))

    def _with(self, values: Floats) -> Iterator[tuple[PairTests, Floats]]:
        """Blocks of tests with their values."""
        if len(values) <= AT_ONCE:
            yield self, values
            return
        for begin in range(0, len(values), AT_ONCE):
            places = np.arange(begin, min(begin + AT_ONCE, len(values)))
            joint = tuple(entries[places] for entries in self.joint)
            yield PairTests(self.first.part(places), self.second.part(places), joint), values[places]

    def _intervals(self, values: Floats, alpha: float) -> Floats:
        tried, chances, best = self._tried(values)
        kept = chances >= alpha
        np.put_along_axis(kept, best[None], True, axis=0)  # never empty
        last = len(tried) - 1
        place = np.stack([kept.argmax(axis=0), last - kept[::-1].argmax(axis=0)])
        inner = np.take_along_axis(tried, place, axis=0)
        outer = np.take_along_axis(tried, np.clip(place + np.array([[-1], [1]]), 0, last), axis=0)
        for _ in range(_STEPS):
            middle = (inner + outer) / 2
            inside = self.p_values_at(middle) >= alpha
            inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
        return inner


def equality_statistic(ratios: Ratios, spread: Floats, reach: tuple[float, float]) -> float:
    """The least squared distance of all sums from a common mean times their sizes.

    `spread` is the covariance of all sizes, then all sums.
    """
    count = len(ratios.top)
    size, mixed, total = spread[:count, :count], spread[:count, count:], spread[count:, count:]

    def at(mean: float) -> float:
        away = ratios.top - mean * ratios.bottom
        return float(away @ np.linalg.solve(total - mean * (mixed + mixed.T) + mean**2 * size, away))

    # Each group's own mean is a starting point.
    means, step = np.linspace(*reach, 4 * FIRST, retstep=True)
    rough = ((ratios.top - means[:, None] * ratios.bottom) ** 2 / ratios.residual(means[:, None])).sum(axis=1)
    best = float(means[rough.argmin()])
    ends = max(reach[0], best - 4 * step), min(reach[1], best + 4 * step)
    options = {"xatol": 1e-7 * (reach[1] - reach[0])}
    return float(scipy.optimize.minimize_scalar(at, bounds=ends, method="bounded", options=options).fun)
