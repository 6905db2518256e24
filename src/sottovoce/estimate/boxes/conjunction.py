"""Shares of boxes from reports that hold something about every field of a person, each randomized by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.domain import Select
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Boxes
from sottovoce.estimate.boxes.base import GridEvidence
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.estimate.evidence import POOR_BELOW, Floats, Functional, Ints, Offer
from sottovoce.estimate.joint.joined import JoinedTables
from sottovoce.estimate.request import Method, Target


@dataclass(frozen=True, eq=False)
class ConjunctionBoxes(GridEvidence):
    """The shares of the cells of a grid as means of products of scores, one score for each field."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    curve_methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    curve_decoder: ClassVar[str] = "simplex"
    counted: ClassVar[None] = None  # type: ignore[misc]
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.ALL_SHARES})
    buckets: Grid
    asked: Boxes
    tables: JoinedTables
    question = delegated("asked")
    n = delegated("tables.n")

    @classmethod
    def of(cls, mechanism: Mechanism, cells: Ints) -> ConjunctionBoxes:
        """The evidence of a tally."""
        record: Any = mechanism.domain
        question: Any = mechanism.question  # `Boxes`
        grid = Grid.of(Select(record, record.labels()))
        sizes = dict(zip(grid.names, grid.shape, strict=True))
        parts = zip(mechanism.channel.parts, grid.shape, strict=True)
        laws = tuple(np.asarray(transition_of(part, size).matrix.T, np.float64) for part, size in parts)
        counts = np.asarray(cells).reshape([law.shape[1] for law in laws])
        if not counts.sum():
            raise ParameterError("Nothing can be estimated yet: no report was counted.")
        return cls(grid, question, JoinedTables(sizes, grid.names, laws, counts))

    def values(self) -> Floats:
        return self.tables.values(self.buckets.names).ravel()

    def variances(self, target: Target) -> Floats:
        return self.tables.variances(self.buckets.names, target).ravel()

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        rows = np.atleast_2d(weights)
        shaped = rows.reshape(len(rows), *self.buckets.shape)
        return Functional(rows @ self.values(), self.tables.covariance([(self.buckets.names, shaped)], target))

    def covariance(self, target: Target) -> Floats:
        self.check_together(f"The covariance of {len(self.buckets)} cells")
        return self.functional(np.eye(len(self.buckets)), target).covariance

    def few(self) -> str | None:
        """The warning where too few reports are expected of each combination."""
        if self.n >= POOR_BELOW * len(self.buckets):
            return None
        return "The normal interval is poor: too few reports for so many cells. Ask more participants."
