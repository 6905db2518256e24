"""Columns of raw answers, some rows at a time, and the codes of a single column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.domain import Domain
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.language.display import printable
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.fast.arrow import check_arrow
from sottovoce.fast.encode import encode
from sottovoce.fast.numbers import batch_codes
from sottovoce.files.kinds import kind_by_content, kind_of
from sottovoce.files.opening import STANDARD, FileProblem, cells, input_name, naming
from sottovoce.files.places import expanded, opened, parquet_source, reading, size_of, total_size

ROWS = 1 << 20
BLOCK = 1 << 23  # bytes of a CSV file at a time
DELIMITERS = (",", ";", "\t", "|")
RAW_KINDS = ("csv", "parquet", "arrow")
_TEXTS = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class AnswerSource:
    """Where the answers are. Columns are named by position unless the user says that the header is public: in a
    file without a header, the first row holds answers."""

    path: str
    columns: tuple[str, ...]
    kind: str | None = None
    delimiter: str = ","
    public_header: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows, and their part of all files in bytes: `length` of `total`, which is 0 if unknown."""

    values: tuple[pa.Array, ...] = field(repr=False)
    length: int
    total: int
    columns: AnswerColumns


@dataclass(frozen=True, slots=True)
class AnswerColumns:
    """The columns of the answers: their name in errors, and how many columns the file has."""

    name: str
    columns: int


class Ragged(NamedTuple):
    """Counts of a row with too many or too few cells; its text is not kept."""

    cells: int
    row: int | None


def separator(text: str) -> str:
    """The delimiter, as a shell passes it on."""
    if text in ("\t", r"\t"):
        return "\t"
    if len(text) != 1 or not text.isascii() or not text.isprintable() or text == '"':
        raise reject("delimiter", "privatize", r"one ASCII character other than a quote, or \t for a tab", text)
    return text


def column_names(text: str) -> tuple[str, ...]:
    """The columns of `--column`: one, or several between commas; a name with a comma stands in quotes."""
    names = tuple(cells(text, skipinitialspace=True)) if "," in text else (text,)
    if len(set(names)) < len(names) or "" in names[1:]:
        raise ParameterError("--column names a column twice, or one without a name.")
    return names


def pieces(source: AnswerSource) -> Iterator[Piece]:
    """The column, piece by piece."""
    paths = expanded([source.path])
    total = total_size(paths)
    for place, path in enumerate(paths):
        for piece in _pieces(replace(source, path=path), input_name(path, place, len(paths))):
            yield replace(piece, total=total)


def _pieces(source: AnswerSource, name: str) -> Iterator[Piece]:
    with reading(source.path, name) as file:
        if source.path == STANDARD:
            kind, file = kind_by_content(source.path, file, source.kind, RAW_KINDS, name=name)
        else:
            kind = kind_of(source.path, source.kind, RAW_KINDS)
        if kind == "parquet" and source.path == STANDARD:
            raise FileProblem("Parquet cannot be read from a pipe: its index is at the end. Name the file.")
        with naming(name):
            for piece in _READERS[kind](source, file):
                for column in piece.values:
                    check_arrow(column)
                yield piece


def _answer_columns(source: AnswerSource, known: list[str], hint: str = "") -> AnswerColumns:
    """The requested columns as errors name them; the header must hold each of them exactly once."""
    several = len(source.columns) > 1
    for place, column in enumerate(source.columns, 1):
        count = known.count(column)
        if count != 1:
            names = f": {_listed(known)}" if source.public_header else "; --public-header lists them"
            which = f"Column {place} of --column" if several else "The column of --column"
            raise FileProblem(
                f"{which} must occur once in the header, but occurs {plural(count, 'time')}. The header has"
                f" {plural(len(known), 'column')}{names}.{hint}"
            )
    if source.public_header:
        shown = ", ".join(repr(printable(column)) for column in source.columns)
    else:
        shown = f"{', '.join(str(known.index(column) + 1) for column in source.columns)} of {len(known)}"
    start = "the column" if source.public_header else "column"
    return AnswerColumns(f"{start}{'s' * several} {shown}", len(known))


