"""One mean from several tallies: a weighted sum of independent means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import Bounds, Floats, weighted_without_fakes
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.mean.single import SingleMean
from sottovoce.estimate.parts import OfParts
from sottovoce.estimate.prior import Prior, expected_answers
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    from sottovoce.estimate.mean.evidence import MeanEvidence

UNLIKE = "Combining means needs at least one mean, and a positive weight for each."


@dataclass(frozen=True, slots=True, eq=False)
class CombinedMeanEvidence(OfParts, SingleMean):
    """Independent means and their weights, which sum to one and do not depend on the reports."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL, Method.HOEFFDING)
    parts: tuple[MeanEvidence, ...]
    weights: Floats

    def values(self) -> Floats:
        means = np.concatenate([part.values() for part in self.parts])
        return np.array([float(np.dot(self.weights, means))])

    def variances(self, target: Target) -> Floats:
        return np.array([float(np.dot(self.weights**2, self._variances(target)))])

    def _variances(self, target: Target) -> Floats:
        return np.concatenate([part.variances(target) for part in self.parts])

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        return weighted_without_fakes(fakes, self.values(), self.weights[:, None], self.parts)

    def other_interval(self, request: IntervalRequest) -> Bounds:
        # Reading i of part k moves the sum by at most weight_k reach_k / n_k.
        squares = sum((w * part.reach) ** 2 / part.n for w, part in zip(self.weights, self.parts, strict=True))
        half = math.sqrt(squares * math.log(2 / (1 - request.level)) / 2)
        return Bounds(self.values() - half, self.values() + half)

    @property
    def poor(self) -> bool:
        return any(part.poor for part in self.parts)

    def warning(self) -> str | None:
        return next(filter(None, (part.warning() for part in self.parts)), None)


def precision(mechanism: Mechanism, n: int, prior: Prior | None = None) -> float:
    """Participants over the expected variance of one report, noise and spread of answers (even without a prior)."""
    belief = expected_answers(mechanism.question.domain) if prior is None else prior
    return n / (mechanism.average_variance(belief) + belief.variance)


def weighted_mean(parts: tuple[MeanEvidence, ...], weights: Sequence[float] | None) -> CombinedMeanEvidence:
    """The weighted sum of means. Weights are scaled to sum to one; the default ones have the least variance."""
    if weights is None:
        weights = [precision(part.counted.mechanism, part.n) for part in parts if part.counted is not None]
    scaled = np.asarray(weights, float)
    if scaled.shape != (len(parts),) or not (scaled > 0).all():
        raise ParameterError(UNLIKE)
    return CombinedMeanEvidence(parts, scaled / scaled.sum())
