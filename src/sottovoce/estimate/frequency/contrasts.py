"""Shares from supports less the rest of a code's group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, HadamardSets
from sottovoce.core.channel.facets import rates_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Counted, Flags, Floats, Ints, deviate
from sottovoce.estimate.frequency.intervals.misses import normal_score_excess, score_excess
from sottovoce.estimate.frequency.intervals.score_sums import drift_limits, held_limits
from sottovoce.estimate.frequency.laws import cell_supports
from sottovoce.estimate.frequency.read import ReadSharesEvidence
from sottovoce.estimate.frequency.walsh import hadamard_counts
from sottovoce.estimate.reading import CodeReading
from sottovoce.estimate.request import IntervalRequest, Method, Target


def sign_reading(slope: float, hits: NDArray[Any]) -> CodeReading:
    """The score is +1, 0 or -1, over `slope`, so that its second moment is the rate of hits.

    The mean of a score given the code is `slope` for holders, and 0 for all others.
    """
    return CodeReading(0.0, slope, hits, hits - slope**2, -1.0, 1.0)


@dataclass(frozen=True)
class ContrastsEvidence(ReadSharesEvidence):
    """Of n reports, hits[v] fall into the group of v and plus[v] of these support v (`core.channel.Contrast`)."""

    plus: Ints
    hits: Ints
    n: int
    hit_own: float
    plus_own: float
    counted: Counted | None = None

    @property
    def slope(self) -> float:
        return 2 * self.plus_own - self.hit_own

    @property
    def hit_other(self) -> float:
        """The outputs of a group outside the set of a code are as many as its set, and as likely as those elsewhere."""
        return 2 * (self.hit_own - self.plus_own)

    @cached_property
    def reading(self) -> CodeReading:
        """The hit rate is taken from the reports: it is a nuisance that the share hardly changes."""
        return sign_reading(self.slope, np.clip(self.hits / self.n, self.hit_other, self.hit_own))

    @property
    def means(self) -> Floats:
        return np.asarray(self._totals() / self.n)

    def _totals(self) -> Ints:
        return np.asarray(2 * self.plus - self.hits)

    def variances(self, target: Target) -> Floats:
        """A group is hit at least as often as by the holders of the code and by chance."""
        shares = np.clip(self.values(), 0, 1)
        least = self.hit_other + shares * (self.hit_own - self.hit_other)
        return sign_reading(self.slope, np.clip(self.hits / self.n, least, self.hit_own)).at(shares, target) / self.n

    def exact(self, level: float, target: Target) -> Bounds:
        """The joint law of scores and hits, inverted (`estimate.score_sums`)."""
        totals = self._totals()
        if target == Target.SAMPLE:
            first, last = held_limits(totals, self.hits, self.n, (self.hit_own, self.hit_other), level)
            return Bounds(first / self.n, last / self.n)
        low, high = drift_limits(totals, self.hits, self.n, (self.hit_other, self.hit_own), level)
        means = totals / self.n  # few reports may score more than the hit rates allow on average
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

    def restricted(self, codes: Ints, labels: Sequence[object]) -> ContrastsEvidence:
        return replace(self, plus=self.plus[codes], hits=self.hits[codes], counted=self._among(codes, labels))

    def cell_scores(self, mechanism: Mechanism, codes: Ints) -> Floats:
        groups = codes[:, None] % sets_of(mechanism.channel).groups
        group_of = np.arange(mechanism.cells)[None, :] // sets_of(mechanism.channel).order
        return np.asarray((2 * cell_supports(mechanism, codes) - (groups == group_of)) / self.slope)

    def null_errors(self) -> Floats:
        """Other codes of the group contribute through the observed hits."""
        return np.asarray(np.sqrt(self.hits / self.n / self.slope**2 / self.n))

    def moved(self) -> tuple[ContrastsEvidence, ContrastsEvidence]:
        least = (self.hits + 1) // 2
        most = np.minimum((np.floor(self.n * self.slope).astype(np.int64) + self.hits) // 2, self.hits)
        return replace(self, plus=np.maximum(self.plus, least)), replace(self, plus=np.minimum(self.plus, most))

    def excess(self, request: IntervalRequest) -> Floats:
        kinds, places = np.unique(self.hits, return_inverse=True)
        rates = np.clip(kinds / self.n, self.hit_other, self.hit_own)
        hit_rates = (self.hit_own, self.hit_other)
        find = score_excess if request.method == Method.WILSON else normal_score_excess
        return np.array([find(self.n, rate, hit_rates, request.level) for rate in rates])[places.ravel()]

    def normal_is_poor(self) -> Flags:
        return np.asarray(self.hits < 2 * POOR_BELOW)


def sets_of(channel: Channel) -> HadamardSets:
    """The sets of Hadamard response in several groups."""
    sets: HadamardSets = channel.sets  # type: ignore[attr-defined]
    return sets


def from_cells(counted: Counted) -> ContrastsEvidence:
    """The evidence of a tally of outputs."""
    channel = counted.mechanism.channel
    rates: Any = rates_of(channel)
    plus, hits = hadamard_counts(sets_of(channel), counted.cells)
    return ContrastsEvidence(plus, hits, counted.n, float(rates.hit_own), float(rates.plus_own), counted)


def predicted_variance(mechanism: Mechanism, truth: Floats, n: int, target: Target) -> Floats:
    """The exact variance of each share, for these true shares: a group is hit by those who hold one of its codes."""
    sets = sets_of(mechanism.channel)
    rates: Any = rates_of(mechanism.channel)
    group = np.arange(sets.codes) % sets.groups
    mass = np.bincount(group, truth, sets.groups)[group]
    hits = float(rates.hit_other) + mass * float(rates.hit_own - rates.hit_other)
    return sign_reading(float(rates.slope), hits).at(truth, target) / n
