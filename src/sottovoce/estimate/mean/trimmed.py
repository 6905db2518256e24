"""Trimmed and winsorised means from numbers that were clamped near two quantiles, and answers about both ends.

Let m(a, b) be the mean of numbers clamped to [a, b], and s the share that is trimmed at each end. As a function of a,
m(a, b) - s a falls up to the quantile of s and rises from there on, since its slope is F(a) - s; at the other end it is
the other way round. So (m(a, b) - s (a + b)) / (1 - 2 s) is the trimmed mean where a and b are the quantiles, and moves
by an error of second order where they are not: at most |F(a) - s| times the distance from a to the quantile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import Bounds, Evidence, Floats
from sottovoce.estimate.frequency.supports import clopper_pearson
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.mean.single import SingleMean
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate


@dataclass(frozen=True, slots=True, eq=False)
class EndAnswers:
    """How many of those asked reported to be at or above each of the two ends, and the ends."""

    places: tuple[float, float]
    asked: Floats
    yes: Floats
    own: float  # how likely a yes is reported by those at or above, and by those below
    other: float

    def above(self, level: float) -> Bounds:
        """Limits of the share at or above each end."""
        rates = clopper_pearson(self.yes, self.asked, level)
        return Bounds(*(np.clip((rate - self.other) / (self.own - self.other), 0, 1) for rate in rates))


@dataclass(frozen=True, slots=True, eq=False)
class TrimmedMeanEvidence(SingleMean):
    """The mean of the numbers between two quantiles, without the smallest and the largest.

    The interval is that of the clamped mean, and what the errors of the ends may have moved: the product of two limits
    at the level, of which both would have to be reached. So it is cautious.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.CAUTIOUS,)
    default: ClassVar[Method] = Method.CAUTIOUS
    label: ClassVar[str] = "trimmed mean"
    about: ClassVar[str] = "The mean without the {share} smallest and the {share} largest numbers"
    left_out: ClassVar[int] = 2  # ends of which a share is left out
    clamped: MeanEvidence
    quantiles: Evidence  # of the trimmed share, and of the rest
    at_ends: EndAnswers
    share: float
    ends: tuple[float, float]
    n = delegated("clamped.n")

    @property
    def axes(self) -> Axes:
        return Axes.of("value", (self.label,))

    @property
    def scale(self) -> float:
        """How much one unit of the clamped mean counts."""
        return 1 / (1 - self.left_out * self.share)

    @property
    def constant(self) -> float:
        """What both ends take from the clamped mean."""
        return -self.share * sum(self.at_ends.places)

    def values(self) -> Floats:
        return np.clip(self.scale * (self.clamped.values() + self.constant), *self.ends)

    def variances(self, target: Target) -> Floats:
        return self.scale**2 * self.clamped.variances(target)

    @property
    def poor(self) -> bool:
        """False: where the normal interval of the clamped mean is poor, its betting interval is used."""
        return False

    def interval(self, request: IntervalRequest) -> Bounds:
        low, high = self._of_clamped(request)
        below, above = self._moved(request.level)
        values = self.scale * (np.array([low - below, high + above]) + self.constant)
        return Bounds(*np.clip(values, *self.ends))

    def _of_clamped(self, request: IntervalRequest) -> Bounds:
        return self.clamped.interval(request.by(Method.BETTING if self.clamped.poor else Method.NORMAL))

    def _quantile_limits(self, level: float) -> Bounds:
        return self.quantiles.interval(IntervalRequest(level, Method.LIKELIHOOD))

    def _moved(self, level: float) -> tuple[float, float]:
        """By how much the errors of both ends may have raised and lowered the value, each limit at this level."""
        first, last = self._quantile_limits(level)
        least, most = self.at_ends.above(level)
        a, b = self.at_ends.places
        # An end in its place moves nothing; beside it the lower one raises the value, and the upper one lowers it.
        raised = max((1 - least[0] - self.share) * (a - first[0]), (self.share - 1 + most[0]) * (last[0] - a), 0.0)
        lowered = max((most[1] - self.share) * (last[1] - b), (self.share - least[1]) * (b - first[1]), 0.0)
        return float(raised), float(lowered)

    def sentence(self, estimate: Estimate, level: float) -> str:
        (low,), (high,) = estimate.ci(level)
        about = self.about.format(share=f"{self.share:.3g} of all")
        return f"{about}: {estimate.value:.6g} ({level:.0%} interval from {low:.6g} to {high:.6g})."


@dataclass(frozen=True, slots=True, eq=False)
class WinsorisedMeanEvidence(TrimmedMeanEvidence):
    """The mean with the smallest and the largest numbers moved to two quantiles.

    The quantiles count with their share, so the interval combines the distances of three limits: of the clamped mean,
    and of each quantile (Zou, Donner, Statistics in Medicine 2008).
    """

    label: ClassVar[str] = "winsorised mean"
    about: ClassVar[str] = "The mean with the {share} smallest and the {share} largest numbers moved to the quantiles"
    left_out: ClassVar[int] = 0

    @property
    def constant(self) -> float:
        return self.share * float(self.quantiles.values().sum() - sum(self.at_ends.places))

    def variances(self, target: Target) -> Floats:
        ends = self.quantiles.variances(target).sum()
        return np.asarray(self.clamped.variances(target) + self.share**2 * ends)

    def interval(self, request: IntervalRequest) -> Bounds:
        own, of_mean = self.values(), self._of_clamped(request)
        own_quantiles, of_quantiles = self.quantiles.values(), self._quantile_limits(request.level)
        down, up = (
            np.sqrt((mean - self.clamped.values()) ** 2 + self.share**2 * ((limit - own_quantiles) ** 2).sum())
            for mean, limit in zip(of_mean, of_quantiles, strict=True)
        )
        below, above = self._moved(request.level)
        return Bounds(*np.clip(np.array([own - down - below, own + up + above]), *self.ends))
