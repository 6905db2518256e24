"""Many sparse vectors to rows of slots: an entry holds its place and its position, in one word.

The entries of a row stand in the order of their places, and empty slots behind them, as in the code of a single answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Rounding, Slots
from sottovoce.core.domain import Domain, Sparse
from sottovoce.core.errors import DomainError
from sottovoce.fast.encode import refuse
from sottovoce.fast.kernels.vector.place import EMPTY, POSITION, SHIFT

Rows = NDArray[np.uint64]
Encode = Callable[[Domain, Rounding, Any], Rows]


class Entries(NamedTuple):
    """All entries of a table, row after row; row i holds those from starts[i] on."""

    starts: NDArray[np.int64]
    places: NDArray[np.int64]
    numbers: NDArray[Any]


def slot_codes(domain: Sparse, grid: Rounding, values: Any, encode: Encode) -> Rows:
    """A row for each answer: a two-dimensional array, a SciPy matrix of sparse rows, or a list of single answers."""
    entries = _entries(domain, values)
    if entries is None:
        return _one_by_one(domain, grid, values)
    rows = _packed(domain, grid, entries, encode)
    if rows is None:  # some answer is outside; the domain finds out which
        rows = _one_by_one(domain, grid, _listed(entries))
    return rows


def slot_code(grid: Rounding, row: Rows) -> tuple[tuple[int, Fraction], ...]:
    """A row as the scalar sampler takes it."""
    held = row[row != EMPTY]
    return tuple((int(entry >> SHIFT), grid.number(int(entry & POSITION))) for entry in held)


def _entries(domain: Sparse, values: Any) -> Entries | None:
    """The entries of a table that are not zero; None where answers are single objects."""
    if isinstance(values, np.ma.MaskedArray):
        raise DomainError("Answers come without empty cells; this array has a mask.", domain=domain)
    table = values.tocsr() if hasattr(values, "tocsr") else values
    if hasattr(table, "iloc") and getattr(table, "ndim", 0) == 2:
        table = table.to_numpy()
    is_sparse = all(hasattr(table, name) for name in ("indptr", "indices", "data", "shape"))
    if not is_sparse and not (isinstance(table, np.ndarray) and table.ndim > 1):
        return None
    if len(table.shape) != 2 or table.shape[1] != domain.dimensions:
        raise DomainError(
            f"Answers come as rows of {domain.dimensions} numbers. Got a table of shape {tuple(table.shape)}.",
            domain=domain,
        )
    if is_sparse:
        starts, places, numbers = (np.asarray(part) for part in (table.indptr, table.indices, table.data))
        return Entries(starts, places[: starts[-1]], numbers[: starts[-1]])  # the rest is spare room
    # In arrays of objects every cell is checked: None, an empty text or `False` is not zero.
    plain = table.dtype.kind in "iuf"
    rows, places = np.nonzero(table) if plain else np.indices(table.shape).reshape(2, -1)
    counts = np.bincount(rows, minlength=len(table))
    return Entries(np.concatenate([[0], np.cumsum(counts)]), places, table[rows, places])


def _packed(domain: Sparse, grid: Rounding, entries: Entries, encode: Encode) -> Rows | None:
    """Rows of slots; None if any entry is invalid."""
    starts, places, numbers = entries
    n = len(starts) - 1
    if numbers.dtype.kind not in "iuf" or numbers.dtype.itemsize > 8:
        return None
    owners = np.repeat(np.arange(n), np.diff(starts))
    if not ((places >= 0) & (places < domain.dimensions)).all():
        return None
    order = np.lexsort((places, owners))
    owners, places, numbers = owners[order], places[order], numbers[order]
    if ((np.diff(owners) == 0) & (np.diff(places) == 0)).any():
        return None
    held = numbers != 0
    owners, places, numbers = owners[held], places[held], numbers[held]
    counts = np.bincount(owners, minlength=n)
    if counts.max(initial=0) > domain.most:
        return None
    try:
        positions = encode(domain.side, grid, numbers)
    except DomainError:
        return None
    rows = np.full((n, domain.most), EMPTY, np.uint64)
    slots = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    rows[owners, slots] = places.astype(np.uint64) << SHIFT | positions
    return rows


def _listed(entries: Entries) -> list[list[tuple[Any, Any]]]:
    """Each row as a single answer."""
    places, numbers = entries.places.tolist(), entries.numbers.tolist()
    bounds = entries.starts.tolist()
    return [list(zip(places[a:b], numbers[a:b], strict=True)) for a, b in pairwise(bounds)]


def _one_by_one(domain: Sparse, grid: Rounding, values: Any) -> Rows:
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise DomainError("Answers come as a list or a table, not as one value.", domain=domain)
    listed = list(values)
    rows, outside = np.full((len(listed), domain.most), EMPTY, np.uint64), np.zeros(len(listed), bool)
    for number, value in enumerate(listed):
        try:
            code = domain.encode_fast(value)
        except DomainError:
            outside[number] = True
            continue
        for slot, (place, held) in enumerate(code):
            rows[number, slot] = place << int(SHIFT) | grid.position(held)
    refuse(domain, listed, outside)
    return rows


def slot_rows(channel: Slots, codes: Iterable[Any]) -> Rows:
    """Codes of single answers as a batch holds them."""
    return _one_by_one(channel.vectors, channel.grid, codes)
