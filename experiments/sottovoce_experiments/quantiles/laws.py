"""Distributions on which searches for quantiles are tried: laws, and public histograms, smooth, skewed and spiky."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # loads its parts at their first use
from numpy.typing import NDArray

from sottovoce.core.domain import Integers, Interval
from sottovoce.estimate.evidence import Bounds
from sottovoce_experiments.distribution import histograms

Floats = NDArray[np.float64]
PARTS = 1024  # of a histogram
NEAR = 1e-9


def _mixture(*parts: tuple[float, float, float]) -> Callable[[Floats], Floats]:
    """A mixture of normal laws: weight, mean and standard deviation of each."""
    return lambda at: sum(weight * scipy.stats.norm(mean, sd).cdf(at) for weight, mean, sd in parts)


_LAWS: dict[str, Callable[[Floats], Floats]] = {
    "lognormal": lambda at: scipy.stats.lognorm(1, scale=0.01).cdf(at),
    "two far humps": _mixture((0.5, 0.1, 0.03), (0.5, 0.9, 0.03)),
    "two spikes": lambda at: 0.1 * at + _mixture((0.5, 0.31, 0.002), (0.4, 0.62, 0.002))(at),
    "two humps": _mixture((0.55, 0.25, 0.06), (0.45, 0.8, 0.08)),
    "exponential": lambda at: 1 - np.exp(-at / 0.05),
    "three spikes": lambda at: 0.2 * at + _mixture((0.3, 0.2, 0.004), (0.3, 0.45, 0.003), (0.2, 0.71, 0.002))(at),
}
# Answers heaped in parts of 1 / 1,024 of the range: the seed, the distance of heaps in parts, and their share.
_HEAPS = {
    f"heaps {seed}": (seed, every, share)
    for seed, every, share in ((1, 41, 0.97), (2, 20, 0.95), (3, 64, 0.6), (4, 100, 0.9), (5, 11, 0.97), (6, 33, 0.8))
}
TUNED = (*(name for name in histograms.TUNED if name != "ages"), "lognormal", "two far humps", "two spikes", *_HEAPS)
REPORTED = (*histograms.REPORTED, "two humps", "exponential", "three spikes")


def _heaped(seed: int, every: int, share: float) -> Floats:
    """Shares of all parts: heaps of random size at even distances, on answers that are spread evenly."""
    rng, heaps = np.random.default_rng(seed), np.arange(every // 2, PARTS, every)
    trend = np.exp(-np.arange(len(heaps)) / len(heaps) * 3 * rng.random())
    shares = np.full(PARTS, (1 - share) / PARTS)
    shares[heaps] += share * rng.dirichlet(trend / trend.mean())
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class QuantileLaw:
    """A distribution function of straight pieces; with ties, each piece is one whole number instead."""

    heights: Floats
    edges: Floats
    ties: bool

    @classmethod
    def of(cls, name: str, *, ties: bool = False) -> QuantileLaw:
        """The distribution of this name on [0, 1], or on whole numbers from 0."""
        if name in _LAWS:
            edges = np.linspace(0, 1, PARTS * (1 if ties else 16) + 1)
            heights = _LAWS[name](edges)
            heights = (heights - heights[0]) / (heights[-1] - heights[0])
        else:
            edges = np.linspace(0, 1, PARTS + 1)
            shares = _heaped(*_HEAPS[name]) if name in _HEAPS else histograms.shares(name, PARTS)
            heights = np.concatenate([[0.0], np.cumsum(shares)])
        return cls(heights, edges * PARTS if ties else edges, ties)

    @property
    def domain(self) -> Integers | Interval:
        """The range of the answers."""
        return Integers(0, PARTS - 1) if self.ties else Interval(0, 1)

    def below(self, threshold: float) -> float:
        """The share of answers below a threshold."""
        return float(np.interp(threshold, self.edges, self.heights))

    def error(self, value: float, level: float, parts: int = 0) -> float:
        """How far the level is from the shares of answers below a value, and up to it.

        With a number of parts of 1 / 1,024 of the range, the value may move by so much to either side first.
        """
        reach = parts * (self.edges[-1] - self.edges[0]) / PARTS
        low, high = self.below(value - reach), self.below((value + 1 if self.ties else value) + reach)
        return max(low - level, level - high, 0.0)

    def width(self, bounds: Bounds) -> float:
        """Half the share of answers between the ends."""
        low, high = float(bounds.low[0]), float(bounds.high[0])
        return (self.below(high) - self.below(low)) / 2

    def holds(self, bounds: Bounds, level: float) -> bool:
        """Whether a value between the ends is a quantile of the level; in a gap without answers every value is."""
        low, high = float(bounds.low[0]), float(bounds.high[0])
        return self.below(low) <= level + NEAR and self.below(high + 1 if self.ties else high) >= level - NEAR
