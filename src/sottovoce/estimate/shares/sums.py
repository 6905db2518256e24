"""Shares from sums of noisy bins, one for each code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Histogram
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Contributions, Counted, Ints, deviate
from sottovoce.estimate.shares.combine import SharesOfTally
from sottovoce.tally.laws import law_row

Floats = NDArray[np.float64]
TILTS = np.geomspace(1e-4, 4, 160)  # of exponential bounds, in standard deviations of a bin


class BinSums(NamedTuple):
    """The laws of a bin without a one and with it, with their means and variances; outputs count from the first mean.

    `tilted` has, for each tilt up and down, the logarithms of the mean of e**(tilt y) under both laws.
    """

    start: float
    slope: float
    off: float
    on: float
    tilts: Floats
    tilted: Floats


@lru_cache(maxsize=8)
def bins(channel: Histogram) -> BinSums:
    """What a sum over bins is read by."""
    laws = [law_row(channel.part, code) for code in (0, channel.part.inputs - 1)]
    outputs = np.arange(len(laws[0]))
    start, end = (float(law @ outputs) for law in laws)
    off, on = (float(law @ (outputs - mean) ** 2) for law, mean in zip(laws, (start, end), strict=True))
    tilts = np.concatenate([TILTS, -TILTS]) / np.sqrt(max(off, on))
    exponents = tilts[:, None] * (outputs - start)
    most = exponents.max(axis=1, keepdims=True)
    powers = np.exp(exponents - most)
    tilted = np.stack([np.log(powers @ law) + most[:, 0] for law in laws])
    return BinSums(start, end - start, off, on, tilts, tilted)


@dataclass(frozen=True, slots=True)
class SumsEvidence(SharesOfTally):
    """sums[v] of n bins: each has mean `start`, and `slope` more for those who hold v."""

    sums: Ints
    n: int
    bins: BinSums
    counted: Counted | None = None

    def values(self) -> Floats:
        return np.asarray((self.sums / self.n - self.bins.start) / self.bins.slope)

    def variances(self, target: str) -> Floats:
        return self._variance(np.clip(self.values(), 0, 1), target) / self.n

    def _variance(self, shares: Floats, target: str) -> Floats:
        return bin_variance(self.bins, shares, target)

    def exact(self, level: float, target: str) -> Bounds:
        """Shares that no exponential bound on the tail of the sum refutes; for each tilt it is linear in the share."""
        mean = self.sums / self.n - self.bins.start
        log_alpha = np.log((1 - level) / 2) / self.n
        low, high = np.full(len(mean), -np.inf), np.full(len(mean), np.inf)
        for tilt, off, on in zip(self.bins.tilts, *self.bins.tilted, strict=True):
            bound = tilt * mean + log_alpha
            if target == "population":
                share = (np.exp(bound - off) - 1) / np.expm1(on - off)
            else:
                share = (bound - off) / (on - off)
            low, high = (np.maximum(low, share), high) if tilt > 0 else (low, np.minimum(high, share))
        return Bounds(np.minimum(low, self.values()), np.maximum(high, self.values()))

    def wilson(self, level: float) -> Bounds:
        """(share - estimate)**2 = z**2 variance(share) / n, whose variance is quadratic in the share."""
        values, weight = self.values(), deviate(level) ** 2 / self.n
        off, on = self.bins.off / self.bins.slope**2, self.bins.on / self.bins.slope**2
        square = 1 + weight
        half = values + weight * (on - off + 1) / 2
        # Beyond all shares by many standard errors no share has a score this small: the nearest one is left.
        root = np.sqrt(np.maximum(half**2 - square * (values**2 - weight * off), 0))
        return Bounds((half - root) / square, (half + root) / square)

    def excess(self, method: str, level: float) -> Floats:
        """Sums of noise with a known variance are close to normal from `POOR_BELOW` reports on."""
        return np.zeros(len(self.sums))

    def contributions(self) -> Contributions | None:
        """A bin holds any output of its part."""
        if self.counted is None:
            return None
        most = max(self.counted.mechanism.channel.sums)  # type: ignore[attr-defined]
        shape = self.sums.shape
        low, high = (np.full(shape, (end - self.bins.start) / self.bins.slope) for end in (0, most))
        return Contributions(low, high, np.full(shape, float(self.n)))

    def reach_of(self, weights: Floats) -> float:
        counted = self.counted
        outputs = 1.0 if counted is None else max(counted.mechanism.channel.sums)  # type: ignore[attr-defined]
        return float(np.abs(weights).sum() * outputs / self.bins.slope)

    def restricted(self, codes: Ints, labels: Sequence[object]) -> SumsEvidence:
        return replace(self, sums=self.sums[codes], counted=self._among(codes, labels))

    def null_errors(self) -> Floats:
        return np.full(len(self.sums), np.sqrt(self.bins.off / self.n) / self.bins.slope)

    def moved(self) -> tuple[SumsEvidence, SumsEvidence]:
        least, most = (self.n * mean for mean in (self.bins.start, self.bins.start + self.bins.slope))
        return (
            replace(self, sums=np.maximum(self.sums, int(np.ceil(least)))),
            replace(self, sums=np.minimum(self.sums, int(np.floor(most)))),
        )

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.full(len(self.sums), self.n < POOR_BELOW)


def bin_variance(found: BinSums, shares: Floats, target: str) -> Floats:
    """The variance of one report's reading of a share, at these shares."""
    noise = (shares * found.on + (1 - shares) * found.off) / found.slope**2
    return np.asarray(noise + shares * (1 - shares) if target == "population" else noise)
