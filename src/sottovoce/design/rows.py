"""From a law in floats to rows of integers that satisfy every constraint exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.errors import SottovoceError
from sottovoce.design.layout import Floats, Layout

Rows = tuple[tuple[int, ...], ...]
# A column that no row uses more than this is left out in all rows; the tilt makes up for it.
EMPTY = 1e-9
# The shaved ratio gives room in proportion to a weight. A report so rare that its least weight is few units gets spare
# units of its own.
FEW = 1 << 24
SPARE = 1 << 12


def trimmed(layout: Layout, law: Floats) -> tuple[Layout, Floats]:
    """Drop the outermost outputs that no row uses, equally many on each side."""
    used = np.flatnonzero(law.max(axis=0) > EMPTY)
    spare = int(min(used[0], layout.outputs - 1 - used[-1]))
    inner = slice(spare, layout.outputs - spare)
    return Layout(layout.inputs, layout.outputs - 2 * spare, layout.slope), law[:, inner]


class RepairError(SottovoceError):
    """A law that could not be rounded; the caller leaves the rows more room and tries again."""


def integer_rows(layout: Layout, law: Floats, most: Fraction, *, symmetric: bool) -> Rows:
    """Integers over 2**53 close to the law, whose ratios are at most `most` and whose means are exactly linear.

    The law is solved for a ratio slightly below `most`. So each weight that is at its upper end has room for the few
    units by which sum and mean are off after rounding. `check_rows` verifies the result.
    """
    tilted = _tilt(layout, law * (law.max(axis=0) > EMPTY))
    count = (layout.inputs + 1) // 2 if symmetric else layout.inputs
    table = [[round(weight) for weight in row] for row in (tilted[:count] * UNIT).tolist()]
    if symmetric:
        table = _mirrored(layout, table)
    lowest = [_lowest(column, most) for column in zip(*table, strict=True)]
    highest = [low * most.numerator // most.denominator for low in lowest]
    done = []
    for code in range(count):
        row = [max(weight, low) for weight, low in zip(table[code], lowest, strict=True)]
        if symmetric and 2 * code == layout.inputs - 1:
            _settle_middle(row, lowest, highest)
        else:
            _settle(row, lowest, highest, layout.mean(code))
        done.append(row)
    rows = tuple(tuple(row) for row in (_mirrored(layout, done) if symmetric else done))
    check_rows(layout, rows, most, symmetric=symmetric)
    return rows


def _lowest(column: Sequence[int], most: Fraction) -> int:
    """The least weight of a column that allows its largest one."""
    low, high = min(column), max(column)
    if not high:
        return 0
    spare = SPARE if low < FEW else 0
    return max(low, -(-(high + spare) * most.denominator // most.numerator))


def _mirrored(layout: Layout, half: list[list[int]]) -> list[list[int]]:
    """All rows from the first half, the middle one from its own left half."""
    rest = layout.inputs - len(half)
    if rest < len(half):
        width = layout.outputs // 2
        middle = half[-1]
        half = half[:-1] + [middle[: len(middle) - width] + middle[:width][::-1]]
    return half + [row[::-1] for row in reversed(half[:rest])]


def _tilt(layout: Layout, law: Floats) -> Floats:
    """Sum and mean of each row as good as floats can be, by q (1 + a + b y) with a and b near zero."""
    index = np.arange(layout.outputs) - (layout.outputs - 1) / 2
    means = np.array([float(layout.mean(code) - Fraction(layout.outputs - 1, 2)) for code in range(layout.inputs)])
    for _ in range(2):
        for i, row in enumerate(law):
            moments = [float((row * index**power).sum()) for power in range(3)]
            gram = np.array([[moments[0], moments[1]], [moments[1], moments[2]]])
            a, b = np.linalg.solve(gram, [1 - moments[0], means[i] - moments[1]])
            law[i] = row * (1 + a + b * index)
    return law


def _settle(row: list[int], lowest: list[int], highest: list[int], mean: Fraction) -> None:
    """Moves the last units so that sum and mean are exact: first the sum, then the mean, between two columns."""
    used = [column for column, high in enumerate(highest) if high]

    def room(column: int, sign: int) -> int:
        return highest[column] - row[column] if sign > 0 else row[column] - lowest[column]

    short = UNIT - sum(row)
    row[max(used, key=lambda column: room(column, short))] += short
    target = mean * UNIT
    if target.denominator != 1:
        raise RepairError("The mean report of a row must be a number of 53 binary digits.")
    off = target.numerator - sum(index * weight for index, weight in enumerate(row))
    j, k = _best_pair(used, [room(column, -off) for column in used], [room(column, off) for column in used], off)
    row[j] -= off // (k - j)
    row[k] += off // (k - j)


def _best_pair(used: list[int], left: list[int], right: list[int], off: int) -> tuple[int, int]:
    """Two columns whose distance divides what the mean is off, and that have the most room for it."""
    columns = np.array(used)
    gaps = columns[None, :] - columns[:, None]
    fits = (gaps > 0) & (off % np.where(gaps > 0, gaps, 1) == 0)
    if not fits.any():
        raise RepairError("No two columns can take up the last units of a row's mean.")
    room = np.minimum(np.array(left, float)[:, None], np.array(right, float)[None, :]) * gaps
    best = int(np.where(fits, room, -np.inf).argmax())
    return used[best // len(used)], used[best % len(used)]


def _settle_middle(row: list[int], lowest: list[int], highest: list[int]) -> None:
    """The middle row is a mirror image of itself, which makes its mean exact; only the sum is left.

    The missing mass goes to the middle column, or in equal parts to a pair of mirrored ones; if it is odd, one unit
    of it can only go to the middle.
    """
    last = len(row) - 1
    short = UNIT - sum(row)

    def room(column: int) -> int:
        return (highest[column] - row[column] if short > 0 else row[column] - lowest[column]) * (
            1 + (2 * column < last)
        )

    best = max((column for column in range(last // 2 + 1) if highest[column]), key=room)
    if 2 * best == last:
        row[best] += short
        return
    if short % 2:
        row[last // 2] += 1 if row[last // 2] < highest[last // 2] else -1
    move = (UNIT - sum(row)) // 2
    row[best] += move
    row[last - best] += move


def check_rows(layout: Layout, rows: Rows, most: Fraction, *, symmetric: bool = False) -> None:
    """Check sums, means, ratios and symmetry in integers; every shipped table passes this check."""
    for code, row in enumerate(rows):
        if len(row) != layout.outputs or min(row) < 0 or sum(row) != UNIT:
            raise RepairError(f"Row {code} of a designed table does not sum to 2**53.")
        if sum(index * weight for index, weight in enumerate(row)) != layout.mean(code) * UNIT:
            raise RepairError(f"Row {code} of a designed table is biased.")
    for column, weights in enumerate(zip(*rows, strict=True)):
        if max(weights) * most.denominator > min(weights) * most.numerator:
            raise RepairError(f"Column {column} of a designed table exceeds the privacy budget.")
    if len(rows) != layout.inputs or (symmetric and any(a != b[::-1] for a, b in zip(rows, rows[::-1], strict=True))):
        raise RepairError("A designed table lost its symmetry.")
