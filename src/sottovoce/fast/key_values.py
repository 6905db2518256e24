"""Many answers of keys with numbers to rows of slots, as `sottovoce.fast.slots` has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Rounding
from sottovoce.core.domain import Domain, KeyValue
from sottovoce.core.errors import DomainError
from sottovoce.fast.encode import in_python, one_by_one, refuse
from sottovoce.fast.kernels.vector.place import EMPTY, SHIFT

Rows = NDArray[np.uint64]
Encode = Callable[[Domain, Rounding, Any], Rows]


def key_value_codes(domain: KeyValue, grid: Rounding, values: Any, encode: Encode) -> Rows:
    """A row for each answer: a table of numbers with a column for each key, NaN where it is not held, or a list."""
    table = values.to_numpy() if hasattr(values, "iloc") and getattr(values, "ndim", 0) == 2 else values
    if isinstance(table, np.ndarray) and table.ndim == 2:
        return _table(domain, table, encode)
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise DomainError("Answers come as a list of mappings from keys to numbers, not as one value.", domain=domain)
    listed = values.to_pylist() if hasattr(values, "to_pylist") else list(in_python(values))
    return _rows(domain, grid, one_by_one(domain, listed))


def _rows(domain: KeyValue, grid: Rounding, codes: Iterable[Any]) -> Rows:
    listed = list(codes)
    rows = np.full((len(listed), domain.most), EMPTY, np.uint64)
    for number, code in enumerate(listed):
        for slot, (place, held) in enumerate(code):
            rows[number, slot] = place << int(SHIFT) | grid.position(held)
    return rows


def _table(domain: KeyValue, table: NDArray[Any], encode: Encode) -> Rows:
    if isinstance(table, np.ma.MaskedArray):
        raise DomainError("Masked arrays are not supported: pass a plain NumPy array.", domain=domain)
    if table.dtype.kind not in "iuf" or table.shape[1] != len(domain.keys):
        raise DomainError(
            f"A table of keys with numbers has {len(domain.keys)} columns of numbers, one for each key, with NaN where"
            " a key is not held.",
            domain=domain,
        )
    held = ~np.isnan(table)
    counts = held.sum(axis=1)
    refuse(domain, table, counts > domain.most)
    people, places = np.nonzero(held)
    rows = np.full((len(table), domain.most), EMPTY, np.uint64)
    slots = np.arange(len(people)) - np.repeat(np.cumsum(counts) - counts, counts)
    positions = _positions(domain, table[people, places], encode)
    rows[people, slots] = places.astype(np.uint64) << SHIFT | positions
    return rows


def _positions(domain: KeyValue, numbers: NDArray[Any], encode: Encode) -> Rows:
    numbers_of = domain.value.numbers
    if numbers_of is None:
        raise TypeError("A range of numbers has ends.")
    low, high = (Decimal(end.numerator) / Decimal(end.denominator) for end in (numbers_of.low, numbers_of.high))
    if domain.value.whole is not None and numbers.dtype.kind == "f":
        whole = np.round(numbers)
        refuse(domain, numbers, whole != numbers)
        numbers = whole.astype(np.int64)
    return encode(domain.value, Rounding(low, high, 1), numbers)