def _listed(names: list[str]) -> str:
    """Names from a public header, shortened and escaped for one sentence; a broken header may hold anything."""
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(map(printable, names[:20])) + more or "none"


def _parquet(source: AnswerSource, file: IO[bytes]) -> Iterator[Piece]:
    schema = pq.read_schema(parquet_source(source.path))
    columns, names = _answer_columns(source, schema.names), list(source.columns)
    kinds = {name: schema.field(name).type for name in names}
    texts = [name for name in names if pa.types.is_string(kinds[name]) or pa.types.is_large_string(kinds[name])]
    with pq.ParquetFile(parquet_source(source.path), read_dictionary=texts or None, pre_buffer=False) as table:
        size, rows = size_of(source.path), table.metadata.num_rows
        for batch in table.iter_batches(batch_size=max(1, ROWS // len(names)), columns=names):
            values = tuple(batch.column(name) for name in names)
            yield Piece(values, size * batch.num_rows // max(rows, 1), size, columns)


def _arrow(source: AnswerSource, file: IO[bytes]) -> Iterator[Piece]:
    with pa.ipc.open_stream(file) as stream:
        columns = _answer_columns(source, stream.schema.names)
        for batch in stream:
            yield Piece(tuple(batch.column(name) for name in source.columns), batch.num_rows, 0, columns)


def _csv(source: AnswerSource, file: IO[bytes]) -> Iterator[Piece]:
    line = _first_line(file)
    header = _header(line, source.delimiter)
    columns = _answer_columns(source, header, _other_delimiter(source, line, len(header)))
    if not file.peek(1):  # type: ignore[attr-defined]
        return
    total = size_of(source.path)
    rows = 0
    ragged: list[Ragged] = []
    try:
        with _opened_csv(source, file, header, ragged) as stream:
            for batch in stream:
                rows += batch.num_rows
                yield Piece(tuple(batch.columns), BLOCK, total, columns)
    except pa.ArrowInvalid:
        if not ragged:
            raise
        row = _ragged_row(source, header)
        where = f"Row {row} of the data" if row else f"A row after row {rows} of the data"
        raise FileProblem(f"{where} has {ragged[0].cells} cells, and the header has {len(header)}.") from None


def _opened_csv(
    source: AnswerSource, file: IO[bytes], header: list[str], ragged: list[Ragged], *, threads: bool = True
) -> Any:
    def note(row: Any) -> str:
        ragged.append(Ragged(row.actual_columns, row.number))
        return "error"

    return pa_csv.open_csv(
        file,
        pa_csv.ReadOptions(column_names=header, block_size=BLOCK, use_threads=threads),
        pa_csv.ParseOptions(
            delimiter=source.delimiter,
            newlines_in_values=True,
            # In a file of one column an empty line is an empty answer, and no answer is dropped.
            ignore_empty_lines=len(header) > 1,
            invalid_row_handler=note,
        ),
        pa_csv.ConvertOptions(include_columns=list(source.columns), column_types=dict.fromkeys(source.columns, _TEXTS)),
    )


def _ragged_row(source: AnswerSource, header: list[str]) -> int | None:
    """The number of the first such row. Arrow counts rows only where one thread reads, so the file is read again."""
    if source.path == STANDARD:
        return None
    ragged: list[Ragged] = []
    with opened(source.path) as file, suppress(pa.ArrowInvalid):
        _first_line(file)
        with _opened_csv(source, file, header, ragged, threads=False) as stream:
            for _ in stream:
                pass
    return ragged[0].row if ragged else None


def _first_line(file: IO[bytes]) -> str:
    """The first record; the rest of the file is left for Arrow."""
    line = file.readline(1 << 20)
    while line.count(b'"') % 2 and (more := file.readline(1 << 20)):
        line += more
    return line.decode("utf-8-sig")


def _header(line: str, delimiter: str) -> list[str]:
    return cells(line.rstrip("\r\n"), delimiter=delimiter) if line.strip() else []


def _other_delimiter(source: AnswerSource, line: str, columns: int) -> str:
    """What an error adds where the header seems to have another delimiter: one by which the columns are found, or that
    splits what is one column now."""
    split: dict[str, list[str]] = {}
    for delimiter in DELIMITERS:
        with suppress(ParameterError):
            split[delimiter] = _header(line, delimiter)
    right = [one for one, header in split.items() if all(header.count(name) == 1 for name in source.columns)]
    likely = [one for one, header in split.items() if len(header) > 1 and columns == 1]
    better = next((one for one in (*right, *likely) if one != source.delimiter), None)
    if better is None:
        return ""
    shown = r"\t" if better == "\t" else better
    return f" The file seems to have another delimiter: try --delimiter '{shown}'."


_READERS: dict[str, Callable[[AnswerSource, IO[bytes]], Iterator[Piece]]] = {
    "csv": _csv,
    "parquet": _parquet,
    "arrow": _arrow,
}


# --- codes ------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Outside:
    """Answers that the domain refuses: how many, the place of the first, and whether its cell is empty."""

    count: int
    place: int
    empty: bool

    def after(self, rows: int, earlier: Outside | None) -> Outside:
        """Merge with earlier rows; `rows` rows came before."""
        if earlier is None:
            return Outside(self.count, rows + self.place, self.empty)
        return Outside(earlier.count + self.count, earlier.place, earlier.empty)


def batch(mechanism: Mechanism, values: pa.Array) -> Any:
    """The codes of some answers as a batch holds them, or what is `Outside`."""
    if rounding_of(mechanism.channel) is None:
        return codes(mechanism.domain, values)
    return _positions(mechanism, values)


def codes(domain: Domain, values: pa.Array) -> Any:
    """The indices of some answers, or what is `Outside`."""
    is_numeric = (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)) and not values.null_count
    listed = domain.choices is not None and not domain.holds_texts
    if domain.size is None or (is_numeric and (listed or domain.whole is not None)):
        try:
            return encode(domain, values)
        except DomainError:
            pass  # counted below
    indices, entries = by_dictionary(domain, values)
    table = np.array([_code(domain, value) for value in entries] + [-1], np.int64)  # the last: an empty cell
    coded = table[indices]
    return _outside(values, coded < 0) or coded.astype(np.uint32)


def _positions(mechanism: Mechanism, values: pa.Array) -> Any:
    """Where numbers lie on the grid of a channel that rounds, or what is `Outside`."""
    domain = mechanism.domain
    if (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)) and not values.null_count:
        try:
            return batch_codes(mechanism, values)
        except DomainError:
            pass  # counted below
    indices, entries = by_dictionary(domain, values)
    refused = np.zeros(len(entries) + 1, bool)
    refused[-1] = True  # an empty cell
    table = np.zeros(len(entries) + 1, np.uint64)
    try:
        table[:-1] = batch_codes(mechanism, entries)
    except DomainError:
        refused[:-1] = [_code(domain, value) < 0 for value in entries]
        table[~refused] = batch_codes(mechanism, [entries[place] for place in np.flatnonzero(~refused)])
    return _outside(values, refused[indices]) or table[indices]


def _outside(values: pa.Array, refused: Any) -> Outside | None:
    """How many answers are refused, and the first of them."""
    count = int(np.count_nonzero(refused))
    place = int(np.argmax(refused)) if count else 0
    return Outside(count, place, values[place].as_py() in (None, "")) if count else None


def by_dictionary(domain: Domain, values: pa.Array) -> tuple[Any, list[object]]:
    """For each row the place of its answer among the different ones, so that each is read once; at the end the place
    of an empty cell. An entry that no row uses does no harm."""
    try:
        encoded = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
    except pa.ArrowNotImplementedError:
        raise FileProblem("A column of lists or other nested values cannot be read as answers.") from None
    entries = [domain.typed(value) for value in encoded.dictionary.to_pylist()]
    indices = pc.fill_null(encoded.indices.cast(pa.int64()), len(entries)).to_numpy(zero_copy_only=False)
    return indices, entries


def _code(domain: Domain, value: object) -> int:
    """The index of an answer, or -1 for one outside; numbers on a continuum have no index."""
    try:
        code = domain.encode(value)
    except DomainError:
        return -1
    return 0 if domain.size is None else int(code)
