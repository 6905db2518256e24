"""Ratios of two estimates, such as a sum and a size: Fieller's interval, the delta method, and when neither holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.estimate.evidence import Bounds, deviate

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
TOLD = 0.95  # the level at which the lower estimate must differ from zero for a ratio to be shown
CANNOT_BE_TOLD = "cannot be told"


@dataclass(frozen=True, slots=True, eq=False)
class Ratios:
    """top / bottom, with the variances of both and their covariance."""

    top: Floats
    bottom: Floats
    top_variance: Floats
    mixed: Floats
    bottom_variance: Floats
    enough: Flags | None = None  # where reports are enough for a normal approximation

    def told(self, level: float = TOLD) -> Flags:
        """Where the lower estimate is significantly above zero; else any ratio at all may be true."""
        above = self.bottom > deviate(level) * np.sqrt(self.bottom_variance)
        return np.asarray(above if self.enough is None else above & self.enough)

    def values(self) -> Floats:
        """The ratios; NaN where they cannot be told."""
        return np.where(self.told(), self.top / self._divisor, np.nan)

    @property
    def _divisor(self) -> Floats:
        """The lower estimate; where it is zero nothing is told, so any other number will do."""
        return np.where(self.bottom == 0, 1.0, self.bottom)

    def residual(self, ratio: Floats) -> Floats:
        """The variance of top - ratio * bottom."""
        found = self.top_variance - 2 * ratio * self.mixed + ratio**2 * self.bottom_variance
        return np.maximum(found, 0.0)

    def variances(self) -> Floats:
        """By the delta method: of the linear part of the ratio."""
        return np.asarray(self.residual(self.values()) / self._divisor**2)

    def variances_at_truth(self) -> Floats:
        """The same where top and bottom are no estimates but known: nothing is left untold."""
        return np.asarray(self.residual(self.top / self.bottom) / self.bottom**2)

    def delta(self, level: float) -> Bounds:
        """The ratio plus and minus a normal quantile of its standard error; the whole line where it cannot be told."""
        half = deviate(level) * np.sqrt(self.variances())
        return self._or_all(self.values() - half, self.values() + half, self.told())

    def fieller(self, level: float) -> Bounds:
        """All ratios m for which top - m * bottom is not significantly different from zero (Fieller 1954).

        That is a quadratic inequality in m, whose solutions are bounded only where the lower estimate itself is
        significantly different from zero.
        """
        square = deviate(level) ** 2
        a = self.bottom**2 - square * self.bottom_variance
        b = self.top * self.bottom - square * self.mixed
        c = self.top**2 - square * self.top_variance
        bounded = (a > 0) & (self.bottom > 0)
        safe = np.where(bounded, a, 1.0)
        root = np.sqrt(np.maximum(b**2 - safe * c, 0.0))
        return self._or_all((b - root) / safe, (b + root) / safe, bounded & self.told())

    def _or_all(self, low: Floats, high: Floats, told: Flags) -> Bounds:
        return Bounds(np.where(told, low, -np.inf), np.where(told, high, np.inf))
