"""Intervals of quantiles, from averages of neighbouring cumulative shares.

The cumulative share at one edge may be known poorly while an average of some neighbours is known well: the errors of a
square wave alternate from edge to edge. Cumulative shares rise, so if the average over the edges i to j is below a
level, the level is reached at edge i or later, and if it is not below, it is reached at edge j or before. That holds
wherever answers lie. A wide window has a small error, and adds its own width to the interval: the window is the one
with the least width to expect. Where answers are spread evenly over the window, its middle estimates the quantile, and
nothing is added (`even`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sottovoce.estimate.distribution.buckets import Buckets, made_rising
from sottovoce.estimate.evidence import Floats, deviate, slack_deviate

Spreads = Callable[[Floats], Floats]  # variances of sums of the shares of buckets, with one row of weights for each
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)  # of windows, in edges
WIDEST = 4  # a window has at most this part of all edges
SMOOTH = 8  # the density is read from averages over this part of all edges
FAR = 3.0  # standard errors of a quantile read the density this far out: nearer it has an error of its own
PLACES = 513  # of windows at which errors are computed; those of windows between them are interpolated
MOST_WEIGHTS = 1 << 23  # of all these windows


class EdgeWindow(NamedTuple):
    """How many neighbouring edges are averaged for a quantile, and what to expect, in numbers of edges."""

    width: int
    place: float  # where the quantile is, about
    error: float  # standard error of the average
    half: float  # by which the quantile may be off at the level that was asked for
    far: float  # by which it may be off at FAR standard errors of the average
    inside: float  # share of the answers that lie within the window

    def reach(self, even: bool) -> float:
        """Half of the width of the interval."""
        return self.half + (0 if even else self.width / 2)


def best_window(heights: Floats, spreads: Spreads, part: float, level: float, *, even: bool = False) -> EdgeWindow:
    """The window with the least width to expect of the interval of a quantile."""
    d = len(heights) - 1
    smooth = max(1, d // SMOOTH)
    places, curve = averages(made_rising(heights), smooth)
    curve = np.maximum.accumulate(curve) + 1e-12 * np.arange(len(curve))
    place = float(np.interp(part, curve, places))
    widths = [width for width in WIDTHS if width <= max(1, d // WIDEST)]
    # A window beyond the ends has known heights only, and no error. Near an end, that of the last window inside counts.
    last_edges = [min(max(round(place + (width + 1) / 2), width + 1), max(width + 1, d)) for width in widths]
    rows = np.vstack([_rows(d, width, np.array([window])) for width, window in zip(widths, last_edges, strict=True)])
    errors = np.sqrt(np.maximum(spreads(rows), 0))
    away = np.linspace(0, d, 8 * d + 1)
    gaps = np.interp(place + away, places, curve) - np.interp(place - away, places, curve)
    windows = []
    for width, error in zip(widths, errors, strict=True):
        reached = np.searchsorted(gaps, 2 * np.array([deviate(level), FAR]) * error)
        half, far = away[np.minimum(reached, len(away) - 1)].tolist()
        inside = float(np.interp(width / 2, away, gaps))
        windows.append(EdgeWindow(width, place, float(error), half, far, inside))
    fitting = [one for one in windows if not even or one.width <= max(1.0, 2 * one.half)]
    return min(fitting or windows[:1], key=lambda one: one.reach(even))


def interval_of(
    buckets: Buckets, heights: Floats, spreads: Spreads, part: float, level: float, *, even: bool = False
) -> tuple[float, float]:
    """The interval of the value up to which a part of the answers lies; `heights` are unbiased cumulative shares."""
    d, window = len(heights) - 1, best_window(heights, spreads, part, level, even=even)
    width, slack = window.width, window.inside / 2
    factor = deviate(level)
    if not even and window.error > 0:
        # Where the quantile lies in the window is one of both: beyond the window's ends errors have one side.
        both = float(np.asarray(slack_deviate(level, slack, np.array([window.error])))[0])
        factor = (both - slack) / window.error
    places, curve = averages(heights, width)
    curve, half = made_rising(curve), factor * _errors(d, width, len(curve), spreads)
    first = int(np.flatnonzero(curve + half >= part - 1e-12)[0])
    last = int(np.flatnonzero(curve - half < part)[-1])
    if not even:
        # The window before `first` begins at the edge first - 1 - width, the one after `last` ends at the edge last.
        low, high = max(first - 1 - width, 0), min(last, d)
        return float(buckets.least_answers[min(low, d - 1)]), float(buckets.largest_answers[max(high - 1, 0)])
    low_at = _crossing(curve + half, places, first, part)
    high_at = _crossing(curve - half, places, last + 1, part)
    return tuple(buckets.at_place(float(np.clip(at, 0, d))) for at in (low_at, high_at))  # type: ignore[return-value]


def value_of(buckets: Buckets, heights: Floats, window: EdgeWindow, part: float) -> float:
    """The quantile of the averaged curve: the value at which it reaches a part of the answers."""
    places, curve = averages(heights, window.width)
    curve = made_rising(curve)
    reached = int(np.flatnonzero(curve >= part - 1e-12)[0])  # the last windows hold ones only
    return buckets.at_place(float(np.clip(_crossing(curve, places, reached, part), 0, len(heights) - 1)))


def averages(heights: Floats, width: int) -> tuple[Floats, Floats]:
    """The averages of so many neighbouring heights, with zeros before and ones behind, and the middles of the windows.

    EdgeWindow k has the edges from k - width to k - 1.
    """
    sums = np.concatenate([[0.0], np.cumsum(np.concatenate([np.zeros(width), heights, np.ones(width)]))])
    means = (sums[width:] - sums[:-width]) / width
    return np.asarray(np.arange(len(means)) - (width + 1) / 2, np.float64), np.asarray(means)


def _rows(d: int, width: int, windows: NDArray[np.int64]) -> Floats:
    """The averages of windows as weights of the shares of d buckets, without edges where heights are known."""
    first, last = np.maximum(windows - width, 1), np.minimum(windows - 1, d - 1)
    most = np.maximum(last - first + 1, 0)
    return np.asarray(np.clip(last[:, None] - np.arange(d), 0, most[:, None]) / width)


def _errors(d: int, width: int, windows: int, spreads: Spreads) -> Floats:
    chosen = np.unique(np.linspace(0, windows - 1, min(windows, PLACES, MOST_WEIGHTS // d)).astype(int))
    errors = np.sqrt(np.maximum(spreads(_rows(d, width, chosen)), 0))
    return np.asarray(np.interp(np.arange(windows), chosen, errors))


def _crossing(curve: Floats, places: Floats, after: int, part: float) -> float:
    """Where a curve crosses a level, between two windows."""
    before = max(after - 1, 0)
    after = min(after, len(curve) - 1)
    rise = curve[after] - curve[before]
    share = (part - curve[before]) / rise if rise > 0 else 1.0
    return float(places[before] + np.clip(share, 0, 1) * (places[after] - places[before]))


def intervals(
    buckets: Buckets, heights: Floats, spreads: Spreads, parts: Sequence[float], level: float, *, even: bool = False
) -> tuple[Floats, Floats]:
    """The intervals of several quantiles."""
    each = [interval_of(buckets, heights, spreads, part, level, even=even) for part in parts]
    return np.array([low for low, _ in each]), np.array([high for _, high in each])


def standard_error(buckets: Buckets, heights: Floats, spreads: Spreads, window: EdgeWindow, part: float) -> float:
    """The standard error of a quantile: the larger of two, since each is too small where the other one is right.

    The error of the averaged cumulative share over the density within FAR standard errors is steady: read from fewer
    answers, it differs several times over between equal crowds. Where answers are heaped the estimate jumps from heap
    to heap. That is the standard deviation of its law: it is at most a value as often as the share up to it reaches
    the part.
    """
    d = len(buckets)
    low, high = _values(buckets, np.array([window.place - window.far, window.place + window.far]))
    places, curve = averages(heights, window.width)
    curve = made_rising(curve)
    errors = np.maximum(_errors(d, window.width, len(curve), spreads), 1e-12)
    reached = np.maximum.accumulate(ndtr((curve - part) / errors))
    chances = np.diff(reached, prepend=0.0)  # the last windows hold ones only, so that these sum to one
    values = _values(buckets, places - 0.5)
    spread = chances @ (values - chances @ values) ** 2
    return max(float(high - low) / (2 * FAR), float(np.sqrt(spread)))


def _values(buckets: Buckets, places: Floats) -> Floats:
    """The numbers at places among the edges."""
    return np.interp(np.clip(places, 0, len(buckets)), np.arange(len(buckets) + 1), buckets.edges)
