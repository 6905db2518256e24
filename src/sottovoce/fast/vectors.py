"""Many vectors to positions on the grids of their coordinates: one row each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Rounding
from sottovoce.core.channel.facets import Coordinates, need
from sottovoce.core.domain import Box, Domain, Record
from sottovoce.core.errors import DomainError
from sottovoce.fast.encode import is_frame, one_by_one, refuse

Positions = NDArray[np.uint64]
Encode = Callable[[Domain, Rounding, Any], Positions]


@singledispatch
def vector_positions(domain: Domain, channel: Channel, values: Any, encode: Encode) -> Positions:
    """A row of positions for each answer: a table or a two-dimensional array, or a list of single answers."""
    return _one_by_one(domain, need(channel, Coordinates).roundings, values)


@vector_positions.register
def _(domain: Box, channel: Channel, values: Any, encode: Encode) -> Positions:
    grids, array = need(channel, Coordinates).roundings, rectangle(domain, values)
    return _one_by_one(domain, grids, values) if array is None else rows_of(domain, grids[0], array, encode)


@vector_positions.register
def _(domain: Record, channel: Channel, values: Any, encode: Encode) -> Positions:
    grids = need(channel, Coordinates).roundings
    return _columns(domain, grids, values, encode) if is_frame(values) else _one_by_one(domain, grids, values)


def rectangle(domain: Box, values: Any) -> NDArray[Any] | None:
    """The numbers as an array of n rows; None where answers are other objects, to be read one by one."""
    array = values.to_numpy() if is_frame(values) else values
    if isinstance(array, np.ma.MaskedArray):
        raise DomainError("Answers come without empty cells; this array has a mask.", domain=domain)
    if isinstance(array, (list, tuple)) and array and all(isinstance(row, np.ndarray) for row in array):
        shapes = {(row.shape, row.dtype) for row in array}
        masked = any(isinstance(row, np.ma.MaskedArray) for row in array)  # stacked, they would lose their masks
        array = np.stack(array) if len(shapes) == 1 and not masked else array
    elif isinstance(array, (list, tuple)) and array and all(_is_float_row(row, domain.dimensions) for row in array):
        array = np.array(array, np.float64)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        return None
    if array.ndim != 2 or array.shape[1] != domain.dimensions:
        raise DomainError(
            f"Answers come as rows of {domain.dimensions} numbers. Got an array of shape {array.shape}.",
            domain=domain,
        )
    return array


def _is_float_row(row: Any, width: int) -> bool:
    return isinstance(row, (list, tuple)) and len(row) == width and all(type(number) is float for number in row)


def rows_of(domain: Box, grid: Rounding, array: NDArray[Any], encode: Encode) -> Positions:
    """The positions of all numbers on one grid."""
    try:
        return encode(domain.side, grid, array.reshape(-1)).reshape(array.shape)
    except DomainError:
        with np.errstate(invalid="ignore"):
            wide = array.astype(np.float64)
            inside = (wide >= float(domain.low)) & (wide <= float(domain.high))
        if inside.all():  # an end that is not a float
            return _one_by_one(domain, [grid] * domain.dimensions, array.tolist())
        refuse(domain, array, np.asarray(~inside.all(axis=1)))
        raise


def _columns(domain: Record, grids: Sequence[Rounding], table: Any, encode: Encode) -> Positions:
    names = [name for name, _ in domain.fields]
    if sorted(map(str, table.columns)) != sorted(names):
        raise DomainError(
            f"A table of these records has the columns {', '.join(names)} and no others. Got {table.shape[1]} columns.",
            domain=domain,
        )
    fields = zip(domain.fields, grids, strict=True)
    return np.column_stack([encode(field, grid, table[name]) for (name, field), grid in fields])


def _one_by_one(domain: Domain, grids: Sequence[Rounding], values: Any) -> Positions:
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise DomainError("Answers come as a list or an array, not as one value.", domain=domain)
    listed = list(values)
    codes = one_by_one(domain, listed)
    rows = [[grid.position(number) for grid, number in zip(grids, code, strict=True)] for code in codes]
    return np.array(rows, np.uint64).reshape(len(listed), len(grids))
