"""The outcome of a joint fit: its model, beside the model in which all attributes are independent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sottovoce.estimate.decoder import Fit
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.joint.latent import BucketClasses, LatentClasses


class JointModel(Protocol):
    """A joint distribution of all attributes."""

    def table(self, names: Sequence[str]) -> Floats:
        """The share of each cell of a table, in the order of the names."""

    def draw(self, count: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """The codes of so many records, by attribute."""


@dataclass(frozen=True, slots=True)
class JointFit(Fit):
    """A model of all attributes together, and the independent one. A strength of 0 means that independence won."""

    model: JointModel
    independent: LatentClasses
    strength: float
    said: str = ""  # what the values are, where they are not those of latent classes

    def sentences(self) -> tuple[str, ...]:
        if self.said:
            return self.said, "Compare it with independence: `decoded('independence')`."
        if not self.strength:
            return (
                "The values are those of independent attributes: no dependence that the reports show predicts better.",
                "Intervals are those of the unbiased shares.",
            )
        classes = len(self.model.weights) if isinstance(self.model, (LatentClasses, BucketClasses)) else 0
        return (
            f"The values are those of a fit with {classes} latent classes; intervals are those of the unbiased shares.",
            "Compare it with independence: `decoded('independence')`.",
        )
