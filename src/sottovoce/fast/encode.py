"""Many raw answers to codes at once, with the same acceptance as `Domain.encode`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import suppress
from functools import singledispatch
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Above, Bins, Categories, Digit, Domain, Integers, Merged, Text, Words
from sottovoce.core.domain.plain import MAX_CODES
from sottovoce.core.errors import DomainError, NoBatchError
from sottovoce.fast.arrow import check_arrow
from sottovoce.fast.bins import bins, reads_bins
from sottovoce.fast.compiled import compiled
from sottovoce.fast.digits import digits, reads_digits
from sottovoce.fast.threads import run

Codes = NDArray[Any]  # unsigned integers of 32 bits, or of 64 where there are more codes

_CHUNK = 1 << 18
_LARGEST = (1 << 63) - 1


def encode(domain: Domain, values: Any, *, threads: int | None = None) -> Codes:
    """The codes of many values; if any lies outside, none is encoded and the error says how many and which first."""
    array = column(domain, values)
    codes = _at_once(domain, array, threads) if isinstance(array, np.ndarray) else None
    return _listed(domain, in_python(array)) if codes is None else codes


@singledispatch
def _at_once(domain: Domain, array: NDArray[Any], threads: int | None) -> Codes | None:
    """The codes of an array of numbers; None where they are read as Python objects."""
    return None


@singledispatch
def _listed(domain: Domain, values: list[Any]) -> Codes:
    """The codes of Python objects."""
    return _one_by_one(domain, values)


def column(domain: Domain, values: Any) -> NDArray[Any] | Iterable[Any]:
    """Answers as a one-dimensional array or another iterable; what no domain takes is refused here."""
    if isinstance(values, np.ma.MaskedArray):
        raise DomainError("Answers come without empty cells; this array has a mask.", domain=domain)
    check_arrow(values)
    array = _plain(_one_column(domain, values))
    if isinstance(array, np.ndarray) and array.ndim != 1:
        raise DomainError("Answers come as a one-dimensional array.", domain=domain)
    if isinstance(array, (str, bytes, Mapping, Set)) or not isinstance(array, (np.ndarray, Iterable)):
        raise DomainError("Answers must be a list or an array, not one value, a set or a mapping.", domain=domain)
    # Booleans are not numbers, and times must not be read as the integers that store them.
    if isinstance(array, np.ndarray) and array.dtype.kind in "bmM":
        refuse(domain, array, np.ones(len(array), bool))
    if isinstance(array, np.ndarray) and array.dtype.kind in "fiu":
        _check_step(domain, array)
    checked: NDArray[Any] | Iterable[Any] = array
    return checked


def _check_step(domain: Domain, array: NDArray[Any]) -> None:
    """Refuse numbers that an interval with a step does not hold; without a step they are checked later."""
    raw = domain.root
    if raw.size is None and raw.points is not None:
        different, places = np.unique(array, return_inverse=True)
        refuse(domain, array, np.array([not _takes(raw, value) for value in different.tolist()], bool)[places])


def _takes(domain: Domain, value: object) -> bool:
    try:
        domain.encode(value)
    except DomainError:
        return False
    return True


def is_frame(values: Any) -> bool:
    """Whether these are columns of pandas side by side."""
    return hasattr(values, "columns") and hasattr(values, "iloc") and getattr(values, "ndim", 0) == 2


def _one_column(domain: Domain, values: Any) -> Any:
    """A table of one column as that column, and a table of records as a list of them; anything else as it is."""
    if domain.root.fields:
        if not is_frame(values):
            return values
        names = list(map(str, values.columns))
        cells = (in_python(_plain(values.iloc[:, place])) for place in range(len(names)))
        return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]
    if is_frame(values):
        if values.shape[1] == 1:
            return values.iloc[:, 0]
        raise DomainError(f"Answers come as one column; this table has {values.shape[1]}.", domain=domain)
    if hasattr(values, "column_names") and hasattr(values, "combine_chunks"):  # a table of Arrow
        if len(values.column_names) == 1:
            return values.column(0)
        raise DomainError(f"Answers come as one column; this table has {len(values.column_names)}.", domain=domain)
    return values


def in_python(array: NDArray[Any] | Iterable[Any]) -> list[Any]:
    """Answers as the Python objects that a domain takes."""
    return list(array.tolist() if isinstance(array, np.ndarray) and array.dtype.kind != "O" else array)


def _plain(values: Any) -> Any:
    """Columns of pandas, Polars and Arrow as arrays; where cells are empty, as lists that say which."""
    if hasattr(values, "to_pylist"):
        table = hasattr(values, "column_names")  # each row of which is a record
        return values.to_pylist() if table or values.null_count else values.to_numpy(zero_copy_only=False)
    if not hasattr(values, "to_numpy"):
        return values
    array = values.to_numpy()
    # Columns of integers with empty cells become floats, and then every cell would look wrong.
    became_float = array.ndim == 1 and array.dtype.kind == "f" and not isinstance(values.dtype, np.dtype)
    return list(values) if became_float else array


@compiled
def _shift(values, low, size, out):
    """Codes of integers; returns how many lie outside. Below `low` the difference wraps around to a large number."""
    outside = np.int64(0)
    for i in range(values.shape[0]):
        code = np.uint64(values[i]) - np.uint64(low)
        outside += code >= np.uint64(size)
        out[i] = code
    return outside


def _whole_numbers(
    domain: Domain,
    array: NDArray[Any],
    threads: int | None,
    count_outside: Callable[[NDArray[np.int64], Codes], int],
    outside: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
) -> Codes:
    """Chunk by chunk on all cores, as 64-bit integers, so that there is one kernel for all types of integers.

    `count_outside` fills in codes; `outside` says which answers are refused, where some are.
    """
    codes = np.empty(len(array), np.uint32)
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        refuse(domain, array, array > _LARGEST)

    def work(start: int, stop: int) -> int:
        return count_outside(np.ascontiguousarray(array[start:stop], np.int64), codes[start:stop])

    if sum(run(work, len(array), _CHUNK, threads)):
        refuse(domain, array, outside(array.astype(np.int64)))
    return codes


@_at_once.register
def _(domain: Integers, array: NDArray[Any], threads: int | None) -> Codes | None:
    low, high, size = domain.low, domain.high, domain.size
    if array.dtype.kind in "iu":
        return _whole_numbers(
            domain,
            array,
            threads,
            lambda values, out: _shift(values, low, size, out),
            lambda values: (values < low) | (values > high),
        )
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return _whole_floats(domain, array)
    return None


def _whole_floats(domain: Integers, array: NDArray[Any]) -> Codes:
    """Floats that are whole numbers, exactly: the ends of a domain are at most 2**53, where floats are exact."""
    wide = array.astype(np.float64)
    inside = (wide >= domain.low) & (wide <= domain.high) & (np.floor(wide) == wide)  # false for NaN
    refuse(domain, array, ~inside)
    return (wide.astype(np.int64) - domain.low).astype(np.uint32)


@_at_once.register
def _(domain: Categories, array: NDArray[Any], threads: int | None) -> Codes | None:
    if array.dtype.kind in "fc" or (array.dtype.kind in "iu" and domain.holds_texts):  # categories are not floats
        refuse(domain, array, np.ones(len(array), bool))
    if array.dtype.kind not in "iu":
        return None
    listed = np.array([] if domain.holds_texts else domain.values, np.int64)
    return _whole_numbers(domain, array, threads, _searched(listed), lambda values: ~np.isin(values, listed))


def _searched(listed: NDArray[np.int64]) -> Callable[[NDArray[np.int64], Codes], int]:
    order = np.argsort(listed)
    ranked = listed[order]

    def search(values: NDArray[np.int64], out: Codes) -> int:
        places = np.minimum(np.searchsorted(ranked, values), len(ranked) - 1)
        out[:] = order[places]
        return int(np.count_nonzero(ranked[places] != values))

    return search


@_at_once.register(Above)
@_at_once.register(Digit)
def _(domain: Above | Digit, array: NDArray[Any], threads: int | None) -> Codes | None:
    return _read(domain, array, *digits(domain, array)) if reads_digits(domain, array) else None


@_at_once.register
def _(domain: Bins, array: NDArray[Any], threads: int | None) -> Codes | None:
    return _read(domain, array, *bins(domain, array)) if reads_bins(domain, array) else None


def _read(domain: Domain, array: NDArray[Any], codes: Codes, outside: NDArray[np.bool_]) -> Codes:
    refuse(domain, array, outside)
    return codes


@_listed.register
def _(domain: Categories, values: list[Any]) -> Codes:
    if not all(type(value) is str for value in values):
        return _one_by_one(domain, values)
    known: dict[object, int] = {value: code for code, value in enumerate(domain.values)}
    codes = np.fromiter(map(known.get, values, repeat(-1)), np.int64, len(values))
    refuse(domain, values, codes < 0)
    return codes.astype(np.uint32)


@_listed.register(Text)
@_listed.register(Words)
def _(domain: Text | Words, values: list[Any]) -> Codes:
    """Each different text is encoded once."""
    texts = {value for value in values if type(value) is str}
    known: dict[object, int] = {}
    for text in texts:
        with suppress(DomainError):
            known[text] = domain.encode(text)
    if any(type(value) is not str for value in values):
        return _one_by_one(domain, values)
    codes = np.fromiter(map(known.get, values, repeat(-1)), np.int64, len(values))
    refuse(domain, values, codes < 0)
    return codes.astype(_code_type(domain))


@_at_once.register
def _(domain: Merged, array: NDArray[Any], threads: int | None) -> Codes | None:
    codes = _at_once(domain.of, array, threads)
    return None if codes is None else np.array(domain.parts, np.uint32)[codes]


@_listed.register
def _(domain: Merged, values: list[Any]) -> Codes:
    return np.array(domain.parts, np.uint32)[_listed(domain.of, values)]


def _one_by_one(domain: Domain, values: list[Any]) -> Codes:
    if domain.size is None:
        raise NoBatchError(f"There are no batches for a domain of kind {domain.kind}: its codes are not numbered.")
    return np.array(one_by_one(domain, values), _code_type(domain))


def _code_type(domain: Domain) -> type[np.uint32 | np.uint64]:
    return np.uint32 if (domain.size or 0) <= MAX_CODES else np.uint64


def one_by_one(domain: Domain, values: list[Any]) -> list[Any]:
    """The codes as the domain itself gives them; if any value lies outside, the error says how many and which first."""
    codes: list[Any] = []
    outside = np.zeros(len(values), bool)
    for place, value in enumerate(values):
        try:
            codes.append(domain.encode(value))
        except DomainError:
            outside[place] = True
    refuse(domain, values, outside)
    return codes


def refuse(domain: Domain, values: Any, outside: NDArray[np.bool_]) -> None:
    """Refuse a batch if any value is outside; the error holds counts, no values."""
    count = int(np.count_nonzero(outside))
    if count:
        first, expected = int(np.argmax(outside)), domain.refusal()
        must_be = f" An answer must be {expected.must_be}." if expected.must_be else ""
        raise DomainError(
            f"{count} of {len(outside)} answers lie outside the domain, the first at position {first}.{must_be}",
            domain=domain,
            must_be=expected.must_be,
            listed=expected.listed,
        )
