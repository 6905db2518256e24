"""Reports as Arrow columns, and counting a stream of them in bounded memory.

Columns: `report` (unsigned integers for indices, fixed-size binary for masks) and, where the mechanism reads
public words, `id` (16 bytes of fixed-size binary).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sottovoce.core.errors import ReportError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.simulation import METADATA, NOTE
from sottovoce.fast.batch import Check, Reports, checked, from_payloads, is_mask, payload_outputs
from sottovoce.fast.kernels.base import index_type
from sottovoce.files.columns import binary, matrix
from sottovoce.tally.count import count_cells
from sottovoce.tally.tally import Tally

MECHANISM_COLUMN = "mechanism"  # of CSV files: the mark of the mechanism that made a report
MECHANISM = b"sottovoce.mechanism"  # key in the schema of Arrow and Parquet: the specification
BATCH_ROWS = 1 << 18


def arrow_schema(mechanism: Mechanism) -> pa.Schema:
    """The columns of the reports of a mechanism."""
    if is_mask(mechanism):
        kind = pa.binary(codec.payload_bytes(mechanism.channel))
    else:
        kind = pa.from_numpy_dtype(index_type(payload_outputs(mechanism) or 2))
    fields = [pa.field("report", kind, nullable=False)]
    if mechanism.channel.publics:
        fields.append(pa.field("id", pa.binary(codec.ID_BYTES), nullable=False))
    return pa.schema(fields)


def to_arrow(reports: Reports) -> pa.RecordBatch:
    """A batch as Arrow columns; the metadata of its schema mark a simulation."""
    schema = arrow_schema(reports.mechanism)
    if reports.simulated:
        schema = schema.with_metadata({METADATA: NOTE})
    columns = [binary(reports.payloads()) if is_mask(reports.mechanism) else pa.array(reports.payload)]
    if reports.public is not None:
        columns.append(binary(reports.public.astype("<u8", copy=False).view(np.uint8)))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def from_arrow(mechanism: Mechanism, batch: pa.RecordBatch, check: Check = checked) -> Reports:
    """Read a batch of reports from Arrow columns. Checks every report, and the mechanism where the schema names it."""
    metadata = batch.schema.metadata or {}
    if MECHANISM in metadata and sha256(metadata[MECHANISM]).hexdigest() != mechanism.fingerprint:
        check_same(mechanism, Mechanism.from_spec(metadata[MECHANISM]), "count reports")
    schema = arrow_schema(mechanism)
    for field in schema:
        place = place_of(batch.schema, field.name)
        check_buffers(batch, place)
        column = batch.column(place)
        if column.null_count:
            raise ReportError(f"The column {field.name!r} has empty cells.")
        if pa.types.is_fixed_size_binary(field.type) and not _is_of(column, field.type):
            raise ReportError(f"The column {field.name!r} must be of type {field.type}, not {_type_text(column.type)}.")
    report, simulated = batch.column("report"), METADATA in metadata
    ids = matrix(batch.column("id"), codec.ID_BYTES) if mechanism.channel.publics else None
    if is_mask(mechanism):
        reports = from_payloads(mechanism, matrix(report, codec.payload_bytes(mechanism.channel)), ids, check)
        return replace(reports, simulated=simulated)
    if not pa.types.is_integer(report.type):
        raise ReportError(f"The column 'report' must hold integers, not {_type_text(report.type)}.")
    public = None if ids is None else np.ascontiguousarray(ids).view("<u8").astype(np.uint64, copy=False)
    return replace(check(mechanism, report.to_numpy(zero_copy_only=False), public), simulated=simulated)


def tally_batches(
    mechanism: Mechanism,
    batches: pa.Table | Iterable[pa.RecordBatch | pa.Table | Reports],
    *,
    threads: int | None = None,
) -> Tally:
    """Count a stream: one batch and one set of cells are in memory at a time. A table is a stream of its chunks."""
    n, cells, simulated = 0, np.zeros(mechanism.cells, np.int64), False
    for batch in _each(batches):
        try:
            reports = batch if isinstance(batch, Reports) else from_arrow(mechanism, batch)
            check_same(mechanism, reports.mechanism, "count reports")
        except ReportError as problem:
            raise ReportError(f"In the batch that starts at report {n} of the stream: {problem}") from None
        cells += count_cells(reports, threads=threads)
        n += len(reports)
        simulated |= reports.simulated
    return Tally(mechanism, n, cells, simulated)


def _is_of(column: Any, wanted: pa.DataType) -> bool:
    """Spark and DuckDB know bytes of variable length only; where all have the right one, they are as good."""
    if column.type not in (pa.binary(), pa.large_binary()):
        return bool(column.type == wanted)
    return pc.unique(pc.binary_length(column)).to_pylist() in ([], [wanted.byte_width])


def check_buffers(batch: pa.RecordBatch, place: int) -> None:
    """An untrusted batch may declare more rows than its buffers hold; reading beyond them reads unrelated memory."""
    name, column = batch.schema.field(place).name, batch.column(place)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        raise ReportError(f"The column {name!r} is damaged: its buffers do not hold what it declares.") from None
    if len(column) != batch.num_rows:
        raise ReportError(f"The column {name!r} has {len(column)} rows, but its batch {batch.num_rows}.")


def place_of(schema: pa.Schema, name: str) -> int:
    """The index of a column, which is required even in an empty file."""
    place = int(schema.get_field_index(name))
    if place < 0:
        raise ReportError(
            f"The reports of this mechanism come with one column {name!r}; {schema.names.count(name)} of the"
            f" {len(schema.names)} columns have this name."
        )
    return place


def _type_text(kind: pa.DataType) -> str:
    """The name of a type, without the names of fields inside it, which come from the writer of the file."""
    if pa.types.is_list(kind):
        return f"list<item: {_type_text(kind.value_type)}>"
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return "nested values" if pa.types.is_nested(inner) or isinstance(inner, pa.BaseExtensionType) else str(kind)


def _each(batches: Any) -> Iterator[pa.RecordBatch | Reports]:
    for part in [batches] if isinstance(batches, (pa.RecordBatch, pa.Table)) else batches:
        if not isinstance(part, (pa.RecordBatch, pa.Table, Reports)):
            raise ReportError(f"A stream of reports is made of Arrow batches or tables, not of {type(part).__name__}.")
        yield from part.to_batches(BATCH_ROWS) if isinstance(part, pa.Table) else [part]


def mechanism_mark(mechanism: Mechanism) -> str:
    """The first digits of a mechanism's fingerprint, which each row of a CSV file has."""
    return mechanism.fingerprint[:8]
