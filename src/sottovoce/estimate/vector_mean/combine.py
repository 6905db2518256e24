"""The mean of each coordinate from several tallies: weighted sums of independent means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import NOT_POOLED, Bounds, Evidence, Flags, Floats, weighted_without_fakes
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.parts import OfParts
from sottovoce.estimate.request import Method, Target
from sottovoce.estimate.vector_mean.base import VectorEvidence


@dataclass(frozen=True, slots=True, eq=False)
class CombinedVectorEvidence(OfParts, VectorEvidence):
    """Independent vectors of means and their weights, which sum to one and do not depend on the reports."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    parts: tuple[VectorEvidence, ...]
    weights: Floats

    def values(self) -> Floats:
        return np.asarray(np.average([part.values() for part in self.parts], axis=0, weights=self.weights))

    def variances(self, target: Target) -> Floats:
        return np.asarray(self.weights**2 @ np.stack([part.variances(target) for part in self.parts]))

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        weights = np.repeat(self.weights[:, None], len(self.values()), axis=1)
        return weighted_without_fakes(fakes, self.values(), weights, self.parts)

    def normal_is_poor(self) -> Flags:
        return np.asarray(np.logical_or.reduce([part.normal_is_poor() for part in self.parts]))

    def _doubt(self, poor: int) -> str:
        return f"{poor} of {len(self.values())} coordinates: some budgets have too few reports to know their variance."


class VectorOfTally(VectorEvidence):
    """Means of coordinates from one tally."""

    __slots__ = ()

    def pooled(self, others: Sequence[Evidence], weights: Sequence[float] | None = None) -> CombinedVectorEvidence:
        parts = tuple(part for part in (self, *others) if isinstance(part, VectorEvidence))
        if weights is None or len(parts) <= len(others):
            raise ParameterError(NOT_POOLED)
        scaled = np.asarray(weights, float)
        same = all(part.question == self.question for part in parts)
        if scaled.shape != (len(parts),) or not (scaled > 0).all() or not same:
            raise ParameterError(
                "Combining vectors needs the same coordinates in each tally, and a positive weight for each."
            )
        return CombinedVectorEvidence(parts, scaled / scaled.sum())
