"""What a tally says about each code, by the shape of the channel's law.

Three shapes for shares: *supports* (a count per code with two rates), *contrasts* (support minus the rest of the
code's group), and a general *matrix* of a finite channel; a fourth, for a mean, is in `estimate.mean`. Each gives
unbiased values, variances for both targets, and says which intervals it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri

from sottovoce.core import late
from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import NoIntervalError, ParameterError
from sottovoce.estimate.shares.binomials import Ints, exact_held
from sottovoce.estimate.shares.misses import normal_excess, score_excess, wilson_excess
from sottovoce.estimate.shares.score_sums import drift_limits, held_limits

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


class Shares(Evidence):
    """What is known of the share of each code.

    Standard errors are those of the law at the nearest share in [0, 1], so that a code without any support has one too.
    """

    methods: ClassVar[tuple[str, ...]] = ("exact", "wilson", "normal", "bounded")
    default: ClassVar[str] = "exact"
    __slots__ = ()

    @abstractmethod
    def exact(self, level: float, target: str) -> Bounds:
        """Intervals whose coverage is at least the level for every n."""

    @abstractmethod
    def wilson(self, level: float) -> Bounds:
        """Score intervals for the population."""

    @abstractmethod
    def excess(self, method: str, level: float) -> Floats:
        """How many times as often as promised the Wilson or normal interval of each code may miss."""

    @abstractmethod
    def moved(self) -> tuple[Self, Self]:
        """The same evidence with estimates below 0 raised to 0, and with those above 1 lowered to 1."""

    def interval(self, level: float, method: str, target: str) -> Bounds:
        if method == "bounded":
            return self.inside(level, "exact", target)
        if method == "wilson" and target == "sample":
            raise ParameterError("The Wilson interval is about the population; for the sample ask for 'exact'.")
        if method == "exact":
            return self.exact(level, target)
        return self.wilson(level) if method == "wilson" else self.normal(level, target)

    def inside(self, level: float, method: str, target: str) -> Bounds:
        """Intervals in [0, 1] that are never empty and contain the estimate, moved into [0, 1].

        The upper end is that of an estimate of at least 0, the lower end that of one of at most 1. Both ends rise with
        the estimate, so the interval contains all shares of the one that is not moved, and covers as often or oftener.
        """
        if method == "bounded":
            method = "exact"
        raised, lowered = self.moved()
        nearest = np.clip(self.values(), 0, 1)
        low, high = (
            lowered.interval(level, method, target).low,
            raised.interval(level, method, target).high,
        )
        return Bounds(np.minimum(np.clip(low, 0, 1), nearest), np.maximum(np.clip(high, 0, 1), nearest))

    def labels(self, domain: Domain) -> Sequence[object]:
        return domain.labels()

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, 1.0

    def project(self, name: str) -> Floats:
        projected: Floats = late.load("estimate.shares.project:project")(name, self)
        return projected

    def warning(self) -> str | None:
        poor = self.normal_is_poor()
        if not poor.any():
            return None
        return (
            f"The normal interval is poor for {int(poor.sum())} of {len(poor)} values: too few reports are expected"
            " on one side. The exact interval holds."
        )

    def doubt(self, method: str, level: float) -> str | None:
        if method not in ("wilson", "normal"):
            return None
        excess = self.excess(method, level)
        poor = excess > MOST_EXCESS
        if not poor.any():
            return self.warning() if method == "normal" else None
        name = "Wilson" if method == "wilson" else method
        return (
            f"The {name} interval of level {level:.8g} is poor for {int(poor.sum())} of {len(poor)} values: too few"
            f" reports are expected on one side, and it may miss {excess.max():,.1f} times as often as promised."
            " The exact interval holds."
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
        shares = np.clip(self.values(), 0, 1)
        if target == "population":
            support = self.other + shares * (self.own - self.other)
            each = support * (1 - support)
        else:
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

    def moved(self) -> tuple[Supports, Supports]:
        least = np.ceil(self.n * np.asarray(self.other)).astype(np.int64)
        most = np.floor(self.n * np.asarray(self.own)).astype(np.int64)
        return (
            replace(self, counts=np.maximum(self.counts, least)),
            replace(self, counts=np.minimum(self.counts, most)),
        )

    def excess(self, method: str, level: float) -> Floats:
        find = wilson_excess if method == "wilson" else normal_excess
        rates = np.atleast_2d(np.stack(np.broadcast_arrays(self.own, self.other), axis=-1))
        pairs, places = np.unique(rates, axis=0, return_inverse=True)
        found = np.array([find(self.n, own, other, level) for own, other in pairs])
        return np.broadcast_to(found[places.ravel()], self.counts.shape)

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

    @property
    def hit_other(self) -> float:
        """A group's outputs outside the set of a holder's code are as likely as all others, and as many as its set."""
        return 2 * (self.hit_own - self.plus_own)

    def _totals(self) -> Ints:
        return np.asarray(2 * self.plus - self.hits)

    def values(self) -> Floats:
        return np.asarray(self._totals() / (self.n * self.slope))

    def variances(self, target: str) -> Floats:
        # The score is +1, 0 or -1, so its second moment is the hit rate; its mean given the code is `slope` for
        # holders and 0 for all others. A group is hit at least as often as by the holders of the code and by chance.
        shares = np.clip(self.values(), 0, 1)
        rates = np.clip(self.hits / self.n, self.hit_other + shares * (self.hit_own - self.hit_other), self.hit_own)
        each = rates - self.slope**2 * (shares**2 if target == "population" else shares)
        return np.asarray(each / self.n / self.slope**2)

    def exact(self, level: float, target: str) -> Bounds:
        """The joint law of scores and hits, inverted (`estimate.score_sums`)."""
        totals = self._totals()
        if target == "sample":
            first, last = held_limits(totals, self.hits, self.n, (self.hit_own, self.hit_other), level)
            return Bounds(first / self.n, last / self.n)
        low, high = drift_limits(totals, self.hits, self.n, (self.hit_other, self.hit_own), level)
        means = totals / self.n  # a few reports may score more than any hit rate allows on average
        return Bounds(np.minimum(low, means) / self.slope, np.maximum(high, means) / self.slope)

    def wilson(self, level: float) -> Bounds:
        """The score interval: (mean score - s)**2 = z**2 (hit rate - s**2) / n, solved for s = slope f."""
        z = deviate(level)
        total = self._totals()
        # The hit rate is itself estimated; adding z**2 / 2 hits keeps it from being taken too small.
        hits = (self.hits + z**2 / 2) / (self.n + z**2)
        centre = total / (self.n + z**2)
        half = z * np.sqrt(np.maximum(hits * (self.n + z**2) - total**2 / self.n, 0)) / (self.n + z**2)
        return Bounds((centre - half) / self.slope, (centre + half) / self.slope)

    def moved(self) -> tuple[Contrasts, Contrasts]:
        least = (self.hits + 1) // 2
        most = np.minimum((np.floor(self.n * self.slope).astype(np.int64) + self.hits) // 2, self.hits)
        return replace(self, plus=np.maximum(self.plus, least)), replace(self, plus=np.minimum(self.plus, most))

    def excess(self, method: str, level: float) -> Floats:
        kinds, places = np.unique(self.hits, return_inverse=True)
        rates = np.clip(kinds / self.n, self.hit_other, self.hit_own)
        hit_rates = (self.hit_own, self.hit_other)
        return np.array([score_excess(self.n, rate, hit_rates, level) for rate in rates])[places.ravel()]

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.asarray(self.hits < 2 * POOR_BELOW)


@dataclass(frozen=True, slots=True, eq=False)
class Matrix(Shares):
    """Cells of a finite channel without supports; `inverse` maps output shares to unbiased code shares."""

    cells: Ints
    n: int
    inverse: Floats
    law: Floats  # one row for each code

    def values(self) -> Floats:
        return np.asarray(self.inverse @ (self.cells / self.n))

    def variances(self, target: str) -> Floats:
        values = self.values()
        first = values**2 if target == "population" else np.clip(values, 0, 1)
        each = self.inverse**2 @ (self.cells / self.n) - first
        # The outputs that speak for a code may all be missing. Then those of the nearest shares stand in for them.
        nearest = np.clip(self.project("simplex"), 0, 1)
        stand_in = self.inverse**2 @ (nearest @ self.law) - (nearest**2 if target == "population" else nearest)
        return np.asarray(np.where(each > 1e-12 * stand_in, each, stand_in) / self.n)

    def inside(self, level: float, method: str, target: str) -> Bounds:
        """The estimate moved into [0, 1], plus and minus as much as without moving it."""
        low, high = self.interval(level, "exact" if method == "bounded" else method, target)
        move = np.clip(self.values(), 0, 1) - self.values()
        return Bounds(np.clip(low + np.minimum(move, 0), 0, 1), np.clip(high + np.maximum(move, 0), 0, 1))

    def moved(self) -> tuple[Matrix, Matrix]:
        raise NoIntervalError("A general table has no bounded interval for its shares; ask for method='normal'.")

    def exact(self, level: float, target: str) -> Bounds:
        raise NoIntervalError("A general table has no exact interval for its shares; ask for method='normal'.")

    def wilson(self, level: float) -> Bounds:
        raise NoIntervalError("A general table has no Wilson interval for its shares; ask for method='normal'.")

    def excess(self, method: str, level: float) -> Floats:
        return np.zeros(len(self.inverse))

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
