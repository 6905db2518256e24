"""Shares from the cells of a general finite channel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Contributions, Counted, Flags, Floats, Ints
from sottovoce.estimate.frequency.base import moved_inside
from sottovoce.estimate.frequency.combine import SharesOfTally
from sottovoce.estimate.frequency.laws import left_inverse, output_law
from sottovoce.estimate.reading import MatrixReading
from sottovoce.estimate.request import IntervalRequest, Method, Target


@dataclass(frozen=True, eq=False)
class MatrixEvidence(SharesOfTally):
    """Cells of a finite channel without supports; `inverse` maps output shares to unbiased code shares."""

    cells: Ints
    n: int
    inverse: Floats
    law: Floats  # one row for each code
    counted: Counted | None = None
    origin: ClassVar[str] = "a general table"
    picks: ClassVar[bool] = False
    reach_of = delegated("reading.reach")

    @cached_property
    def reading(self) -> MatrixReading:
        """An output is read as its column of the inverse."""
        return MatrixReading(self.inverse)

    @cached_property
    def rates(self) -> Floats:
        """How often each output was sent."""
        return np.asarray(self.cells / self.n)

    def values(self) -> Floats:
        return self.reading.values(self.rates)

    def variances(self, target: Target) -> Floats:
        values = self.values()
        variances = self.reading.variances(self.rates, target, np.clip(values, 0, 1))
        # The outputs that support a code may all be missing. Then those of the nearest shares replace them.
        nearest = np.clip(simplex(values), 0, 1)
        stand_in = self.reading.variances(nearest @ self.law, target, nearest)
        return np.asarray(np.where(variances > 1e-12 * stand_in, variances, stand_in) / self.n)

    def cell_scores(self, mechanism: Mechanism, codes: Ints) -> Floats:
        return self.inverse

    def contributions(self) -> Contributions:
        return self.reading.contributions(np.eye(len(self.inverse)), self.n)

    def null_errors(self) -> Floats:
        """Other codes contribute through the observed outputs."""
        return np.asarray(np.sqrt(self.reading.squares(self.rates) / self.n))

    def inside(self, request: IntervalRequest) -> Bounds:
        """The estimate moved into [0, 1], plus and minus as much as without moving it."""
        return moved_inside(self, self.interval(request.instead_of(Method.BOUNDED, use=Method.EXACT)))

    def excess(self, request: IntervalRequest) -> Floats:
        return np.zeros(len(self.inverse))

    def normal_is_poor(self) -> Flags:
        return np.full(len(self.inverse), self.cells[self.inverse.any(axis=0)].min() < POOR_BELOW)


def from_cells(counted: Counted) -> MatrixEvidence:
    """The evidence of a tally of outputs."""
    channel = counted.mechanism.channel
    return MatrixEvidence(counted.cells, counted.n, left_inverse(channel), output_law(channel), counted)


def predicted_variance(mechanism: Mechanism, truth: Floats, n: int, target: Target) -> Floats:
    """The exact variance of each share, for these true shares."""
    reading = MatrixReading(left_inverse(mechanism.channel))
    return reading.variances(truth @ output_law(mechanism.channel), target, truth) / n
