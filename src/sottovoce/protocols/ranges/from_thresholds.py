"""The mean of numbers of which only shares at or above thresholds are known: a search that was closed early."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.core.question import Mean
from sottovoce.core.round import History
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Floats
from sottovoce.estimate.frequency.supports import clopper_pearson
from sottovoce.estimate.mean.single import SingleMean
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.sources import sources_of
from sottovoce.protocols.ranges.bits import ThresholdBits
from sottovoce.protocols.ranges.search import FIRST, LATER, RangeSearchRounds, bits_of


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdMeanEvidence(SingleMean):
    """The mean between the least and the largest number that all shares at or above thresholds allow.

    The mean is the integral of the share at or above t, which falls in t. Its interval has exact limits of all shares
    at once (Clopper and Pearson, Bonferroni over `most` thresholds). Each limit also holds for the neighbours that are
    smaller or larger, and nothing is assumed between two thresholds or beyond the last. The value assumes that either
    side of the centre falls like a Weibull law, and is moved into the 95 % interval. It has no standard error.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.EXACT,)
    default: ClassVar[Method] = Method.EXACT
    quality: ClassVar[str] = "rough"
    bits: ThresholdBits
    ends: tuple[float, float]
    expected: float
    most: int

    @property
    def n(self) -> int:
        return int(self.bits.asked.sum())

    def values(self) -> Floats:
        low, high = self.interval(IntervalRequest(0.95, Method.EXACT))
        return np.clip([self.expected], low, high)

    def variances(self, target: Target) -> Floats:
        return np.array([np.nan])

    def interval(self, request: IntervalRequest) -> Bounds:
        bits, (least, most) = self.bits, self.ends
        rates = clopper_pearson(bits.yes, bits.asked, 1 - (1 - request.level) / max(self.most, len(bits.asked)))
        low, high = (np.clip((rate - bits.other) / (bits.own - bits.other), 0, 1) for rate in rates)
        low = np.maximum.accumulate(low[::-1])[::-1]  # shares beyond are smaller
        high = np.minimum.accumulate(high)
        places = np.concatenate([[least], bits.thresholds, [most]])
        gaps = np.diff(places)
        below, above = least + float(gaps[:-1] @ low), least + float(gaps @ np.concatenate([[1.0], high]))
        # With a probability below 1 - level the limits contradict each other.
        return Bounds(np.array([min(below, above)]), np.array([max(below, above)]))

    @property
    def poor(self) -> bool:
        """No part of the interval is normal."""
        return False

    def sentence(self, estimate: Estimate, level: float) -> str:
        (low,), (high,) = estimate.ci(level)
        return (
            f"{self.n} participants were asked about a threshold each. The shares at or above the thresholds allow a"
            f" mean from {low:.6g} to {high:.6g} ({level:.0%} interval); {estimate.value:.6g} is a rough guess."
        )


def mean_from_thresholds(search: RangeSearchRounds, rounds: History | Sequence[Sequence[object]]) -> Estimate:
    """The mean that the answers of a search allow."""
    looks: History = tuple(rounds)  # type: ignore[arg-type]
    bits = bits_of(looks)
    centre, below, above = search.sides(bits)
    up, down = (0.0 if tail is None else tail.expected_excess for tail in (above, below))
    ends = float(search.domain.low), float(search.domain.high)
    evidence = ThresholdMeanEvidence(bits, ends, centre + up - down, FIRST + (search.rounds - 1) * LATER)
    return Estimate.of(Mean(search.domain), evidence, sources_of(tally for tallies in looks for tally in tallies))
