"""Shares from the cells of a general finite channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Table
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.errors import NoIntervalError, ParameterError
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Contributions, Counted
from sottovoce.estimate.shares.base import moved_inside
from sottovoce.estimate.shares.combine import SharesOfTally
from sottovoce.estimate.shares.intervals.binomials import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MatrixEvidence(SharesOfTally):
    """Cells of a finite channel without supports; `inverse` maps output shares to unbiased code shares."""

    cells: Ints
    n: int
    inverse: Floats
    law: Floats  # one row for each code
    counted: Counted | None = None
    picks: ClassVar[bool] = False

    def values(self) -> Floats:
        return np.asarray(self.inverse @ (self.cells / self.n))

    def variances(self, target: str) -> Floats:
        values = self.values()
        first = values**2 if target == "population" else np.clip(values, 0, 1)
        each = self.inverse**2 @ (self.cells / self.n) - first
        # The outputs that support a code may all be missing. Then those of the nearest shares replace them.
        nearest = np.clip(simplex(values), 0, 1)
        stand_in = self.inverse**2 @ (nearest @ self.law) - (nearest**2 if target == "population" else nearest)
        return np.asarray(np.where(each > 1e-12 * stand_in, each, stand_in) / self.n)

    def contributions(self) -> Contributions:
        """An output is read as its column of the inverse."""
        return Contributions(self.inverse.min(axis=1), self.inverse.max(axis=1), np.full(len(self.inverse), self.n))

    def reach_of(self, weights: Floats) -> float:
        return float(np.ptp(weights @ self.inverse))

    def null_errors(self) -> Floats:
        """Other codes contribute through the observed outputs."""
        return np.asarray(np.sqrt(self.inverse**2 @ (self.cells / self.n) / self.n))

    def inside(self, level: float, method: str, target: str) -> Bounds:
        """The estimate moved into [0, 1], plus and minus as much as without moving it."""
        return moved_inside(self, self.interval(level, "exact" if method == "bounded" else method, target))

    def moved(self) -> tuple[MatrixEvidence, MatrixEvidence]:
        raise NoIntervalError("A general table has no bounded interval for its shares; use method='normal'.")

    def exact(self, level: float, target: str) -> Bounds:
        raise NoIntervalError("A general table has no exact interval for its shares; use method='normal'.")

    def wilson(self, level: float) -> Bounds:
        raise NoIntervalError("A general table has no Wilson interval for its shares; use method='normal'.")

    def excess(self, method: str, level: float) -> Floats:
        return np.zeros(len(self.inverse))

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.full(len(self.inverse), self.cells[self.inverse.any(axis=0)].min() < POOR_BELOW)


def output_law(channel: Channel) -> Floats:
    """The law of a channel with numbered outputs, one row per code."""
    outputs = outputs_of(channel)
    if outputs is None or channel.publics:
        raise TypeError(f"The reports of a {channel.kind} channel are not numbered.")
    if isinstance(channel, Table):
        return np.array(channel.rows, float) / float(sum(channel.rows[0]))
    return np.array([[float(channel.likelihood(y, c)) for y in range(outputs)] for c in channel.codes()])


def left_inverse(channel: Channel) -> Floats:
    """The unbiased linear estimator of least variance when all codes are equally common."""
    law = output_law(channel)
    weight = law.mean(axis=0)
    used = weight > 0
    scaled = law[:, used] / weight[used]
    gram = scaled @ law[:, used].T
    if np.linalg.cond(gram) > 1e12:
        raise ParameterError("The rows of this table are linearly dependent, so there is no unbiased estimate.")
    inverse = np.zeros_like(law)
    inverse[:, used] = np.linalg.solve(gram, scaled)
    return inverse
