"""The linear program of a channel for a mean: which table has the least variance under a privacy budget?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from sottovoce.core.errors import SottovoceError
from sottovoce.design.layout import Floats, Layout

TOLERANCE = 1e-10
# Between two inputs the variance is a parabola. It is held down at its quarters; in between it can rise above them
# by at most BULGE squared steps.
QUARTERS = (0.25, 0.5, 0.75)
BULGE = 1 / 64


@dataclass(frozen=True, slots=True)
class Solution:
    """A law in floats, close to the optimum; only its integer rows are ever shipped."""

    layout: Layout
    law: Floats
    value: float

    @property
    def variances(self) -> Floats:
        """Variances of a report at each input, without rounding."""
        gaps = self.layout.y[None, :] - self.layout.x[:, None]
        return np.asarray((self.law * gaps**2).sum(axis=1))


@dataclass(slots=True)
class _SparseRows:
    """Sparse constraints, gathered row by row."""

    data: list[Floats] = field(default_factory=list)
    columns: list[NDArray[np.int64]] = field(default_factory=list)
    right: list[float] = field(default_factory=list)

    def add(self, columns: ArrayLike, values: ArrayLike, right: float) -> None:
        self.columns.append(np.asarray(columns, np.int64))
        self.data.append(np.asarray(values, float))
        self.right.append(right)

    def matrix(self, width: int) -> csr_array:
        ends = np.cumsum([0] + [len(part) for part in self.columns])
        return csr_array((np.concatenate(self.data), np.concatenate(self.columns), ends), shape=(len(ends) - 1, width))


class Program:
    """Least variance of an unbiased channel between two grids, all its likelihood ratios at most `ratio`.

    The law is q(y|i) = m_y + r(y|i) with 0 <= r(y|i) <= (ratio - 1) m_y: half the constraints of m <= q <= ratio m,
    and a lower bound that the solver cannot miss. Both kinds of variables are scaled to be of the same size, so
    that neither epsilon = 0.01 nor epsilon = 20 asks for numbers below the solver's tolerance. The moments of m
    are variables of their own (`S`, `T`, `W` = sum of m, m y, m y**2), and so are the variances; that keeps every
    other row short. Where weights and goal are symmetric, only half of the inputs have variables.
    """

    def __init__(self, layout: Layout, ratio: float, *, symmetric: bool = True) -> None:
        self.layout, self.symmetric = layout, symmetric
        self.rows = (layout.inputs + 1) // 2 if symmetric else layout.inputs
        self.excess = min(ratio - 1, 1.0)
        self.floor = self.excess / (ratio - 1)
        outputs, cells = layout.outputs, self.rows * layout.outputs
        index = np.arange(outputs)
        self.column = cells + (np.minimum(index, outputs - 1 - index) if symmetric else index)
        self.S = int(self.column.max()) + 1
        self.T, self.W, self.v = self.S + 1, self.S + 2, self.S + 3
        self.t = self.v + self.rows
        self.width = self.t + 1
        self.cells = np.arange(cells).reshape(self.rows, outputs)
        self.equal = self._law()

    def _law(self) -> _SparseRows:
        equal, x, y = _SparseRows(), self.layout.x, self.layout.y
        for power, moment in enumerate((self.S, self.T, self.W)):
            equal.add(np.append(self.column, moment), np.append(self.floor * y**power, -1), 0)
        for i in range(self.rows):
            cells, gap = self.cells[i], y - x[i]
            equal.add(np.append(cells, self.S), np.append(np.full(len(y), self.excess), 1), 1)
            equal.add(np.append(cells, self.T), np.append(self.excess * y, 1), x[i])
            spread = [1, -2 * x[i], x[i] ** 2, -1]
            at = [self.W, self.T, self.S, self.v + i]
            equal.add(np.append(cells, at), np.append(self.excess * gap**2, spread), 0)
        return equal

    def _below(self) -> _SparseRows:
        under = _SparseRows()
        for cells in self.cells:
            for cell, column in zip(cells.tolist(), self.column.tolist(), strict=True):
                under.add((cell, column), (1.0, -1.0), 0)
        return under

    def _hold(self, under: _SparseRows, bound: float | None, between: bool) -> None:
        """Every variance, rounding included, is at most the bound; without one, at most the variable t."""
        free, limit = ([self.t], 0.0) if bound is None else ([], bound)
        minus = [-1.0] * len(free)
        for i in range(self.rows):
            under.add([self.v + i, *free], [1, *minus], limit)
        if not between:
            return
        step = self.layout.step
        # An even number of inputs has its middle gap between two mirror images, whose variances are equal.
        for i in range(self.rows - 1):
            for f in QUARTERS:
                under.add([self.v + i, self.v + i + 1, *free], [1 - f, f, *minus], limit - f * (1 - f) * step**2)
        if self.symmetric and self.layout.inputs % 2 == 0:
            under.add([self.v + self.rows - 1, *free], [1, *minus], limit - step**2 / 4)

    def worst(self, *, between: bool = True) -> Solution:
        """Least largest variance; `between` inputs too, where rounding adds its own."""
        under, cost = self._below(), np.zeros(self.width)
        self._hold(under, None, between)
        cost[self.t] = 1
        return self._solve(cost, under)

    def average(self, weights: Sequence[float], *, bound: float | None = None, between: bool = True) -> Solution:
        """Least average variance, with every variance at most the bound."""
        under, cost = self._below(), np.zeros(self.width)
        if bound is not None:
            self._hold(under, bound, between)
        share = np.asarray(weights, float)
        half = share[: self.rows].copy()
        if self.symmetric:
            mirrored = self.layout.inputs - self.rows
            half[:mirrored] += share[::-1][:mirrored]
        cost[self.v : self.v + self.rows] = half
        return self._solve(cost, under)

    def _solve(self, cost: Floats, under: _SparseRows) -> Solution:
        bounds = np.column_stack((np.zeros(self.width), np.full(self.width, np.inf)))
        bounds[self.T, 0] = -np.inf
        options: Any = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
        optimum = linprog(
            cost,
            A_ub=under.matrix(self.width),
            b_ub=under.right,
            A_eq=self.equal.matrix(self.width),
            b_eq=self.equal.right,
            bounds=bounds,
            method="highs-ds",
            options=options,
        )
        if optimum.status != 0:
            raise SottovoceError(f"The linear program of this channel has no solution: {optimum.message}")
        law = self.floor * optimum.x[self.column] + self.excess * optimum.x[self.cells]
        return Solution(self.layout, self._whole(law), float(optimum.fun))

    def _whole(self, law: Floats) -> Floats:
        """All rows, from half of them; the row of the middle input is its own mirror image."""
        if not self.symmetric:
            return law
        mirrored = self.layout.inputs - self.rows
        if mirrored < self.rows:
            law[-1] = (law[-1] + law[-1][::-1]) / 2
        return np.vstack((law, law[:mirrored][::-1, ::-1]))


def worst_variance(variances: Sequence[float] | Floats, step: float, *, between: bool = True) -> float:
    """The largest variance over every x: at the inputs, and between them with the variance of the rounding."""
    at = np.asarray(variances, float)
    if not between:
        return float(at.max())
    rise = np.diff(at)
    f = np.clip(0.5 + rise / (2 * step**2), 0, 1)
    return float(max(at.max(), ((1 - f) * at[:-1] + f * at[1:] + f * (1 - f) * step**2).max()))
