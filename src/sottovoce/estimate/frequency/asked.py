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

from sottovoce.core.declared import delegated
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.asked import asked_bits
from sottovoce.estimate.evidence import Bounds, Counted, Floats, Ints
from sottovoce.estimate.frequency.intervals.binomials import exact_held
from sottovoce.estimate.frequency.supports import BitsEvidence, clopper_pearson, most_missed, wilson_score
from sottovoce.estimate.reading import CodeReading, Curve
from sottovoce.estimate.request import IntervalRequest, Target

REACH = 10  # standard deviations of the number of those who are asked; the mass beyond is below 1e-22
SPREAD = 1e5  # of that number; beyond, a series has all digits
KINDS = 16  # numbers of those who are asked at which misses are computed


@dataclass(frozen=True)
class AskedEvidence(BitsEvidence):
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
    trials = delegated("asked")

    @property
    def reports(self) -> Floats:
        """Reports with a bit for each code; one where nobody was asked, since none of its bits are set."""
        return np.maximum(self.asked, 1).astype(np.float64)

    def drawn(self, target: Target) -> Floats | float:
        """For the sample, holders among those who are asked are drawn without replacement."""
        return 1.0 if target == Target.POPULATION else (self.n - np.minimum(self.reports, self.n)) / max(self.n - 1, 1)

    def values(self) -> Floats:
        """The share among those who were asked, scaled up since it is 0 where nobody was.

        Without scaling, the mean would be the share times the probability that anyone is asked. With few participants
        that is what makes it unbiased; with many the probability is 1.
        """
        return np.asarray(
            np.where(self.asked > 0, self.reading.values(self.means), 0.0) / chance_of_any(self.n, self.part)
        )

    def curve(self, target: Target) -> Curve:
        """Variance of each share given how many were asked."""
        return self.reading.curve(self.drawn(target)).over(self.reports * chance_of_any(self.n, self.part) ** 2)

    def exact(self, level: float, target: Target) -> Bounds:
        """Clopper and Pearson's limits given how many were asked; for a sample that was asked as a whole, its own.

        Of a part of the sample they hold too: the bits are as many independent ones, with the same mean rate and less
        spread (Hoeffding 1956).
        """
        if target == Target.SAMPLE and self.part == 1:
            held = exact_held(self.counts, self.asked.astype(np.int64), self.own, self.other, level)
            return Bounds(held[0] / self.n, held[1] / self.n)
        return self._with_values(self._bounds(clopper_pearson(self.counts, self.asked, level)))

    def wilson(self, level: float) -> Bounds:
        low, high = wilson_score(self.counts, self.reports, level)
        some = self.asked > 0
        return self._with_values(self._bounds((np.where(some, low, 0), np.where(some, high, 1))))

    def _with_values(self, bounds: Bounds) -> Bounds:
        """Values that were scaled up may lie beyond the limits."""
        return Bounds(np.minimum(bounds.low, self.values()), np.maximum(bounds.high, self.values()))

    def reach_of(self, weights: Floats) -> float:
        return self.reading.reach(weights) / self.part

    def restricted(self, codes: Ints, labels: Sequence[object]) -> AskedEvidence:
        return replace(self, counts=self.counts[codes], asked=self.asked[codes], counted=self._among(codes, labels))

    def excess(self, request: IntervalRequest) -> Floats:
        """Worst miss rates at up to `KINDS` numbers of asked people; a code has that of the next smaller number."""
        numbers = np.unique(self.reports.astype(np.int64))
        numbers = numbers[:: -(-len(numbers) // KINDS)]
        misses = np.array([most_missed(request.method, int(n), self.own, self.other, request.level) for n in numbers])
        return misses[np.searchsorted(numbers, self.reports, side="right") - 1]


def from_cells(counted: Counted) -> AskedEvidence:
    """The evidence of a tally that counts bits and those who were asked."""
    own, other, part = asked_rates(counted.mechanism)
    counts, asked = counted.cells.reshape(2, -1)
    return AskedEvidence(counts, asked, counted.n, own, other, part, counted)


def asked_rates(mechanism: Mechanism) -> tuple[float, float, float]:
    """The rates of a bit of a holder and of another, and the part of all codes that one is asked about."""
    chosen, rates = asked_bits(mechanism.channel)
    return float(rates.own), float(rates.other), chosen.asked / chosen.k


def predicted_variance(mechanism: Mechanism, truth: Floats, n: int, target: Target) -> Floats:
    """The exact variance: that given how many were asked, on average, and that of the mean, which is 0 or scaled up."""
    own, other, part = asked_rates(mechanism)
    anyone, inverse = chance_of_any(n, part), mean_inverse(n, part)
    within = CodeReading.of_rates(own, other).at(truth, target) * inverse
    if target == Target.SAMPLE:
        within += truth * (1 - truth) * max(n * inverse - anyone, 0.0) / max(n - 1, 1)
    return np.asarray(within / anyone**2 + truth**2 * (1 - anyone) / anyone)


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
