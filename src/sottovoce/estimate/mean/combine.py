"""One mean from several tallies: a weighted sum of independent means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Evidence, weighted_without_fakes
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.prior import Prior, expected_answers
from sottovoce.estimate.same import p_value

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class CombinedMeanEvidence(Evidence):
    """Independent means and their weights, which sum to one and do not depend on the reports."""

    methods: ClassVar[tuple[str, ...]] = ("normal", "hoeffding")
    default: ClassVar[str] = "normal"
    noun: ClassVar[str] = "mean"
    labels: ClassVar[tuple[str, ...]] = ("mean",)  # type: ignore[misc]
    parts: tuple[MeanEvidence, ...]
    weights: Floats

    @property
    def n(self) -> int:  # type: ignore[override]
        return sum(part.n for part in self.parts)

    @property
    def limits(self) -> tuple[float, float]:
        return self.parts[0].limits

    def _means(self) -> Floats:
        return np.concatenate([part.values() for part in self.parts])

    def _variances(self, target: str) -> Floats:
        return np.concatenate([part.variances(target) for part in self.parts])

    def values(self) -> Floats:
        return np.array([float(np.dot(self.weights, self._means()))])

    def variances(self, target: str) -> Floats:
        return np.array([float(np.dot(self.weights**2, self._variances(target)))])

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        return weighted_without_fakes(fakes, self.values(), self.weights[:, None], self.parts)

    def interval(self, level: float, method: str, target: str) -> Bounds:
        if method == "normal":
            return self.normal(level, target)
        # Reading i of part k moves the sum by at most weight_k reach_k / n_k.
        squares = sum((w * part.reach) ** 2 / part.n for w, part in zip(self.weights, self.parts, strict=True))
        half = math.sqrt(squares * math.log(2 / (1 - level)) / 2)
        return Bounds(self.values() - half, self.values() + half)

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.array([any(part.normal_is_poor()[0] for part in self.parts)])

    def warning(self) -> str | None:
        return next(filter(None, (part.warning() for part in self.parts)), None)

    @property
    def heterogeneity(self) -> float:
        """The p-value of the hypothesis that all parts have the same mean."""
        return p_value(self._means()[:, None], self._variances("population")[:, None])


def precision(estimate: Estimate, prior: Prior | None = None) -> float:
    """Participants over the expected variance of one report, noise and spread of answers (even without a prior)."""
    belief = expected_answers(estimate.question.domain) if prior is None else prior
    return estimate.n / (estimate.mechanism.average_variance(belief) + belief.variance)


def combine(estimates: Sequence[Estimate], weights: Sequence[float] | None = None) -> Estimate:
    """The weighted sum; weights are scaled to sum to one, and those of least variance by default."""
    parts = [estimate.evidence for estimate in estimates]
    means = tuple(part for part in parts if isinstance(part, MeanEvidence))
    scaled = np.asarray(list(map(precision, estimates)) if weights is None else weights, float)
    if not means or len(means) != len(parts) or scaled.shape != (len(parts),) or not (scaled > 0).all():
        raise ParameterError("Combining means needs at least one mean, and a positive weight for each.")
    return together(CombinedMeanEvidence(means, scaled / scaled.sum()), estimates)


def together(found: CombinedMeanEvidence, estimates: Sequence[Estimate]) -> Estimate:
    """The estimate from means that were estimated one by one."""
    simulated = any(estimate.simulated for estimate in estimates)
    sources = [source for estimate in estimates for source in estimate.sources]
    return Estimate.of(estimates[0].question, found, sources, simulated=simulated)
