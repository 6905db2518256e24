"""Sums of the shares of a distribution and what follows from them, such as shares of a unit."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.distribution.share_sums import GUARDED, ShareSums, kept_inside
from sottovoce.estimate.evidence import MOST_EXCESS, Bounds, Contributions, Evidence, Flags, Floats, most_excess
from sottovoce.estimate.request import IntervalRequest, Target

if TYPE_CHECKING:
    from sottovoce.estimate.distribution.base import DistributionEvidence
    from sottovoce.estimate.estimate import Estimate


class AnswerEvidence(Evidence):
    """What was read from a distribution."""

    methods: ClassVar[tuple[str, ...]] = ("normal", GUARDED)
    source: DistributionEvidence
    question: Question

    @property
    @abstractmethod
    def sums(self) -> ShareSums:
        """The sums of shares whose laws tell how good the intervals are."""

    @abstractmethod
    def read(self, shares: Floats) -> Floats:
        """The answer of any shares of the buckets, such as those of a decoder."""

    def values(self) -> Floats:
        return self.read(self.source.values())

    @property
    def noun(self) -> str:  # type: ignore[override]
        return self.question.noun

    @property
    def quality(self) -> str:  # type: ignore[override]
        return self.source.quality

    @property
    def default(self) -> str:  # type: ignore[override]
        return self.sums.default if GUARDED in self.methods else "normal"

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.source.n

    def inside(self, request: IntervalRequest) -> Bounds:
        return kept_inside(self.interval(request), self.limits)

    def normal_is_poor(self) -> Flags:
        return np.full(len(self.labels), self.warning() is not None)

    def warning(self) -> str | None:
        return self.sums.doubt(0.95, most_excess(0.95))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        return self.sums.doubt(request.level, most, request.method)

    def sentence(self, estimate: Estimate, level: float) -> str:
        if len(self.labels) == 1:
            return Evidence.sentence(self, estimate, level)
        return (
            f"The {len(self.labels)} estimates are {estimate.quality}; their standard errors are about"
            f" {np.median(estimate.std_errors):.2g}."
        )


@dataclass(frozen=True, eq=False)
class LinearAnswer(AnswerEvidence):
    """Linear functionals: one row of weights of the buckets for each."""

    source: DistributionEvidence
    weights: Floats
    axes: Axes
    ends: tuple[float, float]
    question: Question
    slack: float = 0.0

    @cached_property
    def weighted(self) -> ShareSums:
        """The functionals as sums of shares."""
        return ShareSums(self.source, self.weights)

    @property
    def sums(self) -> ShareSums:
        return self.weighted

    def read(self, shares: Floats) -> Floats:
        return np.asarray(self.weights @ shares)

    def contributions(self) -> Contributions | None:
        return self.source.contributions_of(self.weights)

    def covariance(self, target: Target) -> Floats:
        return self.weighted.functional(target).covariance

    def variances(self, target: Target) -> Floats:
        return self.weighted.variances(target)

    def interval(self, request: IntervalRequest) -> Bounds:
        return self.weighted.interval(request, self.slack)


@dataclass(frozen=True, slots=True, eq=False)
class DensityAnswer(AnswerEvidence):
    """The share of each bucket for a unit of the domain."""

    source: DistributionEvidence
    question: Question

    @property
    def axes(self) -> Axes:  # type: ignore[override]
        return self.source.axes

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, float(1 / self.source.buckets.widths.min())

    @property
    def sums(self) -> ShareSums:
        return self.source.checked

    def read(self, shares: Floats) -> Floats:
        return np.asarray(shares / self.source.buckets.widths)

    def variances(self, target: Target) -> Floats:
        return np.asarray(self.source.variances(target) / self.source.buckets.widths**2)

    def covariance(self, target: Target) -> Floats:
        widths = self.source.buckets.widths
        return np.asarray(self.source.covariance(target) / np.outer(widths, widths))

    def contributions(self) -> Contributions | None:
        moved, widths = self.source.contributions(), self.source.buckets.widths
        return None if moved is None else Contributions(moved.least / widths, moved.most / widths, moved.reports)

    def interval(self, request: IntervalRequest) -> Bounds:
        low, high = self.source.interval(request)
        return Bounds(low / self.source.buckets.widths, high / self.source.buckets.widths)
