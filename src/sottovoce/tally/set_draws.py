"""Reports drawn uniformly from the public set of their code, added to cells at once: for simulation only.

A code that fewer participants hold than its set has outputs is drawn report by report; one that many hold is one
multinomial over its set. So the work is bounded by the number of reports, and by the sizes of the sets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.field import polynomial
from sottovoce.core.channel import HadamardSets, NodeSets, PoolMap, PoolSets
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.compose.public import product_table

Ints = NDArray[np.int64]
REPORTS_PER_CELL = 8  # drawing a report takes about an eighth of the time of drawing one binomial of a multinomial


def add_uniform(cells: Ints, totals: Ints, rng: np.random.Generator) -> None:
    """Add totals[run] reports to each run, uniform over all of its cells."""
    outputs = cells.shape[1]
    if int(totals.sum()) > REPORTS_PER_CELL * cells.size:
        cells += rng.multinomial(totals, np.full(outputs, 1 / outputs))
        return
    _scatter(rng, totals, cells)


@singledispatch
def add_members(sets: Any, cells: Ints, reports: Ints, rng: np.random.Generator) -> None:
    """Add reports[run, code] reports, uniform over the set of the code."""
    for code in np.flatnonzero(reports.any(axis=0)):
        members = [sets.output(int(code), index, True) for index in range(sets.size)]
        cells[:, members] += rng.multinomial(reports[:, code], np.full(sets.size, 1 / sets.size))


@add_members.register
def _(sets: HadamardSets, cells: Ints, reports: Ints, rng: np.random.Generator) -> None:
    """The code's half of its group."""

    def places(code: int) -> Ints:
        out = np.empty(sets.size, np.int64)
        _hadamard_places(code, sets.order, sets.groups, out)
        return out

    few = _without_frequent(cells, reports, sets.size, places, rng)
    _scatter_hadamard(rng, few, sets.order, sets.groups, cells)


@add_members.register
def _(chosen: PoolMap, cells: Ints, reports: Ints, rng: np.random.Generator) -> None:
    """Pairs of a map and the value that it gives the code."""
    _add_maps(cells, reports, chosen.g, chosen.digits, chosen.seeds, 0, rng)


@add_members.register
def _(sets: NodeSets, cells: Ints, reports: Ints, rng: np.random.Generator) -> None:
    cells += _by_node(sets, reports)


@add_members.register
def _(sets: PoolSets, cells: Ints, reports: Ints, rng: np.random.Generator) -> None:
    _add_maps(cells, _by_node(sets, reports), sets.g, sets.digits, sets.maps, sets.odd, rng)


def _by_node(sets: NodeSets | PoolSets, reports: Ints) -> Ints:
    """The reports of the codes under each node, added up."""
    return np.asarray(np.add.reduceat(reports, np.arange(0, sets.codes, sets.width), axis=1))


def _add_maps(cells: Ints, reports: Ints, g: int, digits: int, seeds: int, odd: int, rng: np.random.Generator) -> None:
    """Pairs of map and value; `odd` maps are those whose lowest digit is 1, numbered without it."""
    field = (g, digits, odd, product_table(g), polynomial(g) > 0)

    def places(code: int) -> Ints:
        out = np.empty(seeds, np.int64)
        _pool_places(code, *field, out)
        return out

    few = _without_frequent(cells, reports, seeds, places, rng)
    _scatter_pool(rng, few, seeds, *field, cells)


def _without_frequent(
    cells: Ints, reports: Ints, size: int, places: Callable[[int], Ints], rng: np.random.Generator
) -> Ints:
    """Add the codes with many more reports than their set has outputs; return the reports of the others."""
    frequent = np.flatnonzero(reports.sum(axis=0) > REPORTS_PER_CELL * len(reports) * size)
    for code in frequent:
        cells[:, places(int(code))] += rng.multinomial(reports[:, code], np.full(size, 1 / size))
    few = np.array(reports, np.int64)
    few[:, frequent] = 0
    return few


@compiled
def _scatter(rng, totals, cells):
    outputs = cells.shape[1]
    for run in range(cells.shape[0]):
        for _ in range(totals[run]):
            cells[run, int(rng.random() * outputs)] += 1


@compiled
def _half_output(index, row):
    """The index-th output of a group that has an even number of bits in common with the row (`HadamardSets`)."""
    lowest = row & -row
    free = ((index & ~(lowest - 1)) << 1) | (index & (lowest - 1))
    common = free & row
    shift = 32
    while shift:
        common ^= common >> shift
        shift >>= 1
    return free | lowest if common & 1 else free


@compiled
def _hadamard_places(code, order, groups, out):
    for index in range(out.shape[0]):
        out[index] = code % groups * order + _half_output(index, code // groups + 1)


@compiled
def _scatter_hadamard(rng, reports, order, groups, cells):
    size = order // 2
    for run in range(reports.shape[0]):
        for code in range(reports.shape[1]):
            start, row = code % groups * order, code // groups + 1
            for _ in range(reports[run, code]):
                cells[run, start + _half_output(int(rng.random() * size), row)] += 1


@compiled
def _pool_value(seed, code, g, digits, products, binary):
    """The inner product of two vectors of digits (`core.arithmetic.field.dot`)."""
    value = np.int64(0)
    for _ in range(digits):
        if binary:
            value ^= np.int64(products[seed % g, code % g])
        else:
            value = (value + (seed % g) * (code % g)) % g
        seed //= g
        code //= g
    return value


@compiled
def _pool_places(code, g, digits, odd, products, binary, out):
    for seed in range(out.shape[0]):
        out[seed] = seed * g + _pool_value(seed << odd | odd, code, g, digits, products, binary)


@compiled
def _scatter_pool(rng, reports, seeds, g, digits, odd, products, binary, cells):
    for run in range(reports.shape[0]):
        for code in range(reports.shape[1]):
            for _ in range(reports[run, code]):
                seed = int(rng.random() * seeds)
                cells[run, seed * g + _pool_value(seed << odd | odd, code, g, digits, products, binary)] += 1
