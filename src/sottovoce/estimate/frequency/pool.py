"""Decoding numbered public functions: for each code, the reports whose value is that of the code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.field import polynomial
from sottovoce.core.channel import PermutationMap, PoolMap
from sottovoce.core.channel.compose.public import numbered_functions
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import Ints
from sottovoce.estimate.frequency.design import RowCounts, rows_of
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.compose.public import product_table
from sottovoce.tally.row_draws import position_law


@compiled
def _product(a, b, g, products, binary):
    return np.int64(products[a, b]) if binary else a * b % g


@compiled
def _direct(cells, codes, g, digits, seeds, products, binary, out):
    """One inner product for each pair of code and map."""
    for v in range(codes):
        total = 0
        for s in range(seeds):
            a, b, value = s, v, np.int64(0)
            for _ in range(digits):
                step = _product(a % g, b % g, g, products, binary)
                value = value ^ step if binary else (value + step) % g
                a //= g
                b //= g
            total += cells[s * g + value]
        out[v] = total


@compiled
def one_digit(table, following, before, after, g, products, binary):
    """Replace one digit of the map by one digit of the code: sum over the former, shifting the value by the product."""
    for left in range(before):
        for v in range(g):
            for right in range(after):
                to = ((left * g + v) * after + right) * g
                for y in range(g):
                    following[to + y] = 0
                for s in range(g):
                    shift = _product(s, v, g, products, binary)
                    start = ((left * g + s) * after + right) * g
                    for y in range(g):
                        other = y ^ shift if binary else (y + shift) % g
                        following[to + y] += table[start + other]


def pool_supports(chosen: PoolMap, cells: Ints) -> Ints:
    """Support counts of all codes, by whichever of two exact ways is shorter."""
    g, digits, seeds = chosen.g, chosen.digits, chosen.seeds
    if chosen.k * digits <= digits * g * g:
        out = np.empty(chosen.k, np.int64)
        _direct(cells, chosen.k, g, digits, seeds, product_table(g), polynomial(g) > 0, out)
        return out
    return transformed(chosen, cells.copy()).reshape(seeds, g)[: chosen.k, 0].copy()


def transformed(chosen: PoolMap, table: NDArray[Any]) -> NDArray[Any]:
    """The sum over s of table[s, y + s . v] at [v, y], for all maps s and codes v; `table` is overwritten.

    After each step one digit of the map has become one digit of the code, and value y holds the reports whose value
    exceeds the partial inner product by y.
    """
    g, following = chosen.g, np.empty_like(table)
    products, binary = product_table(g), polynomial(g) > 0
    for digit in range(chosen.digits):  # the last digit of a number varies fastest
        after = g**digit
        one_digit(table, following, chosen.seeds // (after * g), after, g, products, binary)
        table, following = following, table
    return table


@compiled
def _permuted(cells, codes, prime, g, start, stride, out):
    """One permutation and remainder for each pair of code and function; `start` of `stride` cells are no values."""
    for i in range(codes.shape[0]):
        total, v = 0, codes[i]
        for slope in range(1, prime):
            shifted = slope * v % prime
            row = (slope - 1) * prime
            for b in range(prime):
                total += cells[(row + b) * stride + start + shifted % g]
                shifted = shifted + 1 if shifted + 1 < prime else 0
        out[i] = total


def _by_value(rows: RowCounts) -> Ints:
    """How many reports of each row support each value, as if it were reported itself."""
    counts = rows.counts
    if rows.signed:  # the values of a position are its two signs; those that agree with -1 are those whose bit is clear
        counts = np.stack([counts, rows.totals[:, None] - counts], axis=2)
    return np.rint(counts).astype(np.int64).ravel()


def function_supports(mechanism: Mechanism, cells: Ints, codes: Ints | None = None) -> Ints:
    """How many reports support each code, or each of some codes, from the counts of each public function."""
    chosen, inner = numbered_functions(mechanism.channel)
    if codes is None and isinstance(chosen, PoolMap):  # there may be as many functions as codes: a million of each
        *_, exclusive = position_law(inner)
        return pool_supports(chosen, cells if exclusive else _by_value(rows_of(mechanism, cells)))
    wanted = np.arange(chosen.inputs) if codes is None else codes
    if isinstance(chosen, PermutationMap):
        out, stride = np.empty(len(wanted), np.int64), len(cells) // chosen.seeds
        _permuted(cells, wanted, chosen.prime, chosen.g, stride - chosen.g, stride, out)
        return out
    rows = rows_of(mechanism, cells)
    counts = rows.gathered(rows.counts, wanted)
    if rows.signed:  # reports that agree with a sign -1 are those whose bit is clear
        counts += rows.cleared(wanted)
    return np.rint(counts).astype(np.int64)
