"""Arrow columns from elsewhere: nothing is read before lengths, offsets and empty cells are known to fit their buffers.

A stream or a file may declare more rows than its buffers hold. Arrow reads such a batch without a word, and whoever
looks at the missing rows reads memory that belongs to something else.
"""

from __future__ import annotations

from typing import Any

from sottovoce.core.errors import ParameterError


def check_arrow(values: Any) -> None:
    """Refuse damaged Arrow columns: alone, in a table, in a pair, or inside a column of pandas.

    The sentence says nothing of what Arrow found, which may be somebody's answer.
    """
    for column in _columns(values):
        try:
            column.validate(full=True)
        except ValueError:  # of which Arrow's own error is one
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
