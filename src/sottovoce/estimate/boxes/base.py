"""Evidence about the shares of the cells of a grid, whatever the reports say about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.boxes.estimates import BoxesEstimate
from sottovoce.estimate.boxes.grid import CellWeights, Grid, Limits
from sottovoce.estimate.distribution.answers import PartAnswer
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Evidence

if TYPE_CHECKING:
    import pandas as pd


class GridEvidence(DistributionEvidence):
    """Evidence about the shares of the cells of a grid, `buckets`."""

    picture: ClassVar[str] = "estimate.boxes.picture:plot"
    estimate_class: ClassVar[type[Estimate]] = BoxesEstimate
    noun: ClassVar[str] = "share of a cell"
    curve_decoder: ClassVar[str] = "grid-prior"
    distribution: ClassVar[None] = None  # type: ignore[assignment]
    buckets: Grid  # type: ignore[assignment]
    axes: Axes = delegated("buckets.axes")

    def boxes(self, boxes: Sequence[Limits], *, outside: bool = False) -> PartAnswer:
        """The share of the answers in at least one of the boxes, or of all others."""
        grid, question = self.buckets, self.question
        weights = grid.union(boxes)
        label = " or ".join(map(grid.label, boxes))
        if outside:
            weights, label = weights.complement(), f"not ({label})"
        rows = (part[None, :] for part in self.told(weights))
        parts, inner, outer = rows
        assert question is not None
        return PartAnswer(self, parts, Axes.of("box", [label]), (0.0, 1.0), question, inner=inner, outer=outer)

    def told(self, weights: CellWeights) -> CellWeights:
        """The weights of a box, with an inner and an outer part whose shares the reports tell without bias."""
        return weights

    def answer(self, question: Question) -> Evidence:
        return Evidence.answer(self, question)

    def read_as_numbers(self, question: Question) -> Evidence | None:
        return None

    def sentence(self, estimate: Estimate, level: float) -> str:
        shape = " x ".join(map(str, self.buckets.shape))
        error = float(np.median(estimate.std_errors))
        known = "" if np.isnan(error) else f"; the standard error of an unbiased share is about {error:.2g}"
        return (
            f"The estimates of the shares of {shape} cells are {estimate.quality}{known}. Use range(...) for the share"
            " of a box."
        )

    def framed(self, table: pd.DataFrame) -> pd.DataFrame:
        return table
