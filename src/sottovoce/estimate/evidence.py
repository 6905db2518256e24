"""What a tally says about each code, by the shape of the channel's law.

Three shapes for shares: *supports* (a count per code with two rates), *contrasts* (support minus the rest of the
code's group), and a general *matrix* of a finite channel; a fourth, for a mean, is in `estimate.mean`. Each gives
unbiased values, variances for both targets, and says which intervals it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sottovoce.core.domain.base import Domain

Floats = NDArray[np.float64]
POOR_BELOW = 30  # expected supporting (or missing) reports under which the normal interval is poor
MOST_EXCESS = 4 / 3  # how many times as often as promised an interval may miss before it is called poor


class Bounds(NamedTuple):
    """Lower and upper ends, one pair per code."""

    low: Floats
    high: Floats


class Evidence(ABC):
    """The interface between tallies and estimates."""

    methods: ClassVar[tuple[str, ...]]  # of intervals
    default: ClassVar[str]
    n: int

    @abstractmethod
    def values(self) -> Floats:
        """Unbiased estimates."""

    @abstractmethod
    def variances(self, target: str) -> Floats:
        """Estimated variances of the values: privacy noise only ("sample"), or with sampling ("population")."""

    @abstractmethod
    def interval(self, level: float, method: str, target: str) -> Bounds:
        """The intervals of one of the methods."""

    @abstractmethod
    def labels(self, domain: Domain) -> Sequence[object]:
        """What the values are about."""

    @property
    @abstractmethod
    def limits(self) -> tuple[float, float]:
        """Between which numbers the truth lies."""

    @abstractmethod
    def project(self, name: str) -> Floats:
        """The projection of this name of the values."""

    @abstractmethod
    def normal_is_poor(self) -> NDArray[np.bool_]:
        """Values for which the normal approximation should not be trusted."""

    @abstractmethod
    def warning(self) -> str | None:
        """What is to be said of the normal interval, where it is poor."""

    def doubt(self, method: str, level: float) -> str | None:
        """What is to be said of the intervals of a method at a level, where they do not hold what they promise."""
        return self.warning() if method == "normal" else None

    def inside(self, level: float, method: str, target: str) -> Bounds:
        """Intervals where the truth can be, for a projected estimate."""
        return Bounds(*(np.clip(end, *self.limits) for end in self.interval(level, method, target)))

    def normal(self, level: float, target: str) -> Bounds:
        """The estimate plus and minus a normal quantile of its standard error."""
        half = deviate(level) * np.sqrt(self.variances(target))
        values = self.values()
        return Bounds(values - half, values + half)


def deviate(level: float) -> float:
    """The two-sided normal quantile of a level."""
    return float(-ndtri((1 - level) / 2))
