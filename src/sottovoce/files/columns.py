"""Columns of reports as engines give them: which are counted, and their cells as arrays.

`report` or `payload` holds numbers or bytes as devices send them; `id`, 16 bytes, is there where the mechanism reads
public words or repeated reports are to be found; `arm`, where there are several. Bytes may be of fixed or of variable
length, and numbers of any integer type: engines change both.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sottovoce.core.errors import ReportError
from sottovoce.core.exchange import codec

COUNTED = ("arm", "id", "report", "payload")
_LARGEST = (1 << 64) - 1


def counted_names(names: Iterable[str]) -> list[str]:
    """The columns that are counted.

    Engines take names in any case for the same. One that is written otherwise is refused: a column "ID" that nobody
    reads would let repeated reports count twice.
    """
    columns = list(names)
    close = [name for name in columns if name.strip().lower() in COUNTED]
    if any(name not in COUNTED for name in close) or len(set(close)) < len(close):
        raise ReportError(f"The columns {', '.join(COUNTED)} are written like this, and each comes once.")
    counted = [name for name in COUNTED if name in columns]
    if ("report" in counted) + ("payload" in counted) != 1:
        raise ReportError("Reports come in one column, 'report' or 'payload'.")
    return counted


def plain(column: Any) -> Any:
    """A column without the wrappings in which engines and writers of files may put it."""
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_binary_view(column.type):
        try:
            return column.cast(pa.large_binary())
        except pa.ArrowNotImplementedError:  # of old versions of Arrow
            return pa.array(column.to_pylist(), pa.large_binary())
    return column


def plain_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns that are counted, without their wrappings."""
    return pa.RecordBatch.from_pydict({name: plain(batch.column(name)) for name in counted_names(batch.schema.names)})


def numbers(column: Any, name: str) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Numbers, and which cells are empty; zeros there."""
    empty = column.is_null().to_numpy(zero_copy_only=False)
    if empty.all():  # whatever kind an engine gives to a column of nothing
        return np.zeros(len(column), np.int64), empty
    if pa.types.is_decimal(column.type) and column.type.scale == 0:  # what Spark makes of 64 bits without a sign
        values = [int(one) if one is not None else 0 for one in column.to_pylist()]
        return np.array([one if 0 <= one <= _LARGEST else _LARGEST for one in values], np.uint64), empty
    if not pa.types.is_integer(column.type):
        raise ReportError(f"The column {name!r} must hold integers or bytes.")
    return (pc.fill_null(column, 0) if empty.any() else column).to_numpy(zero_copy_only=False), empty


def fixed(column: Any, width: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Bytes as rows of one width, and which of them have it; zeros where not."""
    if not is_bytes(column.type):
        raise ReportError("Ids and masks come in columns of bytes.")
    if column.null_count == len(column):
        return np.zeros((len(column), width), np.uint8), np.zeros(len(column), np.bool_)
    good = pc.fill_null(pc.equal(pc.binary_length(column), width), False).to_numpy(zero_copy_only=False)
    if good.all():
        return matrix(column, width), good
    rows = np.zeros((len(column), width), np.uint8)
    if good.any():
        rows[good] = matrix(column.filter(pa.array(good)), width)
    return rows, good


def whole_ids(batch: pa.RecordBatch) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """The ids of 16 bytes, and which rows have one."""
    ids, good = fixed(plain(batch.column("id")), codec.ID_BYTES)
    return (ids if good.all() else ids[good]), good


def is_bytes(kind: Any) -> bool:
    """Whether a column holds bytes, or nothing at all."""
    types = pa.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind) or types.is_null(kind)) or _is_fixed(kind)


def _is_fixed(kind: Any) -> bool:
    return bool(pa.types.is_fixed_size_binary(kind)) and not pa.types.is_decimal(kind)


def matrix(column: Any, width: int) -> NDArray[np.uint8]:
    """A column without empty cells whose bytes all have this length."""
    if not len(column):
        return np.zeros((0, width), np.uint8)
    if _is_fixed(column.type):
        start, data = column.offset * width, column.buffers()[1]
    else:
        offsets = np.frombuffer(column.buffers()[1], np.int64 if pa.types.is_large_binary(column.type) else np.int32)
        start, data = int(offsets[column.offset]), column.buffers()[2]
    return np.frombuffer(data, np.uint8)[start : start + len(column) * width].reshape(-1, width)


def binary(rows: NDArray[np.uint8]) -> pa.Array:
    """A column of bytes of one length, a row of the array each."""
    width = rows.shape[1]
    return pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(width), len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows))]
    )
