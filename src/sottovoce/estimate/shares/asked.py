"""Shares from bits about some codes only: each code has a number of reports that were asked about it.

Who is asked is public and has nothing to do with the answers. So everything is read given those numbers, as if each
code had been asked about in a study of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy  # loads its parts at their first use
from numpy.typing import NDArray

from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.asked import asked_bits
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Contributions, Counted
from sottovoce.estimate.shares.base import Curve
from sottovoce.estimate.shares.combine import SharesOfTally
from sottovoce.estimate.shares.intervals.binomials import Ints, exact_held
from sottovoce.estimate.shares.intervals.misses import normal_excess, normal_sample_excess, wilson_excess
from sottovoce.estimate.shares.supports import clopper_pearson, wilson_score

Floats = NDArray[np.float64]
REACH = 10  # standard deviations of the number of those who are asked; the mass beyond is below 1e-22
SPREAD = 1e5  # of that number; beyond, a series has all digits
KINDS = 16  # numbers of those who are asked at which misses are computed


@dataclass(frozen=True, slots=True)
class AskedEvidence(SharesOfTally):
    """Of n reports asked[v] have a bit for v, with probability `part` each, and counts[v] of these bits are set.

    Bits of holders are set with rate `own`, those of others with `other`.
    """

    counts: Ints
    asked: Ints
    n: int
    own: float
    other: float
    part: float
    counted: Counted | None = None

    @property
    def _reports(self) -> Floats:
        """At least one for each code: a code that nobody was asked about has no bits that are set."""
        return np.maximum(self.asked, 1).astype(np.float64)

    def _map(self, rate: Floats) -> Floats:
        return np.asarray((rate - self.other) / (self.own - self.other))

    def values(self) -> Floats:
        """The share among those who were asked; 0 where nobody was, for which all values are scaled up.

        Without scaling, the mean would be the share times the probability that anyone is asked. With few participants
        that is what makes it unbiased; with many the probability is 1.
        """
        anyone = chance_of_any(self.n, self.part)
        return np.asarray(np.where(self.asked > 0, self._map(self.counts / self._reports), 0.0) / anyone)

    def curve(self, target: str) -> Curve:
        """Given how many were asked; for the sample, holders among them are drawn without replacement."""
        slope, reports = self.own - self.other, self._reports
        scale = 1 / (reports * slope**2 * chance_of_any(self.n, self.part) ** 2)
        free = scale * self.other * (1 - self.other)
        drawn = 1.0 if target == "population" else (self.n - np.minimum(reports, self.n)) / max(self.n - 1, 1)
        spread = self.own * (1 - self.own) - self.other * (1 - self.other)
        return Curve(free, scale * (spread + drawn * slope**2), -scale * drawn * slope**2)

    def variances(self, target: str) -> Floats:
        return self.curve(target).at(np.clip(self.values(), 0, 1))

    def exact(self, level: float, target: str) -> Bounds:
        """Clopper and Pearson's limits given how many were asked; for a sample that was asked as a whole, its own.

        Of a part of the sample they hold too: the bits are as many independent ones, with the same mean rate and less
        spread (Hoeffding 1956).
        """
        if target == "sample" and self.part == 1:
            held = exact_held(self.counts, self.asked.astype(np.int64), self.own, self.other, level)
            return Bounds(held[0] / self.n, held[1] / self.n)
        low, high = clopper_pearson(self.counts, self.asked, level)
        return self._with_values(Bounds(self._map(low), self._map(high)))

    def wilson(self, level: float) -> Bounds:
        low, high = wilson_score(self.counts, self._reports, level)
        some = self.asked > 0
        return self._with_values(Bounds(self._map(np.where(some, low, 0)), self._map(np.where(some, high, 1))))

    def _with_values(self, bounds: Bounds) -> Bounds:
        """Values that were scaled up may lie beyond the limits."""
        return Bounds(np.minimum(bounds.low, self.values()), np.maximum(bounds.high, self.values()))

    def reach_of(self, weights: Floats) -> float:
        return float(np.abs(weights).sum() / (self.part * (self.own - self.other)))

    def contributions(self) -> Contributions:
        """A report has a bit for a code or not; where it has, the bit is set or not."""
        shape = self.counts.shape
        least, most = (np.broadcast_to(self._map(np.asarray(rate)), shape) for rate in (0.0, 1.0))
        return Contributions(least, most, self._reports)

    def restricted(self, codes: Ints, labels: Sequence[object]) -> AskedEvidence:
        return replace(self, counts=self.counts[codes], asked=self.asked[codes], counted=self._among(codes, labels))

    def null_errors(self) -> Floats:
        return np.asarray(np.sqrt(np.broadcast_to(self.curve("population").free, self.counts.shape)))

    def moved(self) -> tuple[AskedEvidence, AskedEvidence]:
        least = np.ceil(self.asked * self.other).astype(np.int64)
        most = np.floor(self.asked * self.own).astype(np.int64)
        return (
            replace(self, counts=np.maximum(self.counts, least)),
            replace(self, counts=np.minimum(self.counts, most)),
        )

    def excess(self, method: str, level: float) -> Floats:
        """At some of the numbers that were asked, the smallest among them; for each code that below its own."""
        finds = (wilson_excess,) if method == "wilson" else (normal_excess, normal_sample_excess)
        numbers = np.unique(self._reports.astype(np.int64))
        numbers = numbers[:: -(-len(numbers) // KINDS)]
        found = np.array([max(find(int(n), self.own, self.other, level) for find in finds) for n in numbers])
        return found[np.searchsorted(numbers, self._reports, side="right") - 1]

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.asarray(self.asked * min(self.other, 1 - self.own) < POOR_BELOW)


def asked_evidence(counted: Counted) -> AskedEvidence:
    """The evidence of a tally that counts bits and those who were asked."""
    own, other, part = asked_rates(counted.mechanism)
    counts, asked = counted.cells.reshape(2, -1)
    return AskedEvidence(counts, asked, counted.n, own, other, part, counted)


def asked_rates(mechanism: Mechanism) -> tuple[float, float, float]:
    """The rates of a bit of a holder and of another, and the part of all codes that one is asked about."""
    chosen, rates = asked_bits(mechanism.channel)
    return float(rates.own), float(rates.other), chosen.asked / chosen.k


def asked_variance(mechanism: Mechanism, truth: Floats, n: int, target: str) -> Floats:
    """The exact variance: that given how many were asked, on average, and that of the mean, which is 0 or scaled up."""
    own, other, part = asked_rates(mechanism)
    anyone, inverse, slope = chance_of_any(n, part), mean_inverse(n, part), own - other
    if target == "population":
        rates = other + truth * slope
        within = rates * (1 - rates) * inverse
    else:
        within = (truth * own * (1 - own) + (1 - truth) * other * (1 - other)) * inverse
        within += slope**2 * truth * (1 - truth) * max(n * inverse - anyone, 0.0) / max(n - 1, 1)
    return np.asarray(within / (slope * anyone) ** 2 + truth**2 * (1 - anyone) / anyone)


def chance_of_any(n: int, part: float) -> float:
    """The probability that at least one of n is asked about a code."""
    return 1.0 if part == 1 else -math.expm1(n * math.log1p(-part))


def mean_inverse(n: int, part: float) -> float:
    """The mean of 1 / (how many are asked), taken as 0 where nobody is."""
    mean, spread = n * part, math.sqrt(n * part * (1 - part))
    if spread > SPREAD:
        return (1 + (1 - part) / mean) / mean  # the next term is below 1e-18 of it
    first, last = max(1, math.floor(mean - REACH * spread - 10)), min(n, math.ceil(mean + REACH * spread + 40))
    numbers = np.arange(first, last + 1)
    return float((scipy.stats.binom.pmf(numbers, n, part) / numbers).sum())
