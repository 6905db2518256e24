"""One mean from several tallies: a weighted sum of independent means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Evidence
from sottovoce.estimate.mean.mean import MeanEvidence

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Combined(Evidence):
    """Independent means and their weights, which sum to one and do not depend on what was reported."""

    methods: ClassVar[tuple[str, ...]] = ("normal", "hoeffding")
    default: ClassVar[str] = "normal"
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

    def labels(self, domain: Domain) -> Sequence[object]:
        return ("mean",)

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

    def project(self, name: str) -> Floats:
        if name != "range":
            raise ParameterError("There is no such projection of a mean. Known: range.")
        return np.clip(self.values(), *self.limits)

    @property
    def heterogeneity(self) -> float:
        """How likely means at least this far apart were, if all parts had the same mean (Cochran's Q, chi-square)."""
        means, variances = self._means(), self._variances("population")
        if not (variances > 0).all():
            return float(np.ptp(means) == 0)  # no noise was seen at all
        precision = 1 / variances
        centre = np.dot(precision, means) / precision.sum()
        return float(chdtrc(len(means) - 1, np.dot(precision, (means - centre) ** 2))) if len(means) > 1 else 1.0


def combine(estimates: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """The weighted sum; weights are scaled to sum to one. It answers for the largest budget among the parts."""
    parts = [estimate.evidence for estimate in estimates]
    means = tuple(part for part in parts if isinstance(part, MeanEvidence))
    scaled = np.asarray(weights, float)
    if not means or len(means) != len(parts) or scaled.shape != (len(parts),) or not (scaled > 0).all():
        raise ParameterError("Means are combined with one positive weight each, and there is at least one.")
    found = Combined(means, scaled / scaled.sum())
    spender = max((estimate.mechanism for estimate in estimates), key=lambda mechanism: mechanism.epsilon)
    cells = np.concatenate([estimate.cells for estimate in estimates])
    errors, simulated = np.sqrt(found.variances("population")), any(estimate.simulated for estimate in estimates)
    return Estimate(spender, found.n, found.values(), errors, found, cells, simulated=simulated)
