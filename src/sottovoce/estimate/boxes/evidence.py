"""Shares of boxes from a tally: of a wave over the cells of a grid, or of reports about parts of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.places import base_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.core.statistic.joint import CountJoint
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.boxes.base import GridEvidence
from sottovoce.estimate.boxes.conjunction import ConjunctionBoxes
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.estimate.boxes.partitions import PartitionBoxes, partition_boxes
from sottovoce.estimate.candidates import refuse
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce.estimate.distribution.readings.decode import linear_decode
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.estimate.evidence import Counted, Evidence, Floats, Ints, Offer, floats_of
from sottovoce.estimate.request import Target
from sottovoce.tally.tally import Tally

READS = (CountOutputs, CountSupports, CountJoint)


@dataclass(frozen=True, eq=False)
class WaveBoxes(GridEvidence, OutputsEvidence):
    """Counts of the outputs of a wave over the cells of a grid."""

    buckets: Grid  # type: ignore[assignment]
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.ALL_SHARES, Offer.LIKELIHOOD, Offer.GRID})


def evidence(
    mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None
) -> WaveBoxes | PartitionBoxes | ConjunctionBoxes:
    """The evidence of a tally."""
    refuse(mechanism, candidates)
    if isinstance(mechanism.statistic, CountJoint):
        return ConjunctionBoxes.of(mechanism, tally.cells)
    view: Any = base_of(mechanism.domain)  # `Select`
    if isinstance(mechanism.statistic, CountSupports) or view != mechanism.domain:
        question: Any = mechanism.question  # `Boxes`
        return partition_boxes(question, view, [tally], everybody=True)
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
    cells, truth = mechanism.channel.inputs, floats_of(shares).ravel()
    if len(truth) != cells or not (truth.min() >= 0 and abs(truth.sum() - 1) <= 1e-9):
        raise ParameterError(f"The 'shares' parameter of variance must be {cells} shares that sum to 1, one a cell.")
    rates = transition_of(mechanism.channel, cells).forward(truth)
    return linear_decode(mechanism.channel, cells).variances(rates, target, truth) / n
