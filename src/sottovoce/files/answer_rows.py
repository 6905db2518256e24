"""Answers of several columns: pairs, records and vectors, row by row; and rows with empty cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sottovoce.core.domain import Ball, Box, Categories, Domain, Interval, Pair, Record, Sets, Sparse
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.numbers import batch_codes
from sottovoce.files.answers import Outside, batch, by_dictionary

MISSING = "missing"  # the category of empty cells
WAYS = ("refuse", "skip", "category")


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """How the columns of a file make up an answer: the domain of each, and the answers of some rows."""

    parts: tuple[Domain, ...]
    answers: Callable[[list[list[Any]]], Any] | None = None  # None where an answer is one cell


def layout(domain: Domain, columns: Sequence[str]) -> ColumnLayout:
    """How an answer is made up. As many columns are needed as the domain has parts, in their order; fields of a record
    are found by their names, if all columns have these names."""
    column_layout = _parts(domain.root, columns) or ColumnLayout((domain,))
    if len(column_layout.parts) != len(columns):
        raise ParameterError(
            f"An answer to this question has {plural(len(column_layout.parts), 'column')},"
            f" and --column names {len(columns)}."
        )
    return column_layout


@singledispatch
def _parts(raw: Domain, columns: Sequence[str]) -> ColumnLayout | None:
    """The columns of an answer that has several parts; None where it is one cell."""
    return None


@_parts.register
def _(raw: Pair, columns: Sequence[str]) -> ColumnLayout:
    return ColumnLayout((raw.group, raw.value), lambda lists: (lists[0], lists[1]))


@_parts.register
def _(raw: Box, columns: Sequence[str]) -> ColumnLayout:
    return ColumnLayout(tuple(raw.coordinates), _lists)


@_parts.register
def _(raw: Ball, columns: Sequence[str]) -> ColumnLayout:
    return ColumnLayout((Interval(-raw.radius, raw.radius),) * raw.dimensions, _lists)


@_parts.register
def _(raw: Sparse, columns: Sequence[str]) -> ColumnLayout:
    return ColumnLayout((raw.side,) * raw.dimensions, _entries)


@_parts.register
def _(raw: Sets, columns: Sequence[str]) -> ColumnLayout:
    """One cell with semicolons between the items; an empty one is the answer of those who hold none."""
    return ColumnLayout((raw,), lambda lists: [[] if cell is None else cell for cell in lists[0]])


@_parts.register
def _(raw: Record, columns: Sequence[str]) -> ColumnLayout:
    fields = dict(raw.fields)
    names = list(columns) if set(columns) == set(fields) else list(fields)
    return ColumnLayout(
        tuple(fields[name] for name in names),
        lambda lists: [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)],
    )


def _lists(lists: list[list[Any]]) -> list[list[Any]]:
    return [list(row) for row in zip(*lists, strict=True)]


def _entries(lists: list[list[Any]]) -> list[dict[int, Any]]:
    """Sparse vectors: the cells that are not zero."""
    rows = zip(*lists, strict=True)
    return [{place: cell for place, cell in enumerate(row) if cell is None or cell != 0} for row in rows]


@dataclass(frozen=True, slots=True)
class Rows:
    """The codes of some rows, or what is `Outside`, and how many rows have empty cells that do not count as such."""

    codes: Any
    empty: int = 0


def read_rows(mechanism: Mechanism, column_layout: ColumnLayout, columns: Sequence[pa.Array], missing: str) -> Rows:
    """The codes of some rows; those with empty cells are refused, skipped, or hold a category of their own."""
    if missing == "refuse":
        return Rows(row_codes(mechanism, column_layout, columns))
    empty_columns = [empty_cells(part, column) for part, column in zip(column_layout.parts, columns, strict=True)]
    empty = np.logical_or.reduce(empty_columns)
    if missing == "category" and column_layout.answers is not None:
        return Rows(row_codes(mechanism, column_layout, columns, empty_columns), int(empty.sum()))
    kept = np.flatnonzero(~empty)
    kept_codes = row_codes(mechanism, column_layout, [column.filter(pa.array(~empty)) for column in columns])
    if isinstance(kept_codes, Outside):
        return Rows(Outside(kept_codes.count, int(kept[kept_codes.place]), kept_codes.empty), int(empty.sum()))
    if missing == "category":
        codes = np.full(len(empty), mechanism.domain.encode(MISSING), np.uint32)
        codes[kept] = kept_codes
        kept_codes = codes
    return Rows(kept_codes, int(empty.sum()))


def row_codes(
    mechanism: Mechanism,
    column_layout: ColumnLayout,
    columns: Sequence[pa.Array],
    empty: Sequence[NDArray[np.bool_]] = (),
) -> Any:
    """The codes of some rows as a batch holds them, or what is `Outside`; `empty` cells have a category."""
    if column_layout.answers is None:
        return batch(mechanism, columns[0])
    lists = [_typed(part, column) for part, column in zip(column_layout.parts, columns, strict=True)]
    for cells, flags in zip(lists, empty, strict=False):
        for row in np.flatnonzero(flags).tolist():
            cells[row] = MISSING
    answers = column_layout.answers(lists)
    try:
        return batch_codes(mechanism, answers)
    except DomainError:
        pass  # counted below
    single = list(zip(*answers, strict=True)) if isinstance(answers, tuple) else answers
    refused = np.array([_is_outside(mechanism.domain, answer) for answer in single], bool)
    place = int(np.argmax(refused))
    return Outside(int(refused.sum()), place, any(cells[place] in (None, "") for cells in lists))


def _typed(part: Domain, column: pa.Array) -> list[Any]:
    """The cells of a column as its domain holds them."""
    indices, entries = by_dictionary(part, column)
    held = [*entries, None]  # the last: an empty cell
    return [held[index] for index in indices.tolist()]


def _is_outside(domain: Domain, answer: object) -> bool:
    try:
        domain.encode(answer)
    except DomainError:
        return True
    return False


# --- empty cells ------------------------------------------------------------------------------------------
def with_missing(domain: Domain) -> Domain:
    """Categories with one more for empty cells, unless it is among them."""
    if domain.fields:
        return Record({name: with_missing(one) for name, one in domain.fields})
    if domain.choices is None or not domain.holds_texts:
        raise ParameterError(
            "--missing category is for categories: numbers have none for empty cells, use --missing skip."
        )
    return domain if MISSING in domain.choices else Categories([*map(str, domain.choices), MISSING])


def check_missing(domain: Domain, way: str) -> None:
    """Refuse a way to treat empty cells that the domain has no room for."""
    if way not in WAYS:
        raise ParameterError(f"--missing must be one of {', '.join(WAYS)}.")
    if way == "category" and with_missing(domain.root) != domain.root:
        raise ParameterError(
            f"--missing category needs the category {MISSING!r}, which this specification does not have."
        )


def empty_cells(part: Domain, column: pa.Array) -> NDArray[np.bool_]:
    """Which cells are empty: nothing, blanks that are no category, or NaN, which is what pandas writes."""
    empty = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)).to_numpy(zero_copy_only=False)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = pc.dictionary_encode(column)
    if not pa.types.is_dictionary(column.type):
        return np.asarray(empty, bool)
    known = part.root.choices or ()
    entries = column.dictionary.to_pylist()
    blank = [
        entry is None or (isinstance(entry, str) and not entry.strip() and entry not in known) for entry in entries
    ]
    indices = pc.fill_null(column.indices.cast(pa.int64()), len(entries)).to_numpy(zero_copy_only=False)
    table = np.array([*blank, True], bool)
    return np.asarray(table[indices], bool)
