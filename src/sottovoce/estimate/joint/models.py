"""Joint distributions other than latent classes: one table of all attributes, and a forest of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.joint.residuals import Names

RARE = 1e-12  # share of an answer in a forest that counts as zero: its inverse has powers


@dataclass(frozen=True, slots=True, eq=False)
class WholeTable:
    """The share of each cell of all attributes together."""

    names: Names
    shares: Floats  # one axis for each attribute

    def table(self, names: Sequence[str]) -> Floats:
        """The share of each cell of a table, in the order of the names."""
        kept = [name for name in self.names if name in names]
        away = tuple(i for i, name in enumerate(self.names) if name not in names)
        return np.asarray(self.shares.sum(axis=away).transpose([kept.index(name) for name in names]))

    def draw(self, count: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """The codes of so many records, by attribute."""
        cells = generator.choice(self.shares.size, count, p=self.shares.ravel())
        return dict(zip(self.names, np.unravel_index(cells, self.shares.shape), strict=True))


def forest(sizes: dict[str, int], pairs: dict[tuple[str, str], Floats], singles: dict[str, Floats]) -> WholeTable:
    """The distribution whose attributes depend on each other only through the given pairs, which form no circle.

    Each pair is scaled to the shares of its attributes. The table of all attributes is the product of pairs over the
    shares of attributes that they have in common.
    """
    names = tuple(sizes)
    shares = np.ones([sizes[name] for name in names])
    degree = dict.fromkeys(names, 0)
    for (first, second), table in pairs.items():
        axes = [sizes[name] if name in (first, second) else 1 for name in names]
        shares = shares * scaled(table, singles[first], singles[second]).reshape(axes)
        degree[first] += 1
        degree[second] += 1
    for name in names:
        own = singles[name].reshape([sizes[name] if other == name else 1 for other in names])
        power = 1.0 - degree[name]
        shares = shares * np.where(own > RARE, np.maximum(own, RARE) ** power, 0.0)
    return WholeTable(names, shares / shares.sum())


def scaled(table: Floats, rows: Floats, columns: Floats, steps: int = 50) -> Floats:
    """A table with these sums of rows and columns, by iterative proportional fitting."""
    for _ in range(steps):
        for axis, wanted in ((1, rows), (0, columns)):
            sums = table.sum(axis=axis, keepdims=True)
            goal = wanted.reshape(sums.shape)
            table = np.where(sums > 0, table * goal / np.where(sums > 0, sums, 1), goal / table.shape[axis])
    return table


def mutual_information(table: Floats) -> float:
    """How much one attribute tells about the other, in nats."""
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    kept = table > 0
    return float((table[kept] * np.log(table[kept] / product[kept])).sum())


@dataclass(frozen=True, slots=True, eq=False)
class ViewTables:
    """Consistent tables of some views. Tables that no view holds have the largest entropy that the views allow."""

    sizes: dict[str, int]
    views: tuple[tuple[Names, Floats, float], ...]  # attributes, shares, precision

    def table(self, names: Sequence[str]) -> Floats:
        """The share of each cell of a table, in the order of the names."""
        ordered = tuple(name for name in self.sizes if name in names)
        return self._ordered(ordered).transpose([ordered.index(name) for name in names])

    def _ordered(self, names: Names) -> Floats:
        known: dict[Names, tuple[Floats, float]] = {}
        for own, shares, precision in self.views:
            shared = tuple(name for name in own if name in names)
            summed = shares.sum(axis=tuple(i for i, name in enumerate(own) if name not in names))
            before, weight = known.get(shared, (0.0, 0.0))
            known[shared] = before + precision * summed, weight + precision
        wanted = {shared: total / weight for shared, (total, weight) in known.items() if shared}
        if names in wanted:
            return np.asarray(wanted[names])
        table = np.full([self.sizes[name] for name in names], 1 / np.prod([self.sizes[name] for name in names]))
        for _ in range(200):
            for shared, goal in wanted.items():
                away = tuple(i for i, name in enumerate(names) if name not in shared)
                sums = table.sum(axis=away, keepdims=True)
                table = table * np.where(sums > 0, goal.reshape(sums.shape) / np.where(sums > 0, sums, 1), 0)
        return np.asarray(table / table.sum())

    def draw(self, count: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """Refused: tables of views are not one distribution of all attributes."""
        raise ParameterError("Records are drawn from a joint distribution: use consistent().synthesize(count).")
