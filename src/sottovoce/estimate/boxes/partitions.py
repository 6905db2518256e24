"""Shares of boxes from reports about parts of a grid: levels of trees, coarse grids, parts that were split.

Each arm of a protocol asks in which part of a grid an answer lies. Parts of one arm do not overlap, and parts of
different arms may. The shares of cells are the weighted least squares of the parts of all arms: unbiased for every sum
of cells that some arm tells, and spread evenly over cells that no arm tells apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from scipy.sparse import csr_array

from sottovoce.core.declared import delegated
from sottovoce.core.domain import Select
from sottovoce.core.domain.places import base_of, counts_of, places_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Boxes
from sottovoce.estimate.boxes.base import GridEvidence
from sottovoce.estimate.boxes.grid import CellWeights, Grid
from sottovoce.estimate.boxes.grids import consistent, pair_table
from sottovoce.estimate.boxes.tree import AdaptiveTree
from sottovoce.estimate.evidence import POOR_BELOW, Floats, Functional, Ints, Offer
from sottovoce.estimate.frequency.supports import SupportsEvidence, two_rates
from sottovoce.estimate.joint.residuals import ContrastVariance
from sottovoce.estimate.request import Method, Target

MOST_DENSE = 1 << 10  # cells whose standard errors are computed; those of boxes are for any number
_NEAR = 1e-11  # of the residual of the least squares, relative to the start
_TINY = 1e-9
_RIDGE = 1e-12  # of the information, where reports do not tell cells apart


def over(grid: Grid, names: Sequence[str], places: Sequence[int]) -> Ints:
    """The parts of the cells of some fields as parts of all cells of a grid."""
    shape = [len(buckets) if name in names else 1 for name, buckets in zip(grid.names, grid.each, strict=True)]
    return np.broadcast_to(np.reshape(places, shape), grid.shape).ravel()


# --- readings -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class PartReading:
    """The reports of one arm: unbiased shares of parts, which sum to one, and the law of their errors.

    `n` and `shares` are of all reports; where reports have weights, `n` is the number of reports without weights that
    would tell as much.
    """

    names: tuple[str, ...]  # the fields that the parts are about
    shape: tuple[int, ...]  # how many parts each of them has; one number where they are parts of all together
    parts: Ints  # the part of each cell
    shares: Floats
    n: float
    law: ContrastVariance
    expected: float  # the least number of supporting, or missing, reports of a part without answers

    @classmethod
    def of(cls, grid: Grid, mechanism: Mechanism, n: int, cells: Ints) -> PartReading:
        """The reading of a tally, over the cells of a grid that has all of its fields."""
        view: Any = mechanism.domain
        chosen: Any = base_of(view)  # `Select`
        parts = over(grid, chosen.names, places_of(view))
        own, other = two_rates(mechanism.channel)
        raw = SupportsEvidence(cells, max(n, 1), own, other).values()
        law = ContrastVariance.of(mechanism.channel)
        return cls(
            chosen.names, counts_of(view), parts, raw + (1 - raw.sum()) / len(raw), n, law, n * min(other, 1 - own)
        )

    @cached_property
    def matrix(self) -> csr_array:
        """One row for each part, with a one for each of its cells."""
        cells = len(self.parts)
        return csr_array((np.ones(cells), (self.parts, np.arange(cells))), (len(self.shares), cells))

    @property
    def weight(self) -> float:
        """The inverse variance of a contrast of parts, where all are equally common."""
        return self.n / (self.law.free + self.law.slope / len(self.shares))

    @property
    def variance(self) -> float:
        """The variance of the share of a part that holds few answers."""
        return self.law.free / self.n

    @cached_property
    def likely(self) -> Floats:
        """Shares that are possible, for errors."""
        return np.asarray(np.maximum(self.shares, 0) / np.maximum(self.shares, 0).sum())

    def variances(self, weights: Floats, target: Target) -> Floats:
        """The variances of sums of parts with these weights, one row each; for one row, of each part by itself."""
        if weights.ndim == 1:
            parts, share = len(weights), self.likely
            squares = share * (1 - 2 / parts) + 1 / parts**2
            spread = (share - 1 / parts) ** 2 if target == Target.POPULATION else squares
            each = self.law.free * (1 - 1 / parts) + self.law.slope * squares - spread
            return np.asarray(weights**2 * each / self.n)
        rows = weights - weights.mean(axis=1, keepdims=True)
        squares = rows**2
        total = self.law.free * squares.sum(axis=1) + self.law.slope * squares @ self.likely
        total -= (rows @ self.likely) ** 2 if target == Target.POPULATION else squares @ self.likely
        return np.asarray(total / self.n)

    def covariance(self, weights: Floats, target: Target) -> Floats:
        """The covariance of sums of parts with these weights, one row each."""
        rows = weights - weights.mean(axis=1, keepdims=True)  # shares sum to one
        scaled = rows * self.likely
        total = self.law.free * rows @ rows.T + self.law.slope * scaled @ rows.T
        means = scaled.sum(axis=1)
        total -= np.outer(means, means) if target == Target.POPULATION else scaled @ rows.T
        return np.asarray(total / self.n)


@dataclass(frozen=True, eq=False)
class PartitionBoxes(GridEvidence):
    """The shares of the cells of a grid from the readings of several arms.

    `layers` holds what a decoder may use beside them: readings about parts that were chosen after looking at earlier
    ones, whose least squares would not be unbiased. Where coins choose who is asked about which parts, an interval for
    the participants allows for that choice: it is as wide as one for the population.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    curve_methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    curve_decoder: ClassVar[str] = "simplex"
    counted: ClassVar[None] = None  # type: ignore[misc]
    buckets: Grid
    asked: Boxes
    readings: tuple[PartReading, ...]
    layers: tuple[PartReading, ...] = ()
    everybody: bool = False  # whether every participant was asked about the same parts
    question = delegated("asked")

    @property
    def n(self) -> int:
        return round(sum(one.n for one in self.layers or self.readings))

    @property
    def offers(self) -> frozenset[Offer]:
        return frozenset({Offer.ALL_SHARES} | ({Offer.FITTED} if self.layers or self._grids else set()))

    @property
    def _grids(self) -> bool:
        """Whether the readings are those of one grid over each of some fields and over both."""
        about = [one.names for one in self.readings if len(one.names) == len(one.shape)]
        return len(self.buckets.names) == 2 and len({*about}) == len(self.readings)

    def fitted_shares(self) -> Floats:
        """The shares that the authors of AHEAD, or of HDG, find."""
        if self.layers:
            layers = [(one.shares, one.variance) for one in self.layers]
            return AdaptiveTree.after(self.buckets.shape, layers, last=True).shares()
        names, sizes = self.buckets.names, dict(zip(self.buckets.names, self.buckets.shape, strict=True))
        grids = {one.names: one.shares.reshape(one.shape) for one in self.readings}
        return pair_table(consistent(grids, sizes), names, sizes).ravel()

    # --- least squares ----------------------------------------------------------------------------------
    @cached_property
    def _fit(self) -> Floats:
        cells = len(self.buckets)
        even = np.full(cells, 1 / cells)
        told = [one.weight * (one.matrix.T @ (one.shares - one.matrix @ even)) for one in self.readings]
        return np.asarray(even + self._solved(np.sum(told, axis=0)[None, :])[0])

    def values(self) -> Floats:
        return self._fit

    def _information(self, rows: Floats) -> Floats:
        """The information of all readings about differences of cells, times rows of weights."""
        columns = (rows - rows.mean(axis=1, keepdims=True)).T
        total = sum(one.weight * (one.matrix.T @ (one.matrix @ columns)) for one in self.readings)
        result = np.asarray(total).T
        return np.asarray(result - result.mean(axis=1, keepdims=True), np.float64)

    def _solved(self, rows: Floats) -> Floats:
        """The shortest solutions of the least squares, by conjugate gradients, one row each."""
        residual = rows - rows.mean(axis=1, keepdims=True)
        found, ahead = np.zeros_like(residual), residual
        size = first = (residual**2).sum(axis=1)
        for _ in range(4 * len(self.readings) + 40):
            if (size <= _NEAR**2 * first).all():
                break
            moved = self._information(ahead)
            curved = (ahead * moved).sum(axis=1)
            step = np.where(curved > 0, size / np.where(curved > 0, curved, 1), 0.0)[:, None]
            found, residual = found + step * ahead, residual - step * moved
            before, size = size, (residual**2).sum(axis=1)
            ahead = residual + (size / np.where(before > 0, before, 1))[:, None] * ahead
        return np.asarray(found, np.float64)

    def _allowing(self, target: Target) -> Target:
        """What variances are computed for: a part of the participants is a sample of all of them."""
        return target if self.everybody else Target.POPULATION

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        target = self._allowing(target)
        rows = np.atleast_2d(weights)
        solved = self._solved(rows)
        parts = (one.covariance(one.weight * (one.matrix @ solved.T).T, target) for one in self.readings)
        return Functional(rows @ self.values(), np.sum(list(parts), axis=0))

    def variances(self, target: Target) -> Floats:
        """The variances of all cells, from the inverse of the information as a matrix."""
        target = self._allowing(target)
        if len(self.readings) == 1:
            (one,) = self.readings
            size = np.bincount(one.parts)
            return np.asarray((one.variances(np.ones(len(size)), target) / size**2)[one.parts], np.float64)
        cells = len(self.buckets)
        if cells > MOST_DENSE:
            return np.full(cells, np.nan)
        information = sum(one.weight * (one.matrix.T @ one.matrix).toarray() for one in self.readings)
        information = information - information.mean(axis=0)
        information -= information.mean(axis=1, keepdims=True)
        information[np.diag_indices(cells)] += _RIDGE * information.trace()
        solved = linalg.inv(information + information.trace() / cells, overwrite_a=True)
        solved -= solved.mean(axis=0)
        total = np.zeros(cells)
        for one in self.readings:
            total += one.variances((one.weight * (one.matrix @ solved)).T, target)
        return total

    def covariance(self, target: Target) -> Floats:
        cells = len(self.buckets)
        self.check_together(f"The covariance of {cells} cells")
        return self.functional(np.eye(cells), target).covariance

    # --- boxes ------------------------------------------------------------------------------------------
    def told(self, weights: CellWeights) -> CellWeights:
        """The weights of a box whose inner and outer part are sums of parts that one arm tells.

        The arm whose parts lie closest around the box, and of these the one with the most reports.
        """
        best: tuple[float, float] | None = None
        inner, outer = weights.inner, weights.outer
        for one in self.readings:
            size = np.bincount(one.parts)
            within = np.bincount(one.parts, weights.inner) >= size - _TINY
            touched = np.bincount(one.parts, weights.outer) > _TINY
            key = (float(size[touched & ~within].sum()), -one.n)
            if best is None or key < best:
                best, inner, outer = key, within[one.parts].astype(float), touched[one.parts].astype(float)
        return CellWeights(weights.parts, inner, outer)

    def few(self) -> str | None:
        """The warning where some arm has too few reports for the normal law."""
        if self.readings and min(one.expected for one in self.readings) >= POOR_BELOW:
            return None
        return "The normal interval is poor: some parts of the grid have too few reports. Ask more participants."


def readings_of(grid: Grid, tallies: Iterable[Any]) -> tuple[PartReading, ...]:
    """The readings of all tallies with reports, over the cells of a grid."""
    return tuple(PartReading.of(grid, one.mechanism, one.n, one.cells) for one in tallies if one.n)


def partition_boxes(
    question: Boxes, base: Select, tallies: Sequence[Any], layers: Sequence[Any] = (), *, everybody: bool = False
) -> PartitionBoxes:
    """The evidence of the tallies of several arms over the cells of a base grid; `everybody` if one arm asks all."""
    grid = Grid.of(base)
    readings = readings_of(grid, tallies)
    if not readings:
        raise ParameterError("Nothing can be estimated yet: no report was counted.")
    return PartitionBoxes(grid, question, readings, readings_of(grid, layers), everybody)
