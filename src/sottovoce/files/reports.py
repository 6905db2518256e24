"""Files of reports: Parquet and Arrow streams carry the mechanism; CSV and messages are read with a specification.

`sv.read_reports` and `sv.write_reports` are for programs; the command line counts a file with `tally_of`.

An Arrow stream ends with an empty batch that says how many reports came before, so that a pipe whose writer failed
is not mistaken for a complete one.
"""

from __future__ import annotations

import binascii
import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sottovoce.core.errors import ReportError, SottovoceError
from sottovoce.core.exchange import codec
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.simulation import COLUMN, METADATA
from sottovoce.fast.batch import Reports, from_messages, from_payloads
from sottovoce.files.arrow import (
    MECHANISM,
    MECHANISM_COLUMN,
    arrow_schema,
    check_buffers,
    from_arrow,
    mechanism_mark,
    place_of,
)
from sottovoce.files.counts import SCHEMA, account, fold
from sottovoce.files.intake import ID, LENGTH, NOT_HEX, Intake
from sottovoce.files.kinds import is_hexadecimal, kind_by_content
from sottovoce.files.messages import binary_messages, hexadecimal_messages
from sottovoce.files.opening import STANDARD, FileProblem, naming
from sottovoce.files.places import opened, parquet_source, reading, size_of
from sottovoce.files.writer import COUNT, MESSAGE_KINDS, REPORT_KINDS, Source, path_of
from sottovoce.tally.count import count_cells
from sottovoce.tally.tally import Tally

BATCH_BYTES = 1 << 26
MAX_ROWS = 1 << 20
TALLY_KINDS = (*REPORT_KINDS, "tally", "rows", *MESSAGE_KINDS)


