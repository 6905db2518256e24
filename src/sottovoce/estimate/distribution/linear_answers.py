"""Sums of the shares of a distribution and what follows from them, such as shares of a unit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.question import Question
from sottovoce.estimate.distribution.base import GUARDED, DistributionEvidence, kept_inside
from sottovoce.estimate.evidence import MOST_EXCESS, Bounds, Contributions, Evidence, most_excess

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate

Floats = NDArray[np.float64]


class AnswerEvidence(Evidence):
    """What was read from a distribution; `read` gives the same of any other shares of its buckets."""

    methods: ClassVar[tuple[str, ...]] = ("normal", GUARDED)
    source: DistributionEvidence
    __slots__ = ()

    @property
    def rows(self) -> Floats:
        """The linear functionals whose laws tell how good the intervals are."""
        raise NotImplementedError

    @property
    def default(self) -> str:  # type: ignore[override]
        return self.source.default_of(self.rows) if GUARDED in self.methods else "normal"

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.source.n

    def inside(self, level: float, method: str, target: str) -> Bounds:
        return kept_inside(self.interval(level, method, target), self.limits)

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.full(len(self.labels), self.warning() is not None)

    def warning(self) -> str | None:
        return self.source.doubt_of(self.rows, 0.95, most_excess(0.95))

    def doubt(self, method: str, level: float, most: float = MOST_EXCESS) -> str | None:
        return self.source.doubt_of(self.rows, level, most, method)

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

    @property
    def rows(self) -> Floats:
        return self.weights

    def interval(self, level: float, method: str, target: str) -> Bounds:
        bounds = self.normal(level, target)
        if method != GUARDED:
            return bounds
        return self.source.guarded(self.weights, bounds, level, target, room=self.slack)


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

    @property
    def rows(self) -> Floats:
        return self.source.checked_rows()

    def interval(self, level: float, method: str, target: str) -> Bounds:
        low, high = self.source.interval(level, method, target)
        return Bounds(low / self.source.buckets.widths, high / self.source.buckets.widths)
