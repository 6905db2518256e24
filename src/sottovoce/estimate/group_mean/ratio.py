"""Ratios of two estimates, such as a sum and a size: Fieller's interval, the delta method, and when neither holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sottovoce.estimate.evidence import Bounds, Flags, Floats, deviate
from sottovoce.estimate.group_mean.shown import margin_of, score_given_shown

LEVEL = 0.95  # at which the lower estimate must differ from zero for a ratio to be shown
NOT_ESTIMABLE = "is not estimable"
SHORT = 0.7  # of the range: the longest interval of a ratio that is shown
LEAST_ERRORS = 3.5  # of a lower estimate above zero
_STEPS = 28  # of a bisection


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """Which ratios are shown: those whose lower estimate exceeds a threshold, if no other rule excludes them."""

    least: Floats
    flags: Flags
    limits: tuple[float, float]  # the possible range of a ratio

    @property
    def reach(self) -> tuple[float, float]:
        """Ratios that are tried: the limits, and their distance to either side."""
        low, high = self.limits
        return 2 * low - high, 2 * high - low


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """top / bottom, with the variances of both and their covariance."""

    top: Floats
    bottom: Floats
    top_variance: Floats
    mixed: Floats
    bottom_variance: Floats
    shown: Shown | None = None  # by a rule whose effect on intervals and tests is taken into account

    @property
    def estimable(self) -> Flags:
        """Whether a ratio is shown: by the rule, or without one if the lower estimate is significantly above zero."""
        if self.shown is not None:
            return self.shown.flags
        return np.asarray(self.bottom > deviate(LEVEL) * np.sqrt(self.bottom_variance))

    def values(self) -> Floats:
        """The ratios; NaN if they are not estimable."""
        return np.where(self.estimable, self.top / self._divisor, np.nan)

    @property
    def _divisor(self) -> Floats:
        """The lower estimate; one in place of zero, whose ratio is not shown."""
        return np.where(self.bottom == 0, 1.0, self.bottom)

    def residual(self, ratio: Floats) -> Floats:
        """The variance of top - ratio * bottom."""
        return np.maximum(self.top_variance - 2 * ratio * self.mixed + ratio**2 * self.bottom_variance, 0.0)

    def variances(self) -> Floats:
        """Variances by the delta method: those of the linear part of the ratio."""
        return np.asarray(self.residual(self.values()) / self._divisor**2)

    def variances_at_truth(self) -> Floats:
        """Variances by the delta method where top and bottom are the true ones."""
        return np.asarray(self.residual(self.top / self.bottom) / self.bottom**2)

    def delta(self, level: float) -> Bounds:
        """The ratio plus and minus a normal quantile of its standard error; the whole line if it is not shown."""
        half = deviate(level) * np.sqrt(self.variances())
        return self._or_all(self.values() - half, self.values() + half, self.estimable)

    @property
    def rule(self) -> Shown:
        """The rule by which ratios are shown."""
        if self.shown is None:
            raise TypeError("These ratios have no limits.")
        return self.shown

    @property
    def margins(self) -> Floats:
        """Errors of each lower estimate above its threshold; infinite if the selection has no effect."""
        if self.shown is None:
            return np.full(len(self.bottom), np.inf)
        return margin_of(self.bottom, np.sqrt(self.bottom_variance), self.shown.least)

    def scores(self, ratio: Floats, margins: Floats, residual: Floats | None = None) -> Floats:
        """Standard normal scores of the hypothesis that the ratios are these, given that they are shown.

        `residual` is that of the ratios, where it is known already.
        """
        error = np.sqrt(np.maximum(self.residual(ratio) if residual is None else residual, np.finfo(float).tiny))
        score = (self.top - ratio * self.bottom) / error
        if not np.isfinite(margins).any():
            return np.asarray(score)
        spread = np.where(self.bottom_variance > 0, self.bottom_variance, 1.0)
        correlation = (self.mixed - ratio * self.bottom_variance) / (error * np.sqrt(spread))
        return score_given_shown(score, correlation, margins)

    def fieller(self, level: float) -> Bounds:
        """All ratios m for which top - m * bottom is not significantly different from zero (Fieller 1954).

        That is a quadratic inequality in m, whose solutions are bounded only if the lower estimate itself is
        significantly different from zero. Near the threshold the score is the one given that the ratio is shown.
        """
        square = deviate(level) ** 2
        a = self.bottom**2 - square * self.bottom_variance
        b = self.top * self.bottom - square * self.mixed
        c = self.top**2 - square * self.top_variance
        bounded = (a > 0) & (self.bottom > 0)
        safe = np.where(bounded, a, 1.0)
        root = np.sqrt(np.maximum(b**2 - safe * c, 0.0))
        low, high = (b - root) / safe, (b + root) / safe
        margins = self.margins
        near = np.flatnonzero(bounded & self.estimable & np.isfinite(margins))
        if self.shown is not None and len(near):
            low[near], high[near] = self.part(near)._given_shown(deviate(level), margins[near])
            bounded = bounded & np.isfinite(low)
        return self._or_all(low, high, bounded & self.estimable)

    def part(self, places: NDArray[np.int64]) -> Ratios:
        """Some of the ratios."""
        shown = self.shown
        if shown is not None:
            shown = Shown(shown.least[places], shown.flags[places], shown.limits)
        top, bottom, mixed = self.top[places], self.bottom[places], self.mixed[places]
        return Ratios(top, bottom, self.top_variance[places], mixed, self.bottom_variance[places], shown)

    def _given_shown(self, deviation: float, margins: Floats) -> Bounds:
        """Where the score crosses the deviation; infinite if it does not near the possible ratios."""
        side = np.array([[1.0], [-1.0]])  # scores fall as the ratio rises
        low, high = (np.full((2, len(self.top)), end) for end in self.rule.reach)
        open_end = ~(side * self.scores(np.where(side > 0, low, high), margins) > deviation).all(axis=0)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            right = self.scores(middle, margins) > side * deviation
            low, high = np.where(right, middle, low), np.where(right, high, middle)
        return Bounds(np.where(open_end, -np.inf, low[0]), np.where(open_end, np.inf, high[1]))

    def _or_all(self, low: Floats, high: Floats, shown: Flags) -> Bounds:
        return Bounds(np.where(shown, low, -np.inf), np.where(shown, high, np.inf))


def shown_by_size(ratios: Ratios, limits: tuple[float, float], floor: Floats) -> Shown:
    """The rule: the lower estimate exceeds `least_sizes` and the floor.

    A ratio whose interval is nevertheless as long as the limits is not shown either.
    """
    least = np.maximum(least_sizes(ratios, limits), floor)
    shown = Shown(least, ratios.bottom > least, limits)
    low, high = replace(ratios, shown=shown).fieller(LEVEL)
    return Shown(least, shown.flags & (high - low < limits[1] - limits[0]), limits)


def least_sizes(ratios: Ratios, limits: tuple[float, float]) -> Floats:
    """The lower estimate from which on Fieller's interval is shorter than 0.7 of the limits, for any ratio there.

    The threshold depends on the variances only, so that the rule is one about the lower estimate alone.
    """
    x, length = deviate(LEVEL) ** 2, SHORT * (limits[1] - limits[0])
    size, sums = ratios.bottom_variance, ratios.top_variance
    worst = np.maximum(ratios.residual(np.asarray(limits[0])), ratios.residual(np.asarray(limits[1])))
    rest = np.maximum(sums * size - ratios.mixed**2, 0.0)
    # (length (u - x size))**2 = 4 x (worst u - x rest), solved for u, the square of the lower estimate.
    a = length**2
    b = 2 * length**2 * x * size + 4 * x * worst
    c = length**2 * x**2 * size**2 + 4 * x**2 * rest
    square = (b + np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))) / (2 * a)
    return np.asarray(np.maximum(np.sqrt(square), LEAST_ERRORS * np.sqrt(size)))