def batch_rows(mechanism: Mechanism) -> int:
    """How many reports are held at a time: fewer where each is large."""
    row_bytes = codec.payload_bytes(mechanism.channel) + 8 * mechanism.words
    return max(1, min(MAX_ROWS, BATCH_BYTES // codec.payload_bytes(mechanism.channel), 16 * BATCH_BYTES // row_bytes))


def read_reports(
    source: Source, mechanism: Mechanism | None = None, *, kind: str | None = None, intake: Intake | None = None
) -> Iterator[Reports]:
    """Read the reports of a file in bounded memory, one batch at a time.

    Args:
        source: A path, the address of an object store, "-" for standard input, or an open binary file.
        mechanism: The mechanism of the reports. Parquet and Arrow files carry it; another one is refused.
        kind: "csv", "parquet", "arrow", "hex" (lines of hexadecimal messages) or "messages" (their bytes). Default:
            from the end of the name, else from the first bytes.
        intake: What to do with invalid reports. Default: refuse the first one. `Intake()` of `sottovoce.files.intake`
            skips them and counts them by reason.

    Returns:
        An iterator of batches, which `Mechanism.tally_batches` counts.

    Raises:
        ReportError: The file is damaged, or holds reports of another mechanism.

    Examples:
        >>> import tempfile
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sv.write_reports(f"{folder}/r.parquet", m.privatize(["yes"] * 100, seed=1))
        ...     m.tally_batches(sv.read_reports(f"{folder}/r.parquet", m)).n
        100
        100

    See also:
        `write_reports` writes such files; `sottovoce tally` does this on the command line.
    """
    path = path_of(source)
    with contextlib.ExitStack() as stack:
        stream: Any = source if path is None else stack.enter_context(_opened(path))
        known, file = kind_by_content(path or STANDARD, stream, kind, (*REPORT_KINDS, *MESSAGE_KINDS), name="The input")
        if path is None and known == "parquet" and stream.seekable():
            stream.seek(0)
            file = stream
        try:
            yield from _batches(path or STANDARD, file, known, mechanism, intake or Intake(strict=True))
        except SottovoceError:
            raise
        except (OSError, ValueError, NotImplementedError) as problem:  # what Arrow raises is one of these
            if getattr(problem, "errno", None):  # the file may not be read
                raise
            raise ReportError(f"The input cannot be read as {known}: it is damaged, or of another kind.") from None


def _opened(path: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    return reading(path, "The input") if path == STANDARD else opened(path)


def tally_of(
    path: str,
    mechanism: Mechanism | None,
    intake: Intake,
    kind: str | None = None,
    *,
    name: str = "The input",
    gauge: Callable[[int], None] | None = None,
) -> tuple[str, Tally]:
    """The kind of one file, and the tally of its reports or that stored in it.

    A given mechanism must match that of the file. The gauge is told how many bytes of it are read.
    """
    with reading(path, name) as stream:
        known, file = kind_by_content(path, stream, kind, TALLY_KINDS, name=name)
        rows = [0]  # of the whole file, where its index says how many there are

        def show(reports: int) -> None:
            if gauge is not None and path != STANDARD:
                gauge(size_of(path) * reports // rows[0] if rows[0] else stream.tell())

        with naming(name):
            if known == "tally":
                return known, Tally.from_bytes(file.read(), mechanism=mechanism)
            if known == "rows":
                return known, _rows(file, mechanism, intake)
            return known, _count(_batches(path, file, known, mechanism, intake, rows), intake, show)


def _batches(
    path: str, file: IO[bytes], kind: str, mechanism: Mechanism | None, intake: Intake, rows: list[int] | None = None
) -> Iterator[Reports]:
    """The reports of a file, in at least one batch; `rows` is told how many there are, where an index says so."""
    if kind == "parquet":
        return _parquet(path, file, mechanism, intake, rows)
    if kind == "arrow":
        return _arrow(file, mechanism, intake)
    if mechanism is None:
        problem = "CSV does not say which mechanism made it" if kind == "csv" else "Messages do not say what made them"
        raise ReportError(f"{problem}: add --spec FILE, or name the mechanism.")
    read = {"csv": _csv, "hex": hexadecimal_messages, "messages": binary_messages}[kind]
    return _at_least_one(read(file, mechanism, intake), mechanism)


def _at_least_one(batches: Iterable[Reports], mechanism: Mechanism, simulated: bool | None = None) -> Iterator[Reports]:
    """All batches, or an empty one; where a file says whether it is a simulation, all of them are."""
    empty = True
    for reports in batches:
        empty = False
        yield reports if simulated is None else replace(reports, simulated=simulated)
    if empty:
        yield replace(from_messages(mechanism, []), simulated=bool(simulated))


def _count(batches: Iterator[Reports], intake: Intake, show: Callable[[int], None]) -> Tally:
    n, cells, simulated, first = 0, np.zeros(0, np.int64), False, intake.read
    try:
        for reports in batches:
            show(intake.read - first)
            counted = count_cells(reports)
            cells = np.add(cells, counted, out=cells) if len(cells) else counted
            n += len(reports)
            simulated |= reports.simulated
    except ReportError as problem:
        before = intake.read - first
        raise ReportError(f"{problem}" + (f" (Counted from row {before} on.)" if before else "")) from None
    return Tally(reports.mechanism, n, cells, simulated)


def _mechanism(metadata: Any, expected: Mechanism | None) -> Mechanism:
    spec = (metadata or {}).get(MECHANISM)
    if spec is not None:
        mechanism = Mechanism.from_spec(spec)
        check_same(expected or mechanism, mechanism, "count reports")
        return mechanism
    if expected is None:
        raise ReportError("This file does not say which mechanism made it: add --spec FILE.")
    return expected


def mechanism_in(path: str) -> Mechanism:
    """The mechanism of a Parquet file of reports."""
    return _mechanism(pq.read_metadata(path).metadata, None)


def _parquet(
    path: str, file: IO[bytes], expected: Mechanism | None, intake: Intake, rows: list[int] | None
) -> Iterator[Reports]:
    if path == STANDARD and not file.seekable():
        raise FileProblem("Parquet cannot be read from a pipe: its index is at the end. Name the file.")
    with pq.ParquetFile(file if path == STANDARD else parquet_source(path), pre_buffer=False) as table:
        if rows is not None:
            rows[:] = [table.metadata.num_rows]
        mechanism = _mechanism(table.metadata.metadata, expected)
        names = arrow_schema(mechanism).names
        for name in names:
            place_of(table.schema_arrow, name)
        batches = table.iter_batches(batch_size=batch_rows(mechanism), columns=names)
        seeded = METADATA in (table.metadata.metadata or {})
        yield from _at_least_one(_sifted(mechanism, batches, intake), mechanism, seeded)


def _sifted(mechanism: Mechanism, batches: Iterable[pa.RecordBatch], intake: Intake) -> Iterator[Reports]:
    """Reports of Arrow columns; rows with cells that are empty or too long or short are left out, unless the intake is
    strict."""
    first = 1
    for batch in batches:
        rows = np.arange(first, first + batch.num_rows)
        first += batch.num_rows
        if not intake.strict:
            batch, rows = _of_right_lengths(mechanism, batch, rows, intake)
        yield from_arrow(mechanism, batch, intake.sifting(rows))


def _of_right_lengths(
    mechanism: Mechanism, batch: pa.RecordBatch, rows: NDArray[np.int64], intake: Intake
) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    for field in reversed(arrow_schema(mechanism)):  # what speaks against an id counts first, as in every engine
        place = batch.schema.get_field_index(field.name)
        if place < 0:
            continue  # which is said later
        check_buffers(batch, place)
        column = batch.column(place)
        wrong = column.is_null().to_numpy(zero_copy_only=False)
        if pa.types.is_fixed_size_binary(field.type) and column.type in (pa.binary(), pa.large_binary()):
            lengths = pc.fill_null(pc.binary_length(column), -1).to_numpy(zero_copy_only=False)
            wrong = lengths != field.type.byte_width
        if wrong.any():
            intake.leave_out(ID if field.name == "id" else LENGTH, rows[wrong])
            batch, rows = batch.filter(pa.array(~wrong)), rows[~wrong]
    return batch, rows


def _arrow(file: IO[bytes], expected: Mechanism | None, intake: Intake) -> Iterator[Reports]:
    with pa.ipc.open_stream(file) as stream:
        mechanism = _mechanism(stream.schema.metadata, expected)
        promised, seeded = (mark in (stream.schema.metadata or {}) for mark in (MECHANISM, METADATA))
        ends: list[int] = []

        def batches() -> Iterator[pa.RecordBatch]:
            while True:
                try:
                    batch, metadata = stream.read_next_batch_with_custom_metadata()
                except StopIteration:
                    return
                if metadata and COUNT in metadata:
                    ends.append(int(metadata[COUNT]))
                if batch.num_rows:
                    yield batch

        before = intake.read
        yield from _at_least_one(_sifted(mechanism, batches(), intake), mechanism, seeded)
    if promised and ends != [intake.read - before]:
        raise ReportError(f"The stream of reports was cut off after {intake.read - before}: its writer did not finish.")


def _rows(file: IO[bytes], mechanism: Mechanism | None, intake: Intake) -> Tally:
    """Rows of counts, as engines and the queries of --sql give them."""
    if mechanism is None:
        raise ReportError("Rows of counts do not say which mechanism made them: add --spec FILE.")
    kinds = {field.name: field.type for field in SCHEMA}
    table = pa_csv.read_csv(file, convert_options=pa_csv.ConvertOptions(column_types=kinds))
    tally, seen = fold(table, mechanism), account(table)
    intake.add_counted(seen.reports, seen.refused)
    return tally


def _csv(file: IO[bytes], mechanism: Mechanism, intake: Intake) -> Iterator[Reports]:
    names = arrow_schema(mechanism).names
    header = file.readline(1 << 16).decode("utf-8-sig").strip().split(",")
    marks = [name for name in (MECHANISM_COLUMN, COLUMN) if name in header]
    if is_hexadecimal(header[0].encode()) and len(header) == 1:
        raise ReportError("A line of hexadecimal digits is where CSV has its header: use --format hex.")
    for name in names:
        if name not in header:
            raise ReportError(
                f"The reports of this mechanism come with a column {name!r}; none of"
                f" {plural(len(header), 'column')} has this name."
            )
    if not file.peek(1):  # type: ignore[attr-defined]
        return
    stream = pa_csv.open_csv(
        file,
        pa_csv.ReadOptions(column_names=header, block_size=1 << 24),
        pa_csv.ParseOptions(ignore_empty_lines=len(header) > 1),
        pa_csv.ConvertOptions(
            include_columns=[*names, *marks], column_types=dict.fromkeys([*names, *marks], pa.string())
        ),
    )
    widths = {"report": codec.payload_bytes(mechanism.channel), "id": codec.ID_BYTES}
    first = 1
    with stream:
        for batch in stream:
            places = np.arange(first, first + batch.num_rows)
            first += batch.num_rows
            if not intake.strict:
                batch, places = _readable(batch, places, widths, names, intake)
            rows = [_hex_rows(batch.column(name), name, widths[name]) for name in names]
            said = {name: {*batch.column(name).unique().to_pylist()} - {"", None} for name in marks}
            if said.get(MECHANISM_COLUMN, set()) - {mechanism_mark(mechanism)}:
                raise ReportError(
                    "The column 'mechanism' says that another mechanism made these reports: give the specification that"
                    " was written with them (--spec FILE)."
                )
            check = intake.sifting(places)
            reports = from_payloads(mechanism, rows[0], rows[1] if len(rows) > 1 else None, check)
            yield replace(reports, simulated=bool(said.get(COLUMN, set()) - {"false"}))


def _readable(
    batch: Any, rows: NDArray[np.int64], widths: dict[str, int], names: list[str], intake: Intake
) -> tuple[Any, NDArray[np.int64]]:
    """The rows whose cells hold as many hexadecimal digits as there must be."""
    for name in reversed(names):
        lengths = pc.binary_length(batch.column(name)).to_numpy(zero_copy_only=False)
        digits = pc.match_substring_regex(batch.column(name), "^[0-9a-fA-F]*$").to_numpy(zero_copy_only=False)
        long = digits & (lengths != 2 * widths[name])
        intake.leave_out(NOT_HEX, rows[~digits])
        intake.leave_out(ID if name == "id" else LENGTH, rows[long])
        good = digits & ~long
        batch, rows = batch.filter(pa.array(good)), rows[good]
    return batch, rows


def _hex_rows(column: Any, name: str, width: int) -> NDArray[np.uint8]:
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets)
    wrong = lengths != 2 * width
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ReportError(
            f"Report {place} has {lengths[place]} bytes in column {name!r}, expected {2 * width} hexadecimal digits."
        )
    try:
        data = binascii.unhexlify(memoryview(column.buffers()[2])[offsets[0] : offsets[-1]])
    except binascii.Error:
        raise ReportError(f"The column {name!r} must hold hexadecimal digits.") from None
    return np.frombuffer(data, np.uint8).reshape(-1, width)
