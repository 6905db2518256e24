"""Shares from a count of supports for each code, with two rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import betaincinv

from sottovoce.core.channel import Channel, HadamardSets, ProjectiveSets
from sottovoce.core.channel.facets import Supporting, need, rates_of
from sottovoce.core.errors import NoCovarianceError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Counted, Flags, Floats, Ints, deviate
from sottovoce.estimate.frequency.base import SupportCounts
from sottovoce.estimate.frequency.intervals.binomials import exact_held
from sottovoce.estimate.frequency.intervals.misses import normal_excess, normal_sample_excess, wilson_excess
from sottovoce.estimate.frequency.laws import cell_supports
from sottovoce.estimate.frequency.pool import function_supports
from sottovoce.estimate.frequency.projective import hyperplane_counts
from sottovoce.estimate.frequency.read import ReadSharesEvidence
from sottovoce.estimate.frequency.walsh import hadamard_counts
from sottovoce.estimate.reading import CodeReading
from sottovoce.estimate.request import IntervalRequest, Method, Target

COUNTS: dict[type, Callable[[Any, Ints], Ints]] = {  # of the outputs in the set of each code
    HadamardSets: lambda sets, cells: hadamard_counts(sets, cells)[0],
    ProjectiveSets: hyperplane_counts,
}


class BitsEvidence(ReadSharesEvidence):
    """counts[v] of the reports support v: with rate `own` those of its holders, with `other` all the rest."""

    counts: Ints
    own: Any  # a float, or one per code
    other: Any
    __slots__ = ()

    @cached_property
    def reading(self) -> CodeReading:
        return CodeReading.of_rates(self.own, self.other)

    @property
    def trials(self) -> Any:
        """How many reports could support each code."""
        return self.n

    @property
    def means(self) -> Floats:
        return np.asarray(self.counts / self.reports)

    def _bounds(self, rates: tuple[Floats, Floats]) -> Bounds:
        """Limits of a share from those of the rate of supports."""
        return Bounds(*map(self.reading.values, rates))

    def cell_scores(self, mechanism: Mechanism, codes: Ints) -> Floats:
        return self.reading.values(cell_supports(mechanism, codes).T).T

    def moved(self) -> tuple[Self, Self]:
        least = np.ceil(self.trials * np.asarray(self.other)).astype(np.int64)
        most = np.floor(self.trials * np.asarray(self.own)).astype(np.int64)
        return (
            replace(self, counts=np.maximum(self.counts, least)),  # type: ignore[type-var]
            replace(self, counts=np.minimum(self.counts, most)),  # type: ignore[type-var]
        )

    @property
    def rarest(self) -> Floats:
        """The least probability of a support, or of none, whatever the shares are."""
        return np.asarray(np.minimum(self.other, 1 - np.asarray(self.own)))

    def normal_is_poor(self) -> Flags:
        poor = self.trials * self.rarest < POOR_BELOW
        return np.broadcast_to(poor, self.counts.shape)


@dataclass(frozen=True)
class SupportsEvidence(BitsEvidence):
    """counts[v] of n reports support v: with rate `own` those of its holders, with `other` all the rest."""

    counts: Ints
    n: int
    own: Any
    other: Any
    counted: Counted | None = None

    @property
    def supports(self) -> SupportCounts | None:
        return SupportCounts(self.counts, self.n, self.own, self.other) if np.ndim(self.own) == 0 else None

    def exact(self, level: float, target: Target) -> Bounds:
        if target == Target.POPULATION:
            return self._bounds(clopper_pearson(self.counts, self.n, level))
        trials = np.full(self.counts.shape, self.n, np.int64)
        if np.ndim(self.own) == 0:
            left, right = exact_held(self.counts, trials, float(self.own), float(self.other), level)
        else:
            pairs = [
                exact_held(self.counts[v : v + 1], trials[v : v + 1], float(p), float(q), level)
                for v, (p, q) in enumerate(zip(self.own, self.other, strict=True))
            ]
            left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
        return Bounds(left / self.n, right / self.n)

    def wilson(self, level: float) -> Bounds:
        return self._bounds(wilson_score(self.counts, self.n, level))

    def restricted(self, codes: Ints, labels: Sequence[object]) -> SupportsEvidence:
        own, other = (rate if np.ndim(rate) == 0 else rate[codes] for rate in (self.own, self.other))
        return replace(self, counts=self.counts[codes], own=own, other=other, counted=self._among(codes, labels))

    def _second_moments(self, counted: Counted, codes: Ints) -> Floats:
        channel = counted.mechanism.channel
        if channel.publics or not isinstance(counted.mechanism.statistic, CountSupports):
            return ReadSharesEvidence._second_moments(self, counted, codes)
        pair = need(channel, Supporting).pair()
        if pair is None:
            raise NoCovarianceError(f"The joint law of two supports of a {channel.kind} channel has no closed form.")
        support, shares = self.means, self.values()
        sums = shares[:, None] + shares[None, :]
        together = sums * float(pair[0]) + (1 - sums) * float(pair[1])
        together[np.diag_indices(len(codes))] = support
        single = self.other * (support[:, None] + support[None, :])
        return np.asarray((together - single + self.other**2) / (self.own - self.other) ** 2)

    def excess(self, request: IntervalRequest) -> Floats:
        rates = np.atleast_2d(np.stack(np.broadcast_arrays(self.own, self.other), axis=-1))
        pairs, places = np.unique(rates, axis=0, return_inverse=True)
        misses = np.array([most_missed(request.method, self.n, own, other, request.level) for own, other in pairs])
        return np.broadcast_to(misses[places.ravel()], self.counts.shape)


def most_missed(method: str | None, n: int, own: float, other: float, level: float) -> float:
    """Worst miss rate of a Wilson or normal interval of n reports with two rates, over the promised one."""
    finds = (wilson_excess,) if method == Method.WILSON else (normal_excess, normal_sample_excess)
    return max(find(n, own, other, level) for find in finds)


def from_cells(counted: Counted) -> SupportsEvidence:
    """The evidence of a tally of supports, outputs or public functions, also about some codes only."""
    mechanism = counted.mechanism
    counts, sets = counted.cells, getattr(mechanism.channel, "sets", None)
    if isinstance(mechanism.statistic, (CountSeeds, CountCohorts)):
        counts = function_supports(mechanism, counted.cells, counted.codes)
    elif isinstance(mechanism.statistic, CountOutputs) and sets is not None:
        count = COUNTS.get(type(sets))
        counts = _members(mechanism, counts) if count is None else count(sets, counts)
    return SupportsEvidence(counts, counted.n, *two_rates(mechanism.channel), counted)


def _members(mechanism: Mechanism, cells: Ints) -> Ints:
    """The outputs in the set of each code, for sets without a transform."""
    return np.rint(cell_supports(mechanism, np.arange(mechanism.channel.inputs)) @ cells).astype(np.int64)


def predicted_variance(mechanism: Mechanism, truth: Floats, n: int, target: Target) -> Floats:
    """The exact variance of each share, for these true shares."""
    return CodeReading.of_rates(*two_rates(mechanism.channel)).at(truth, target) / n


def two_rates(channel: Channel) -> tuple[Any, Any]:
    """How often holders of a code support it and others do: floats, or one for each code where they vary."""
    codes = channel.codes() if need(channel, Supporting).rates_vary else (0,)
    own, other = np.array([[float(rate) for rate in rates_of(channel, code) or ()] for code in codes]).T
    return (own, other) if len(own) > 1 else (float(own[0]), float(other[0]))


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
