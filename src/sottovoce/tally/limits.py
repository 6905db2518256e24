"""Refuse integers that no reports can give: sums, totals of blocks, and counts of some reports beside those of all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import MismatchError
from sottovoce.core.statistic.base import Limits

Cells = NDArray[np.int64]


def check_limits(limits: Limits, n: int, cells: Cells) -> None:
    """Refuse cells of n reports, each within its own bounds, that break the other limits of their statistic."""
    if limits.total is not None:
        _check_sum(cells, n, limits.total, limits.total)
    for part, least, most in limits.sums:
        _check_sum(cells[part], n, least, most)
    most_of_block = max(map(_exact_sum, cells.reshape(-1, limits.block))) if limits.block is not None else 0
    if most_of_block > n:
        raise MismatchError(f"A group of this tally has {most_of_block} reports of {n}.")
    if limits.rows is not None:
        _check_rows(cells.reshape(-1, limits.rows), n, limits.most)
    if limits.pairs is not None and (cells[: -limits.pairs] > cells[limits.pairs :]).any():
        raise MismatchError("A cell of this tally counts more reports than were asked about its code.")


def _check_sum(cells: Cells, n: int, least: int, most: int) -> None:
    """The sum of the cells of a part, within what n reports add up to."""
    total = _exact_sum(cells)
    if least == most and total != most * n:
        raise MismatchError(
            f"The cells of this tally sum to {total}, not to {most * n}: {most} for each of its {n} reports."
        )
    if not least * n <= total <= most * n:
        raise MismatchError(f"The cells of this tally sum to {total}, and not to {least * n} to {most * n}.")


def _check_rows(rows: Cells, n: int, most: int | tuple[int, ...]) -> None:
    """The first cell of each row counts its reports: all of them together, and no other cell exceeds them."""
    if _exact_sum(rows[:, 0]) != n:
        raise MismatchError(f"The rows of this tally have {_exact_sum(rows[:, 0])} reports, not {n}.")
    largest = np.array(most, np.int64) if isinstance(most, int) else np.array(most, np.int64).reshape(rows.shape)[:, 1:]
    if (rows[:, 1:] > rows[:, :1] * largest).any():
        raise MismatchError("A cell of this tally holds more than the reports of its row can give.")


def _exact_sum(cells: Cells) -> int:
    """The sum of up to 2**24 cells of up to 2**53, which 64 bits do not hold."""
    return (int((cells >> 32).sum()) << 32) + int((cells & 0xFFFFFFFF).sum())
