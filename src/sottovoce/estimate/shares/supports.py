"""Shares from a count of supports for each code, with two rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Contributions, Counted, deviate
from sottovoce.estimate.shares.base import Curve, SupportCounts
from sottovoce.estimate.shares.combine import SharesOfTally
from sottovoce.estimate.shares.intervals.binomials import Ints, exact_held
from sottovoce.estimate.shares.intervals.misses import normal_excess, normal_sample_excess, wilson_excess

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SupportsEvidence(SharesOfTally):
    """counts[v] of n reports support v: with rate `own` those of its holders, with `other` all the rest."""

    counts: Ints
    n: int
    own: Any  # a float, or one per code
    other: Any
    counted: Counted | None = None

    def _map(self, support: Floats) -> Floats:
        return np.asarray((support - self.other) / (self.own - self.other))

    @property
    def supports(self) -> SupportCounts | None:  # type: ignore[override]
        return SupportCounts(self.counts, self.n, self.own, self.other) if np.ndim(self.own) == 0 else None

    def values(self) -> Floats:
        return self._map(self.counts / self.n)

    def curve(self, target: str) -> Curve:
        """r (1 - r) / (n (own - other)**2) at the rate r = other + f (own - other); for the sample, by participant."""
        own, other = np.asarray(self.own), np.asarray(self.other)
        slope = own - other
        scale = 1 / (self.n * slope**2)
        if target == "population":
            return Curve(scale * other * (1 - other), scale * slope * (1 - 2 * other), -scale * slope**2)
        return Curve(scale * other * (1 - other), scale * (own * (1 - own) - other * (1 - other)))

    def variances(self, target: str) -> Floats:
        # Where holders always support a code the variance at a share of one is zero; rounding must not make it less.
        return np.asarray(np.maximum(self.curve(target).at(np.clip(self.values(), 0, 1)), 0.0))

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

    def reach_of(self, weights: Floats) -> float:
        return float((np.abs(weights) / np.abs(np.asarray(self.own) - self.other)).sum())

    def contributions(self) -> Contributions:
        """A report supports a code or does not; there are both for every code and every public function."""
        shape = self.counts.shape
        least, most = (np.broadcast_to(self._map(np.asarray(rate)), shape) for rate in (0.0, 1.0))
        return Contributions(least, most, np.full(shape, float(self.n)))

    def restricted(self, codes: Ints, labels: Sequence[object]) -> SupportsEvidence:
        own, other = (rate if np.ndim(rate) == 0 else rate[codes] for rate in (self.own, self.other))
        return replace(self, counts=self.counts[codes], own=own, other=other, counted=self._among(codes, labels))

    def null_errors(self) -> Floats:
        """From the rates alone."""
        own, other = np.asarray(self.own), np.asarray(self.other)
        each = np.broadcast_to(other * (1 - other) / (own - other) ** 2, self.counts.shape)
        return np.asarray(np.sqrt(each / self.n))

    def moved(self) -> tuple[SupportsEvidence, SupportsEvidence]:
        least = np.ceil(self.n * np.asarray(self.other)).astype(np.int64)
        most = np.floor(self.n * np.asarray(self.own)).astype(np.int64)
        return (
            replace(self, counts=np.maximum(self.counts, least)),
            replace(self, counts=np.minimum(self.counts, most)),
        )

    def excess(self, method: str, level: float) -> Floats:
        finds = (wilson_excess,) if method == "wilson" else (normal_excess, normal_sample_excess)
        rates = np.atleast_2d(np.stack(np.broadcast_arrays(self.own, self.other), axis=-1))
        pairs, places = np.unique(rates, axis=0, return_inverse=True)
        found = np.array([max(find(self.n, own, other, level) for find in finds) for own, other in pairs])
        return np.broadcast_to(found[places.ravel()], self.counts.shape)

    def normal_is_poor(self) -> NDArray[np.bool_]:
        poor = self.n * np.minimum(self.other, 1 - np.asarray(self.own)) < POOR_BELOW
        return np.broadcast_to(poor, self.counts.shape)


def clopper_pearson(counts: Any, n: Any, level: float) -> tuple[Floats, Floats]:
    """Exact limits for a binomial rate; [0, 1] without trials."""
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
