"""Shares of items from a sample of the items that people hold, scaled up for those that were not drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.declared import delegated
from sottovoce.estimate.evidence import Evidence, Floats
from sottovoce.estimate.request import Method, Target


@dataclass(frozen=True, eq=False)
class ScaledShares(Evidence):
    """Shares times a factor: how many items people hold over how many they could have drawn."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    noun: ClassVar[str] = "share"
    quality: ClassVar[str] = "scaled up"
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    shares: Evidence
    factor: float
    n = delegated("shares.n")
    axes = delegated("shares.axes")
    question = delegated("shares.question")
    normal_is_poor = delegated("shares.normal_is_poor")

    def values(self) -> Floats:
        return self.factor * self.shares.values()

    def variances(self, target: Target) -> Floats:
        return self.factor**2 * self.shares.variances(target)

    def warning(self) -> str | None:
        poor = int(self.normal_is_poor().sum())
        return (
            f"The normal intervals of {poor} of {len(self.values())} shares are poor: too few reports."
            if poor
            else None
        )

    def sentence(self, estimate: object, level: float) -> str:
        return f"Shares of {len(self.values())} items, scaled up by {self.factor:.3g} for items that were not drawn."
