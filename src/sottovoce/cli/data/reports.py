"""Files of reports: Parquet and Arrow streams carry the mechanism; CSV and messages are read with a specification.

An Arrow stream ends with an empty batch that says how many reports came before, so that a pipe whose writer failed
is not mistaken for a complete one.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sottovoce.cli.data.files import STANDARD, FileProblem, is_hexadecimal, kind_by_content, naming, reading
from sottovoce.cli.data.intake import ID, LENGTH, NOT_HEX, Intake
from sottovoce.cli.data.messages import binary_messages, hexadecimal_messages
from sottovoce.cli.data.places import parquet_source, size_of
from sottovoce.cli.show import Gauge
from sottovoce.core.errors import ReportError
from sottovoce.core.exchange import codec
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.simulation import COLUMN, METADATA, NOTE
from sottovoce.core.specs import canonical
from sottovoce.engines.rows import SCHEMA, account, fold
from sottovoce.fast.batch import Reports, from_payloads
from sottovoce.tally.count import count_cells
from sottovoce.tally.stream import MECHANISM, arrow_schema, check_buffers, from_arrow, to_arrow
from sottovoce.tally.tally import Tally

COUNT = b"sottovoce.reports"
BATCH_BYTES = 1 << 26
MAX_ROWS = 1 << 20
REPORT_KINDS = ("csv", "parquet", "arrow")
MESSAGE_KINDS = ("hex", "messages")
TALLY_KINDS = (*REPORT_KINDS, "tally", "rows", *MESSAGE_KINDS)
Show = Callable[..., None]  # takes how many reports were read, and of how many, where that is known


def batch_rows(mechanism: Mechanism) -> int:
    """How many reports are held at a time: fewer where each is large."""
    each = codec.payload_bytes(mechanism.channel) + 8 * mechanism.words
    return max(1, min(MAX_ROWS, BATCH_BYTES // codec.payload_bytes(mechanism.channel), 16 * BATCH_BYTES // each))


# --- writing ----------------------------------------------------------------------------------------------
class Writer:
    """Reports of one mechanism into an open file of some kind."""

    def __init__(self, file: IO[bytes], kind: str, mechanism: Mechanism, *, seeded: bool) -> None:
        self._mechanism, self._kind, self._seeded = mechanism, kind, seeded
        metadata = {MECHANISM: canonical(mechanism.spec())}
        if seeded:
            metadata[METADATA] = NOTE.encode()
        schema = arrow_schema(mechanism).with_metadata(metadata)
        if kind == "parquet":
            # Noise does not compress, but few different reports do.
            compression = {name: "zstd" if name == "report" else "none" for name in schema.names}
            self._writer: Any = pq.ParquetWriter(
                file, schema, compression=compression, use_dictionary=False, write_statistics=False
            )
        elif kind == "arrow":
            self._writer = pa.ipc.new_stream(file, schema)
        else:
            # A column, so that no tool that cuts, sorts or joins rows loses the mark.
            names = [*schema.names, *[COLUMN] * seeded]
            self._schema = pa.schema([(name, pa.string()) for name in names])
            options = pa_csv.WriteOptions(quoting_style="none", quoting_header="none")
            self._writer = pa_csv.CSVWriter(file, self._schema, write_options=options)
        self.n = 0

    def write(self, reports: Reports) -> None:
        """One more batch."""
        self.n += len(reports)
        if self._kind != "csv":
            self._writer.write_batch(to_arrow(reports))
            return
        columns = [_hex_column(reports.payloads())]
        if reports.public is not None:
            columns.append(_hex_column(reports.public.astype("<u8", copy=False).view(np.uint8)))
        if self._seeded:
            columns.append(pa.array(["true"] * len(reports)))
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write the end of the file; after an error nothing more is written."""
        if kind is not None:
            if self._kind == "parquet":
                self._writer.is_open = False  # else the writer would add its index when it is deleted
            return
        if self._kind == "arrow":
            last = pa.RecordBatch.from_pylist([], schema=arrow_schema(self._mechanism))
            self._writer.write_batch(last, custom_metadata={COUNT: str(self.n).encode()})
        self._writer.close()


def _hex_column(rows: NDArray[np.uint8]) -> pa.Array:
    width = 2 * rows.shape[1]
    offsets = np.arange(0, (len(rows) + 1) * width, width, dtype=np.int32)
    text = binascii.hexlify(rows.tobytes())
    return pa.StringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(text))


