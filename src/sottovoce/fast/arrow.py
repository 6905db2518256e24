"""Untrusted Arrow columns: lengths, offsets and empty cells are checked against their buffers before anything is read.

A stream or a file may declare more rows than its buffers hold. Arrow accepts such a batch silently, and access
to the missing rows reads unrelated memory.
"""

from __future__ import annotations

from typing import Any

from sottovoce.core.errors import ParameterError


def check_arrow(values: Any) -> None:
    """Refuse damaged Arrow columns: alone, in a table, in a pair, or inside a column of pandas.

    The error does not repeat the message of Arrow, which may contain an answer.
    """
    for column in _columns(values):
        try:
            column.validate(full=True)
        except ValueError:  # includes Arrow's own error
            raise ParameterError(
                "This Arrow column is damaged: its length, offsets, indices or texts do not fit its buffers."
            ) from None


def _columns(values: Any) -> list[Any]:
    """The Arrow columns in what may be a batch of answers; a table counts as one."""
    if hasattr(values, "to_pylist") and hasattr(values, "validate"):
        return [values]
    if isinstance(values, tuple) and len(values) == 2:
        return [column for part in values for column in _columns(part)]
    if hasattr(values, "iloc"):
        parts = [values.iloc[:, place] for place in range(values.shape[1])] if values.ndim == 2 else [values]
        return [part.array.__arrow_array__() for part in parts if _keeps_arrow(part.dtype)]
    return []


def _keeps_arrow(dtype: Any) -> bool:
    """Whether a column of pandas lies in Arrow's memory."""
    return hasattr(dtype, "pyarrow_dtype") or getattr(dtype, "storage", None) == "pyarrow"
