"""One column of raw answers, some rows at a time, and its codes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sottovoce.cli.files import STANDARD, FileProblem, cells, kind_of, kind_of_stream, naming, reading, shown
from sottovoce.cli.show import listed
from sottovoce.core.domain import Categories, Domain, Integers, Interval
from sottovoce.core.errors import DomainError
from sottovoce.core.params import reject
from sottovoce.fast.encode import encode

ROWS = 1 << 20
BLOCK = 1 << 23  # bytes of a CSV file at a time
RAW_KINDS = ("csv", "parquet", "arrow")
_TEXTS = pa.dictionary(pa.int32(), pa.string())
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the answers are."""

    path: str
    column: str
    kind: str | None = None
    delimiter: str = ","


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows, and their part of the file: `length` of `total`, which is 0 where nobody knows."""

    values: pa.Array
    length: int
    total: int


def separator(text: str) -> str:
    """What stands between cells, as a shell passes it on."""
    if text in ("\t", r"\t"):
        return "\t"
    if len(text) != 1 or not text.isascii() or not text.isprintable() or text == '"':
        raise reject("delimiter", "privatize", r"one ASCII character other than a quote, or \t for a tab", text)
    return text


def pieces(source: Source) -> Iterator[Piece]:
    """The column, piece by piece."""
    with reading(source.path) as file:
        if source.path == STANDARD:
            kind = kind_of_stream(file, source.kind, RAW_KINDS)
        else:
            kind = kind_of(source.path, source.kind, RAW_KINDS)
        if kind == "parquet" and source.path == STANDARD:
            raise FileProblem("Parquet cannot be read from a pipe: its index is at the end. Name the file.")
        with naming(source.path):
            yield from _READERS[kind](source, file)


def _check_column(source: Source, known: list[str]) -> None:
    if known.count(source.column) != 1:
        how = "no" if source.column not in known else "more than one"
        raise FileProblem(f"{shown(source.path)} has {how} column {source.column!r}. Known: {listed(known)}.")


def _parquet(source: Source, file: IO[bytes]) -> Iterator[Piece]:
    schema = pq.read_schema(source.path)
    _check_column(source, schema.names)
    kind = schema.field(source.column).type
    texts = [source.column] if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None
    with pq.ParquetFile(source.path, read_dictionary=texts, pre_buffer=False) as table:
        for batch in table.iter_batches(batch_size=ROWS, columns=[source.column]):
            yield Piece(batch.column(0), batch.num_rows, table.metadata.num_rows)


def _arrow(source: Source, file: IO[bytes]) -> Iterator[Piece]:
    with pa.ipc.open_stream(file) as stream:
        _check_column(source, stream.schema.names)
        for batch in stream:
            yield Piece(batch.column(source.column), batch.num_rows, 0)


def _csv(source: Source, file: IO[bytes]) -> Iterator[Piece]:
    header = _header(file, source.delimiter)
    _check_column(source, header)
    if not file.peek(1):  # type: ignore[attr-defined]
        return
    total = 0 if source.path == STANDARD else os.fstat(file.fileno()).st_size
    stream = pa_csv.open_csv(
        file,
        pa_csv.ReadOptions(column_names=header, block_size=BLOCK),
        # In a file of one column an empty line is an empty answer, and nobody's answer is dropped.
        pa_csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True, ignore_empty_lines=len(header) > 1),
        pa_csv.ConvertOptions(include_columns=[source.column], column_types={source.column: _TEXTS}),
    )
    with stream:
        for batch in stream:
            yield Piece(batch.column(0), BLOCK, total)


def _header(file: IO[bytes], delimiter: str) -> list[str]:
    """The first record; the rest of the file is left for Arrow."""
    line = file.readline(1 << 20)
    while line.count(b'"') % 2 and (more := file.readline(1 << 20)):
        line += more
    text = line.decode("utf-8-sig")
    return cells(text.rstrip("\r\n"), delimiter=delimiter) if text.strip() else []


_READERS: dict[str, Callable[[Source, IO[bytes]], Iterator[Piece]]] = {
    "csv": _csv,
    "parquet": _parquet,
    "arrow": _arrow,
}


# --- codes ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Outside:
    """Answers that the domain refuses: how many, and the first with its place."""

    count: int
    place: int
    value: object

    def after(self, rows: int, earlier: Outside | None) -> Outside:
        """These and earlier ones, where so many rows came before."""
        if earlier is None:
            return Outside(self.count, rows + self.place, self.value)
        return Outside(earlier.count + self.count, earlier.place, earlier.value)


def codes(domain: Domain, values: pa.Array) -> Any:
    """The codes of some answers, or what is `Outside`."""
    whole = pa.types.is_integer(values.type) and not values.null_count
    if domain.size is None or (whole and isinstance(domain, (Integers, Categories)) and not _holds_texts(domain)):
        try:
            return encode(domain, values if whole else _typed_list(domain, values))
        except DomainError:
            pass  # counted below
    try:
        indices, table = _by_dictionary(domain, values)
    except pa.ArrowNotImplementedError:
        raise FileProblem(f"A column of {values.type} cannot be read as answers.") from None
    found = table[indices]
    outside = found < 0
    count = int(np.count_nonzero(outside))
    if count:
        place = int(np.argmax(outside))
        return Outside(count, place, values[place].as_py())
    return found.astype(np.uint32)


def _by_dictionary(domain: Domain, values: pa.Array) -> tuple[Any, Any]:
    """Each different answer is encoded once; an entry that no row uses does no harm, one that is refused has -1."""
    encoded = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
    entries = [typed(domain, value) for value in encoded.dictionary.to_pylist()]
    table = np.array([_code(domain, value) for value in entries] + [-1], np.int64)  # the last: an empty cell
    indices = pc.fill_null(encoded.indices.cast(pa.int64()), len(entries)).to_numpy(zero_copy_only=False)
    return indices, table


def _code(domain: Domain, value: object) -> int:
    try:
        code = domain.encode(value)
    except DomainError:
        return -1
    return 0 if domain.size is None else int(code)


def _typed_list(domain: Domain, values: pa.Array) -> Any:
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return values
    return [typed(domain, value) for value in values.to_pylist()]


def _root(domain: Domain) -> Domain:
    """The domain of the raw answer, under all views."""
    while hasattr(domain, "of"):
        domain = domain.of
    return domain


def _holds_texts(domain: Domain) -> bool:
    root = _root(domain)
    return isinstance(root, Categories) and isinstance(root.values[0], str)


def typed(domain: Domain, value: object) -> object:
    """A cell as the domain holds it: files write the number 7 as text, or the category "7" as a number."""
    root = _root(domain)
    if isinstance(value, str):
        if isinstance(root, Integers) or (isinstance(root, Categories) and not _holds_texts(root)):
            return int(value) if _WHOLE.fullmatch(value) and len(value) < 100 else value
        if isinstance(root, Interval):
            try:
                return float(value)
            except ValueError:
                return value
    if type(value) is int and _holds_texts(root):
        return str(value)
    return value
