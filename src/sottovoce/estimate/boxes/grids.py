"""Grids of one and two fields made consistent, and tables of maximum entropy that agree with them: HDG, TDG.

Yang, Wang, Li, Cheng, Su, "Answering multi-dimensional range queries under local differential privacy", VLDB 2020.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product

import numpy as np

from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.evidence import Floats, Ints

ROUNDS = 3  # of making grids consistent
MOST_UPDATES = 100
_NEAR = 1e-7  # change of a table after which updates end
_TINY = 1e-300

Names = tuple[str, ...]
Tables = dict[Names, Floats]  # shares with one axis for each field


def consistent(grids: Tables, sizes: Iterable[str]) -> Tables:
    """Shares of all grids that are possible, with nearly the same shares of the coarse parts of each field."""
    tables: Tables = {names: simplex(table.ravel()).reshape(table.shape) for names, table in grids.items()}
    for _ in range(ROUNDS):
        for name in sizes:
            _agree(tables, name)
        tables = {names: simplex(table.ravel()).reshape(table.shape) for names, table in tables.items()}
    return tables


def _agree(tables: Tables, name: str) -> None:
    """Move all grids of a field to the same shares of its coarsest parts: a weighted mean, by cells in a part."""
    own = {names: table for names, table in tables.items() if name in names}
    if len(own) < 2:
        return
    fewest = min(table.shape[names.index(name)] for names, table in own.items())
    sums, cells = {}, {}
    for names, table in own.items():
        axis = names.index(name)
        line = table.sum(axis=tuple(place for place in range(table.ndim) if place != axis))
        sums[names] = np.bincount(np.repeat(np.arange(fewest), _widths(len(line), fewest)), line)
        cells[names] = _widths(len(line), fewest) * (table.size // len(line))
    weights = {names: 1 / count for names, count in cells.items()}
    total = np.sum([weights[names] * sums[names] for names in own], axis=0) / np.sum([*weights.values()], axis=0)
    for names, table in own.items():
        axis = names.index(name)
        moved = np.repeat((total - sums[names]) / cells[names], _widths(table.shape[axis], fewest))
        tables[names] = table + _along(moved, axis, table.ndim)


def _widths(size: int, parts: int) -> Ints:
    """How many codes each of so many parts of equal width has, of which the last may be smaller."""
    return np.bincount(np.arange(size) // -(-size // parts))


def _along(values: Floats, axis: int, count: int) -> Floats:
    return values.reshape([-1 if place == axis else 1 for place in range(count)])


def pair_table(tables: Tables, pair: Names, sizes: Mapping[str, int]) -> Floats:
    """The shares of the finest cells of two fields, as even as the grids of both allow (weighted updates)."""
    shape = [sizes[name] for name in pair]
    grids = [(names, table) for names, table in tables.items() if {*names} <= {*pair}]
    found = np.full(shape, 1 / np.prod(shape))
    for _ in range(MOST_UPDATES):
        before = found
        for names, table in grids:
            found = _updated(found, pair, names, table)
        if np.abs(found - before).sum() < _NEAR:
            break
    return found


def _updated(found: Floats, pair: Names, names: Names, table: Floats) -> Floats:
    """Scale the cells of each part of a grid to its share."""
    index, shape = [], []
    for name, size in zip(pair, found.shape, strict=True):
        count = table.shape[names.index(name)] if name in names else 1
        width = -(-size // count)
        index.append(np.arange(size) // width)
        shape.append(count)
    own = table if names == tuple(name for name in pair if name in names) else table.T
    sums = np.zeros(shape)
    np.add.at(sums, np.ix_(*index), found)
    scale = own.reshape(shape) / np.maximum(sums, _TINY)
    moved = found * scale[np.ix_(*index)]
    total = float(moved.sum())
    return moved / total if total > 0 else found


def all_inside(inside: Sequence[float], pairs: Mapping[tuple[int, int], float]) -> float:
    """The share inside all of several conditions, as even as their shares and those of all pairs of them allow."""
    count = len(inside)
    bits = np.array(list(product((0, 1), repeat=count)), bool)
    found = np.full(len(bits), 1 / len(bits))
    for _ in range(MOST_UPDATES):
        before = found
        for first, second in combinations(range(count), 2):
            both = pairs[first, second]
            a, b = inside[first], inside[second]
            both = min(max(both, 0.0, a + b - 1), a, b)
            target = ((1 - a - b + both, b - both), (a - both, both))
            for one, two in product((0, 1), repeat=2):
                held = (bits[:, first] == one) & (bits[:, second] == two)
                found = np.where(held, found * target[one][two] / max(float(found[held].sum()), _TINY), found)
        if np.abs(found - before).sum() < _NEAR:
            break
    return float(found[-1])
