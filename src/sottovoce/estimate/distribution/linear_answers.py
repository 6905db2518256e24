"""Sums of the shares of a distribution and what follows from them: shares of a unit, directions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.question import Question
from sottovoce.estimate.distribution.base import DistributionEvidence, kept_inside
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Contributions, Evidence, deviate

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate

Floats = NDArray[np.float64]


class AnswerEvidence(Evidence):
    """What was read from a distribution; `read` gives the same of any other shares of its buckets."""

    methods: ClassVar[tuple[str, ...]] = ("normal",)
    default: ClassVar[str] = "normal"
    source: DistributionEvidence
    __slots__ = ()

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.source.n

    def inside(self, level: float, method: str, target: str) -> Bounds:
        return kept_inside(self.interval(level, method, target), self.limits)

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.full(len(self.labels), self.n < POOR_BELOW)

    def warning(self) -> str | None:
        return self.source.warning()

    def sentence(self, found: Estimate, level: float) -> str:
        if len(self.labels) == 1:
            return Evidence.sentence(self, found, level)
        return (
            f"The {len(self.labels)} estimates are {found.quality}; their standard errors are about"
            f" {np.median(found.std_errors):.2g}."
        )


@dataclass(frozen=True, slots=True, eq=False)
class LinearAnswer(AnswerEvidence):
    """Linear functionals: one row of weights of the buckets for each."""

    source: DistributionEvidence
    weights: Floats
    labels: Sequence[object]
    ends: tuple[float, float]
    question: Question
    slack: float = 0.0

    @property
    def noun(self) -> str:  # type: ignore[override]
        return self.question.noun

    @property
    def quality(self) -> str:  # type: ignore[override]
        return self.source.quality

    @property
    def limits(self) -> tuple[float, float]:
        return self.ends

    def values(self) -> Floats:
        return self.source.functional(self.weights).values

    def contributions(self) -> Contributions | None:
        return self.source.contributions_of(self.weights)

    def covariance(self, target: str) -> Floats:
        return self.source.functional(self.weights, target).covariance

    def variances(self, target: str) -> Floats:
        return self.source.spreads(self.weights, target)

    def interval(self, level: float, method: str, target: str) -> Bounds:
        return self.normal(level, target)


@dataclass(frozen=True, slots=True, eq=False)
class DensityAnswer(AnswerEvidence):
    """The share of each bucket for a unit of the domain."""

    source: DistributionEvidence
    question: Question

    @property
    def noun(self) -> str:  # type: ignore[override]
        return self.question.noun

    @property
    def quality(self) -> str:  # type: ignore[override]
        return self.source.quality

    @property
    def labels(self) -> Sequence[object]:  # type: ignore[override]
        return self.source.labels

    @property
    def limits(self) -> tuple[float, float]:
        return 0.0, float(1 / self.source.buckets.widths.min())

    def values(self) -> Floats:
        return np.asarray(self.source.values() / self.source.buckets.widths)

    def variances(self, target: str) -> Floats:
        return np.asarray(self.source.variances(target) / self.source.buckets.widths**2)

    def covariance(self, target: str) -> Floats:
        widths = self.source.buckets.widths
        return np.asarray(self.source.covariance(target) / np.outer(widths, widths))

    def contributions(self) -> Contributions | None:
        found, widths = self.source.contributions(), self.source.buckets.widths
        return None if found is None else Contributions(found.least / widths, found.most / widths, found.reports)

    def interval(self, level: float, method: str, target: str) -> Bounds:
        return self.normal(level, target)


@dataclass(frozen=True, slots=True, eq=False)
class DirectionAnswer(AnswerEvidence):
    """The direction of the mean point of a circle, from its mean cosine and sine."""

    quality: ClassVar[str] = "the direction of an unbiased mean point"
    noun: ClassVar[str] = "circular mean"
    labels: ClassVar[tuple[str, ...]] = ("circular mean",)  # type: ignore[misc]
    source: DistributionEvidence
    question: Question

    @property
    def limits(self) -> tuple[float, float]:
        return -math.inf, math.inf

    @property
    def _unit(self) -> float:
        return float(self.source.edges[-1] - self.source.edges[0]) / (2 * math.pi)

    def values(self) -> Floats:
        cosine, sine = self.source.functional(np.array(self.source.buckets.directions())).values
        return np.array([math.atan2(sine, cosine) % (2 * math.pi) * self._unit])

    def variances(self, target: str) -> Floats:
        """By the delta method."""
        found = self.source.functional(np.array(self.source.buckets.directions()), target)
        cosine, sine = found.values
        slope = np.array([-sine, cosine]) / (cosine**2 + sine**2) * self._unit
        return np.array([float(slope @ found.covariance @ slope)])

    def interval(self, level: float, method: str, target: str) -> Bounds:
        """Its ends may lie beyond the period; it is never longer than the circle."""
        half = np.minimum(deviate(level) * np.sqrt(self.variances(target)), math.pi * self._unit)
        return Bounds(self.values() - half, self.values() + half)
