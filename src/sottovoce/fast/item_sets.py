"""Many sets of items to codes at once: rows of words with one bit for each item."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain.itemsets import Itemsets, SetDomain
from sottovoce.core.errors import DomainError
from sottovoce.fast.encode import in_python, one_by_one, refuse

Rows = NDArray[np.uint64]


def set_codes(domain: SetDomain, values: Any) -> Rows:
    """The codes of answers: lists of items, or a table of truth values with a column for each item."""
    table = values.to_numpy() if hasattr(values, "iloc") and getattr(values, "ndim", 0) == 2 else values
    if isinstance(table, np.ndarray) and table.ndim == 2:
        return _table(domain, table)
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise DomainError("Answers come as a list of lists of items, not as one value.", domain=domain)
    listed = values.to_pylist() if hasattr(values, "to_pylist") else in_python(values)
    listed = [one.tolist() if isinstance(one, np.ndarray) else one for one in listed]
    return code_rows(domain, one_by_one(domain, listed))


def _table(domain: SetDomain, table: NDArray[Any]) -> Rows:
    if isinstance(table, np.ma.MaskedArray):
        raise DomainError("Masked arrays are not supported: pass a plain NumPy array.", domain=domain)
    if table.dtype != bool or table.shape[1] != len(domain.labels()):
        raise DomainError(
            f"A table of sets has {len(domain.labels())} columns of truth values, one for each item.", domain=domain
        )
    refuse(domain, table, table.sum(axis=1) > domain.most)
    lanes = -(-table.shape[1] // 64)
    packed = np.zeros((len(table), 8 * lanes), np.uint8)
    packed[:, : -(-table.shape[1] // 8)] = np.packbits(table, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64, copy=False)


def held_itemsets(domain: Itemsets, held: Rows) -> Rows:
    """Which itemsets are held: all of their items are."""
    found = np.zeros((len(held), -(-len(domain.masks) // 64)), np.uint64)
    for place, mask in enumerate(domain.masks):
        whole = np.ones(len(held), bool)
        for lane in range(held.shape[1]):
            bits = np.uint64(mask >> 64 * lane & (1 << 64) - 1)
            if bits:
                whole &= held[:, lane] & bits == bits
        found[:, place // 64] |= whole.astype(np.uint64) << np.uint64(place % 64)
    return found


def code_rows(domain: SetDomain, codes: Iterable[int]) -> Rows:
    """Codes of single answers as a batch holds them."""
    width = 8 * -(-len(domain.labels()) // 64)
    raw = b"".join(code.to_bytes(width, "little") for code in codes)
    return np.frombuffer(raw, "<u8").reshape(-1, width // 8).astype(np.uint64, copy=False)
