"""Shares of boxes from a tally of waves over the cells of a grid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.boxes.estimates import BoxesEstimate
from sottovoce.estimate.boxes.grid import Grid, Limits
from sottovoce.estimate.candidates import refuse
from sottovoce.estimate.distribution.answers import PartAnswer
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce.estimate.distribution.readings.decode import linear_decode
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Counted, Evidence, Floats, Ints, Offer
from sottovoce.estimate.request import Target
from sottovoce.tally.tally import Tally

if TYPE_CHECKING:
    import pandas as pd

READS = (CountOutputs,)


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
        rows = (part[None, :] for part in weights)
        parts, inner, outer = rows
        assert question is not None
        return PartAnswer(self, parts, Axes.of("box", [label]), (0.0, 1.0), question, inner=inner, outer=outer)

    def answer(self, question: Question) -> Evidence:
        return Evidence.answer(self, question)

    def read_as_numbers(self, question: Question) -> Evidence | None:
        return None

    def sentence(self, estimate: Estimate, level: float) -> str:
        shape = " x ".join(map(str, self.buckets.shape))
        return (
            f"The estimates of the shares of {shape} cells are {estimate.quality}; the standard error of an unbiased"
            f" share is about {np.median(estimate.std_errors):.2g}. Use range(...) for the share of a box."
        )

    def framed(self, table: pd.DataFrame) -> pd.DataFrame:
        return table


@dataclass(frozen=True, eq=False)
class WaveBoxes(GridEvidence, OutputsEvidence):
    """Counts of the outputs of a wave over the cells of a grid."""

    buckets: Grid  # type: ignore[assignment]
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.ALL_SHARES, Offer.LIKELIHOOD, Offer.GRID})


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> WaveBoxes:
    """The evidence of a tally."""
    refuse(mechanism, candidates)
    return from_cells(mechanism, tally.n, tally.cells)


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> WaveBoxes:
    """The evidence of cells that count outputs."""
    view: Any = mechanism.domain  # `Select`
    grid = Grid.of(view)
    transition = transition_of(mechanism.channel, len(grid))
    return WaveBoxes(grid, n, cells, transition, Counted(mechanism, n, cells))


def answer(source: Evidence, question: Question) -> Evidence | None:
    """Evidence about cells answers questions about all boxes of its record."""
    if not isinstance(source, GridEvidence) or source.question is None or source.question.domain != question.domain:
        return None
    return source


def predicted_variance(mechanism: Mechanism, shares: Any, n: int, *, target: Target = Target.POPULATION) -> Floats:
    """The exact variance of the unbiased share of each cell, for these true shares of n participants."""
    check_people("n", "variance", n)
    cells, truth = mechanism.channel.inputs, np.asarray(shares, float).ravel()
    if len(truth) != cells or not (truth.min() >= 0 and abs(truth.sum() - 1) <= 1e-9):
        raise ParameterError(f"The 'shares' parameter of variance must be {cells} shares that sum to 1, one a cell.")
    rates = transition_of(mechanism.channel, cells).forward(truth)
    return linear_decode(mechanism.channel, cells).variances(rates, target, truth) / n
