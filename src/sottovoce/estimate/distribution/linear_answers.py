"""Sums of the shares of a distribution and what follows from them, such as shares of a unit."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.distribution.share_sums import ShareSums, kept_inside
from sottovoce.estimate.evidence import MOST_EXCESS, Bounds, Contributions, Evidence, Flags, Floats, most_excess
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    from sottovoce.estimate.distribution.base import DistributionEvidence
    from sottovoce.estimate.estimate import Estimate


class AnswerEvidence(Evidence):
    """Numbers read from a distribution."""

    source: DistributionEvidence
    question: Question
    noun: ClassVar[str] = delegated("question.noun")
    quality: ClassVar[str] = delegated("source.quality")
    n = delegated("source.n")

    @property
    def methods(self) -> tuple[Method, ...]:
        return Method.NORMAL, Method.GUARDED

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
    def default(self) -> Method:
        return self.sums.default if Method.GUARDED in self.methods else Method.NORMAL

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
    sums = delegated("weighted")
    variances = delegated("weighted.variances")

    @cached_property
    def weighted(self) -> ShareSums:
        """The functionals as sums of shares."""
        return ShareSums(self.source, self.weights)

    def read(self, shares: Floats) -> Floats:
        return np.asarray(self.weights @ shares)

    def contributions(self) -> Contributions | None:
        return self.source.contributions_of(self.weights)

    def covariance(self, target: Target) -> Floats:
        return self.weighted.functional(target).covariance

    def interval(self, request: IntervalRequest) -> Bounds:
        return self.weighted.interval(request, self.slack)


@dataclass(frozen=True, slots=True, eq=False)
class DensityAnswer(AnswerEvidence):
    """The share of each bucket for a unit of the domain."""

    source: DistributionEvidence
    question: Question
    axes = delegated("source.axes")
    sums = delegated("source.checked")

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, float(1 / self.source.buckets.widths.min())

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