# --- reading ----------------------------------------------------------------------------------------------
def tally_of(
    path: str,
    mechanism: Mechanism | None,
    intake: Intake,
    kind: str | None = None,
    *,
    name: str = "The input",
    gauge: Gauge | None = None,
) -> tuple[str, Tally]:
    """The kind of one file, and the tally of its reports or that stored in it.

    A given mechanism must match that of the file. The gauge shows how much of it is read.
    """
    with reading(path, name) as opened:
        found, file = kind_by_content(path, opened, kind, TALLY_KINDS, name=name)

        def show(reports: int, total: int = 0) -> None:
            if gauge is None or path == STANDARD:
                return
            # An index of rows says how many there are; elsewhere the place in the file is what was read of it.
            gauge.to(size_of(path) * reports // total if total else opened.tell())

        with naming(name):
            return found, _tally(path, file, found, mechanism, intake, show)


def _tally(path: str, file: IO[bytes], kind: str, mechanism: Mechanism | None, intake: Intake, show: Show) -> Tally:
    if kind == "tally":
        return Tally.from_bytes(file.read(), mechanism=mechanism)
    if kind == "parquet":
        return _parquet(path, mechanism, intake, show)
    if kind == "arrow":
        return _arrow(file, mechanism, intake, show)
    if kind == "rows":
        return _rows(file, mechanism, intake)
    if mechanism is None:
        made = "CSV does not say which mechanism made it" if kind == "csv" else "Messages do not say what made them"
        raise ReportError(f"{made}: add --spec FILE.")
    read = {"csv": _csv, "hex": hexadecimal_messages, "messages": binary_messages}[kind]
    return _count(mechanism, read(file, mechanism, intake), intake, show)


def _count(mechanism: Mechanism, batches: Iterable[Reports], intake: Intake, show: Show, total: int = 0) -> Tally:
    n, cells, simulated, first = 0, np.zeros(mechanism.cells, np.int64), False, intake.read
    try:
        for reports in batches:
            show(intake.read - first, total)
            cells += count_cells(reports)
            n += len(reports)
            simulated |= reports.simulated
    except ReportError as problem:
        before = intake.read - first
        raise ReportError(f"{problem}" + (f" (Counted from row {before} on.)" if before else "")) from None
    return Tally(mechanism, n, cells, simulated)


def _mechanism(metadata: Any, given: Mechanism | None) -> Mechanism:
    spec = (metadata or {}).get(MECHANISM)
    if spec is not None:
        found = Mechanism.from_spec(spec)
        check_same(given or found, found, "count reports")
        return found
    if given is None:
        raise ReportError("This file does not say which mechanism made it: add --spec FILE.")
    return given


def mechanism_in(path: str) -> Mechanism:
    """The mechanism of a Parquet file of reports."""
    return _mechanism(pq.read_metadata(path).metadata, None)


def _parquet(path: str, given: Mechanism | None, intake: Intake, show: Show) -> Tally:
    if path == STANDARD:
        raise FileProblem("Parquet cannot be read from a pipe: its index is at the end. Name the file.")
    with pq.ParquetFile(parquet_source(path), pre_buffer=False) as file:
        mechanism = _mechanism(file.metadata.metadata, given)
        present = [name for name in arrow_schema(mechanism).names if name in file.schema_arrow.names]
        batches = file.iter_batches(batch_size=batch_rows(mechanism), columns=present)
        tally = _count(mechanism, _sifted(mechanism, batches, intake), intake, show, file.metadata.num_rows)
        return replace(tally, simulated=METADATA in (file.metadata.metadata or {}))


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


def _arrow(file: IO[bytes], given: Mechanism | None, intake: Intake, show: Show) -> Tally:
    with pa.ipc.open_stream(file) as stream:
        mechanism = _mechanism(stream.schema.metadata, given)
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
                yield batch

        before = intake.read
        tally = _count(mechanism, _sifted(mechanism, batches(), intake), intake, show)
    if promised and ends != [intake.read - before]:
        raise ReportError(f"The stream of reports was cut off after {intake.read - before}: its writer did not finish.")
    return replace(tally, simulated=seeded)


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
    marks = [COLUMN] if COLUMN in header else []
    if is_hexadecimal(header[0].encode()) and len(header) == 1:
        raise ReportError("This has hexadecimal digits where CSV has its header: lines of `answer` are --format hex.")
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
            check = intake.sifting(places)
            reports = from_payloads(mechanism, rows[0], rows[1] if len(rows) > 1 else None, check)
            said = {text for name in marks for text in batch.column(name).unique().to_pylist()}
            yield replace(reports, simulated=bool(said - {"false", "", None}))


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
