"""Many raw answers to codes at once, with the same acceptance as `Domain.encode`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sottovoce.core.domain import Categories, Domain, Integers
from sottovoce.core.errors import DomainError

Codes = NDArray[np.uint32]


def encode(domain: Domain, values: Any) -> Codes:
    """The codes of many values; if any lies outside, none is encoded and the error says how many and which first."""
    if isinstance(values, (str, bytes)):
        raise DomainError("Answers come as a list or an array, not as one text.", value=values, domain=domain)
    array = values.to_numpy() if hasattr(values, "to_numpy") else values
    if isinstance(array, np.ndarray) and array.ndim != 1:
        raise DomainError("Answers come as a one-dimensional array.", value=values, domain=domain)
    if isinstance(array, np.ndarray) and array.dtype.kind in "iu":
        if isinstance(domain, Integers):
            return _shifted(domain, array)
        if isinstance(domain, Categories):
            return _looked_up(domain, array)
    listed = list(array.tolist() if isinstance(array, np.ndarray) and array.dtype.kind != "O" else array)
    if isinstance(domain, Categories) and all(type(value) is str for value in listed):
        return _looked_up(domain, np.array(listed, dtype=object))
    return _one_by_one(domain, listed)


def _shifted(domain: Integers, array: NDArray[Any]) -> Codes:
    outside = (array < domain.low) | (array > domain.high)
    _refuse(domain, array, outside)
    if array.dtype.kind == "i" and array.dtype.itemsize < 8:
        array = array.astype(np.int64)
    return (array - array.dtype.type(domain.low) if domain.low else array).astype(np.uint32)


def _looked_up(domain: Categories, array: NDArray[Any]) -> Codes:
    index = pd.Index(np.array(domain.values, dtype=object if isinstance(domain.values[0], str) else np.int64))
    if array.dtype.kind == "O" and isinstance(domain.values[0], int):
        _refuse(domain, array, np.ones(len(array), bool))
    if array.dtype.kind in "iu" and isinstance(domain.values[0], str):
        _refuse(domain, array, np.ones(len(array), bool))
    codes = index.get_indexer(array)
    _refuse(domain, array, codes < 0)
    return codes.astype(np.uint32)


def _one_by_one(domain: Domain, values: list[Any]) -> Codes:
    codes = np.empty(len(values), np.uint32)
    outside = np.zeros(len(values), bool)
    for place, value in enumerate(values):
        try:
            codes[place] = domain.encode(value)
        except DomainError:
            outside[place] = True
    _refuse(domain, values, outside)
    return codes


def _refuse(domain: Domain, values: Any, outside: NDArray[Any]) -> None:
    count = int(np.count_nonzero(outside))
    if count:
        first = int(np.argmax(outside))
        raise DomainError(
            f"{count} of {len(outside)} answers lie outside the domain, the first at position {first}.",
            value=values[first],
            domain=domain,
        )
