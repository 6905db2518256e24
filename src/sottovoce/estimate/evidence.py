"""What a tally says about each code, by the shape of the channel's law.

Three shapes for shares: *supports* (a count per code with two rates), *contrasts* (support minus the rest of the
code's group), and a general *matrix* of a finite channel; a fourth, for a mean, is in `estimate.mean`. Each gives
unbiased values, variances for both targets, and says which intervals it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from sottovoce.core import late
from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import NoIntervalError, ParameterError
from sottovoce.estimate.binomials import Ints, exact_held

Floats = NDArray[np.float64]
POOR_BELOW = 30  # expected supporting (or missing) reports under which the normal interval is poor
_NUISANCE = 0.1  # share of the error probability spent on the second of two steps of an exact contrast


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

    def normal(self, level: float, target: str) -> Bounds:
        """The estimate plus and minus a normal quantile of its standard error."""
        half = deviate(level) * np.sqrt(self.variances(target))
        values = self.values()
        return Bounds(values - half, values + half)


class Shares(Evidence):
    """What is known of the share of each code."""

    methods: ClassVar[tuple[str, ...]] = ("exact", "wilson", "normal")
    default: ClassVar[str] = "exact"
    __slots__ = ()

    @abstractmethod
    def exact(self, level: float, target: str) -> Bounds:
        """Intervals whose coverage is at least the level for every n."""

    @abstractmethod
    def wilson(self, level: float) -> Bounds:
        """Score intervals for the population."""

    def interval(self, level: float, method: str, target: str) -> Bounds:
        if method == "wilson" and target == "sample":
            raise ParameterError("The Wilson interval is about the population; for the sample ask for 'exact'.")
        if method == "exact":
            return self.exact(level, target)
        return self.wilson(level) if method == "wilson" else self.normal(level, target)

    def labels(self, domain: Domain) -> Sequence[object]:
        return domain.labels()

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def project(self, name: str) -> Floats:
        projected: Floats = late.load("estimate.project:project")(name, self)
        return projected

    def warning(self) -> str | None:
        poor = self.normal_is_poor()
        if not poor.any():
            return None
        return (
            f"The normal interval is poor for {int(poor.sum())} of {len(poor)} values: too few reports are expected"
            " on one side. The exact interval holds."
        )


@dataclass(frozen=True, slots=True)
class Supports(Shares):
    """counts[v] of n reports support v: with rate `own` those of its holders, with `other` all the rest."""

    counts: Ints
    n: int
    own: Any  # a float, or one per code
    other: Any

    def _map(self, support: Floats) -> Floats:
        return np.asarray((support - self.other) / (self.own - self.other))

    def values(self) -> Floats:
        return self._map(self.counts / self.n)

    def variances(self, target: str) -> Floats:
        support = self.counts / self.n
        if target == "population":
            each = support * (1 - support)
        else:
            shares = np.clip(self._map(support), 0, 1)
            each = shares * self.own * (1 - self.own) + (1 - shares) * self.other * (1 - self.other)
        return np.asarray(each / self.n / (self.own - self.other) ** 2)

    def exact(self, level: float, target: str) -> Bounds:
        if target == "population":
            low, high = clopper_pearson(self.counts, self.n, level)
            return Bounds(self._map(low), self._map(high))
        if np.ndim(self.own) == 0:
            n = np.full(len(self.counts), self.n, np.int64)
            left, right = exact_held(self.counts, n, float(self.own), float(self.other), level)
        else:
            each = [
                exact_held(self.counts[v : v + 1], np.array([self.n]), float(p), float(q), level)
                for v, (p, q) in enumerate(zip(self.own, self.other, strict=True))
            ]
            left, right = (np.concatenate(side) for side in zip(*each, strict=True))
        return Bounds(left / self.n, right / self.n)

    def wilson(self, level: float) -> Bounds:
        low, high = wilson_score(self.counts, self.n, level)
        return Bounds(self._map(low), self._map(high))

    def normal_is_poor(self) -> NDArray[np.bool_]:
        poor = self.n * np.minimum(self.other, 1 - np.asarray(self.own)) < POOR_BELOW
        return np.broadcast_to(poor, self.counts.shape)


@dataclass(frozen=True, slots=True)
class Contrasts(Shares):
    """Of n reports, hits[v] fall into the group of v and plus[v] of these support v (`core.channel.Contrast`)."""

    plus: Ints
    hits: Ints
    n: int
    hit_own: float
    plus_own: float

    @property
    def slope(self) -> float:
        return 2 * self.plus_own - self.hit_own

    def values(self) -> Floats:
        return np.asarray((2 * self.plus - self.hits) / (self.n * self.slope))

    def variances(self, target: str) -> Floats:
        # The score is +1, 0 or -1, so its second moment is the hit rate; its mean given the code is `slope` for
        # holders and 0 for all others.
        shares = self.values()
        mean_square = shares**2 if target == "population" else np.clip(shares, 0, 1)
        each = np.maximum(self.hits / self.n - self.slope**2 * mean_square, 0)
        return np.asarray(each / self.n / self.slope**2)

    def exact(self, level: float, target: str) -> Bounds:
        first = 1 - (1 - level) * (1 - _NUISANCE)
        second = 1 - (1 - level) * _NUISANCE
        return self._population(first, second) if target == "population" else self._sample(first, second)

    def _population(self, first: float, second: float) -> Bounds:
        """plus | hits is binomial with rate 1/2 + slope f / (2 hit rate): limits for both rates, multiplied."""
        low, high = clopper_pearson(self.plus, self.hits, first)
        rate_low, rate_high = clopper_pearson(self.hits, self.n, second)
        down, up = 2 * low - 1, 2 * high - 1
        left = down * np.where(down < 0, rate_high, rate_low)
        right = up * np.where(up < 0, rate_low, rate_high)
        return Bounds(left / self.slope, right / self.slope)

    def _sample(self, first: float, second: float) -> Bounds:
        """Given the hits, those by holders are plus with rate plus_own/hit_own and the others with 1/2; this
        bounds the number of hits by holders, which is binomial in the number of holders."""
        low, high = exact_held(self.plus, self.hits, self.plus_own / self.hit_own, 0.5, first)
        n = np.full(len(low), self.n, np.int64)
        left, _ = exact_held(low, n, self.hit_own, 0.0, second)
        _, right = exact_held(high, n, self.hit_own, 0.0, second)
        return Bounds(left / self.n, right / self.n)

    def wilson(self, level: float) -> Bounds:
        """The score interval: (mean score - s)**2 = z**2 (hit rate - s**2) / n, solved for s = slope f."""
        z = deviate(level)
        total = 2 * self.plus - self.hits
        # The hit rate is itself estimated; adding z**2 / 2 hits keeps it from being taken too small.
        hits = (self.hits + z**2 / 2) / (self.n + z**2)
        centre = total / (self.n + z**2)
        half = z * np.sqrt(np.maximum(hits * (self.n + z**2) - total**2 / self.n, 0)) / (self.n + z**2)
        return Bounds((centre - half) / self.slope, (centre + half) / self.slope)

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.asarray(self.hits < 2 * POOR_BELOW)


@dataclass(frozen=True, slots=True, eq=False)
class Matrix(Shares):
    """Cells of a finite channel without supports; `inverse` maps output shares to unbiased code shares."""

    cells: Ints
    n: int
    inverse: Floats

    def values(self) -> Floats:
        return np.asarray(self.inverse @ (self.cells / self.n))

    def variances(self, target: str) -> Floats:
        values = self.values()
        second = self.inverse**2 @ (self.cells / self.n)
        first = values**2 if target == "population" else np.clip(values, 0, 1)
        return np.asarray(np.maximum(second - first, 0) / self.n)

    def exact(self, level: float, target: str) -> Bounds:
        raise NoIntervalError("A general table has no exact interval for its shares; ask for method='normal'.")

    def wilson(self, level: float) -> Bounds:
        raise NoIntervalError("A general table has no Wilson interval for its shares; ask for method='normal'.")

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.full(len(self.inverse), self.cells[self.inverse.any(axis=0)].min() < POOR_BELOW)


def deviate(level: float) -> float:
    """The two-sided normal quantile of a level."""
    return float(-ndtri((1 - level) / 2))


def clopper_pearson(counts: Any, n: Any, level: float) -> tuple[Floats, Floats]:
    """Exact limits for a binomial rate; [0, 1] where there are no trials."""
    counts, n = np.broadcast_arrays(np.asarray(counts, float), np.asarray(n, float))
    alpha = (1 - level) / 2
    low = np.where(counts > 0, betaincinv(np.maximum(counts, 1), n - np.minimum(counts, n) + 1, alpha), 0.0)
    high = np.where(counts < n, betaincinv(counts + 1, np.maximum(n - counts, 1), 1 - alpha), 1.0)
    return low, high


def wilson_score(counts: Any, n: Any, level: float) -> tuple[Floats, Floats]:
    """Limits for a binomial rate that invert the score test."""
    z = deviate(level)
    rate = np.asarray(counts) / n
    centre = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    return centre - half, centre + half
