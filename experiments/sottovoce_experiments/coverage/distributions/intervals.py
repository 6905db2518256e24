"""Intervals of the means, variances, cumulative shares and quantiles of many tallies at once, and what warns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.question import Mean
from sottovoce.estimate.distribution.moments import square_readings
from sottovoce.estimate.distribution.quantiles.invert import best_window, intervals, value_of
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import deviate, slack_deviate
from sottovoce.estimate.variance.errors import reach
from sottovoce_experiments.coverage.declared.distributions import QUANTILE_RUNS
from sottovoce_experiments.coverage.distributions.many import ManyCounts, ManyTallies
from sottovoce_experiments.coverage.study import LEVEL

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


KINDS = ("mean", "variance", "cdf", "quantile")


class Intervals(NamedTuple):
    """Limits, and whether they come with a warning: one row for each tally, one column for each interval."""

    low: Floats
    high: Floats
    warned: Flags

    def one_column(self) -> Intervals:
        """One interval of each tally, as a column."""
        return Intervals(self.low[:, None], self.high[:, None], self.warned[:, None])

    def all_alike(self, warned: bool) -> Intervals:
        """The same intervals, all of them with a warning, or none."""
        return self._replace(warned=np.full(self.low.shape, warned))


def asked(found: Estimate, places: Sequence[float], parts: Sequence[str]) -> tuple[Estimate, ...]:
    """The answers that are judged, of one estimate, in the order of `KINDS`."""
    return found.mean(), found.variance(), found.cdf(list(places)), found.quantile(list(parts))


def one_by_one(found: Estimate, places: Sequence[float], parts: Sequence[str]) -> dict[str, Intervals]:
    """The intervals of one estimate, as everybody gets them."""
    every = (
        Intervals(*one.quiet_ci(LEVEL), np.full(len(one.values), one.doubt(LEVEL) is not None))
        for one in asked(found, places, parts)
    )
    return dict(zip(KINDS, every, strict=True))


def together(many: ManyTallies, first: Estimate, places: Sequence[float], parts: Sequence[str]) -> dict[str, Intervals]:
    """The intervals of all tallies, of quantiles those of the first ones; `first` is the estimate from one of them."""
    mean, variance = _moments(many)
    of_mean, _, of_shares, of_quantiles = (one.doubt(LEVEL) is not None for one in asked(first, places, parts))
    every = (
        mean.all_alike(of_mean),  # a warning that depends on the mechanism and the number of reports alone
        variance,
        _cumulative(many, places).all_alike(of_shares),
        _quantiles(many, parts).all_alike(of_quantiles),
    )
    return dict(zip(KINDS, every, strict=True))


def _around(values: Floats, half: Floats) -> Intervals:
    return Intervals(values - half, values + half, np.zeros(values.shape, bool))


def _cumulative(many: ManyTallies, places: Sequence[float]) -> Intervals:
    buckets = many.buckets
    inner, outer = (
        _around(many.values(rows), deviate(LEVEL) * np.sqrt(many.spreads(rows)))
        for rows in (np.array([find(None, place) for place in places]) for find in (buckets.sure, buckets.touched))
    )
    rows = np.array([buckets.between(None, place) for place in places])
    if np.abs(rows - np.rint(rows)).max() > 1e-9:
        raise ValueError("Cumulative shares are judged at edges of buckets.")
    return Intervals(np.minimum(inner.low, outer.low), np.maximum(inner.high, outer.high), inner.warned)


def _quantiles(many: ManyTallies, parts: Sequence[str]) -> Intervals:
    """One after the other, of the first tallies: each has windows of its own."""
    inside = many.heights[:QUANTILE_RUNS]
    ends = np.zeros((len(inside), 1))
    heights = np.hstack([ends, inside, ends + 1])
    wanted = [float(part) for part in parts]
    each = [
        intervals(many.buckets, curve, partial(_own_spreads, many, run), wanted, LEVEL)
        for run, curve in enumerate(heights)
    ]
    low, high = np.array([pair[0] for pair in each]), np.array([pair[1] for pair in each])
    values = np.array([_quantile_values(many, run, curve, wanted) for run, curve in enumerate(heights)])
    return Intervals(np.minimum(low, values), np.maximum(high, values), np.zeros(low.shape, bool))


def _quantile_values(many: ManyTallies, run: int, curve: Floats, parts: Sequence[float]) -> list[float]:
    windows = [best_window(curve, partial(_own_spreads, many, run), part, LEVEL) for part in parts]
    return [value_of(many.buckets, curve, window, part) for window, part in zip(windows, parts, strict=True)]


def _own_spreads(many: ManyTallies, run: int, rows: Floats) -> Floats:
    return np.asarray(many.spreads(rows, slice(run, run + 1))[0])


def _moments(many: ManyTallies) -> tuple[Intervals, Intervals]:
    """Of each tally the mean and the mean squared distance from the middle of the domain, then the variance."""
    low, high = (float(end) for end in (many.buckets.domain.low, many.buckets.domain.high))  # type: ignore[attr-defined]
    centre, n, room = (low + high) / 2, many.n, many.buckets.room
    read = _wave_readings(many, centre)
    if read is None:
        weights = np.array([many.buckets.numbers() - centre, many.buckets.squares(centre)])
        values, covariance = many.functional(weights)
        each, error = covariance * n * n / (n - 1), np.sqrt(np.maximum(covariance[:, 0, 0], 0))
        half = slack_deviate(LEVEL, room, error) if room else deviate(LEVEL) * error
    else:
        (values, each), room = read, 0.0
        half = deviate(LEVEL) * np.sqrt(each[:, 0, 0] / n)
    away, square, number = values[:, 0], values[:, 1], each[:, 0, 0]
    slack = 2 * np.sqrt(np.maximum(0, square - away**2)) * room + room**2
    found, size = square - away**2 + number / n, deviate(LEVEL)
    far = reach(number / n, each[:, 1, 1] / n, each[:, 0, 1] / n, away, size)
    down, up = (slack_deviate(LEVEL, slack, one / size) for one in far)
    spread = Intervals(found - down, found + up, found + up < 0)
    return _around(centre + away, half).one_column(), spread.one_column()


def _wave_readings(many: ManyTallies, centre: float) -> tuple[Floats, Floats] | None:
    """The readings of rounded numbers, without buckets: means, and the sample covariance of one report."""
    if not isinstance(many, ManyCounts):
        return None
    if many.evidence.read_as_numbers(Mean(many.method.question.domain)) is None:
        return None
    scores = np.array(square_readings(many.method, centre))
    rates, n = many.cells / many.n, many.n
    values = rates @ scores.T
    products = np.stack([rates @ (scores * one).T for one in scores], axis=1)
    return values, (products - values[:, :, None] * values[:, None, :]) * n / (n - 1)
