"""Reports written into files: Parquet, Arrow streams, CSV, and messages as devices send them."""

from __future__ import annotations

import binascii
import contextlib
import os
import secrets
from collections.abc import Iterable
from itertools import chain
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.simulation import COLUMN, METADATA, NOTE
from sottovoce.core.specs import canonical
from sottovoce.fast.batch import Reports
from sottovoce.files.arrow import MECHANISM, MECHANISM_COLUMN, arrow_schema, mechanism_mark, to_arrow
from sottovoce.files.kinds import kind_of
from sottovoce.files.opening import STANDARD, writing

COUNT = b"sottovoce.reports"
REPORT_KINDS = ("csv", "parquet", "arrow")
MESSAGE_KINDS = ("hex", "messages")
Source = str | os.PathLike[str] | IO[bytes]


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
        elif kind in MESSAGE_KINDS:
            if seeded:
                raise ParameterError("Messages cannot say that they are a simulation: write csv, parquet or arrow.")
            self._writer = file
        else:
            # Columns, so that no tool that cuts, sorts or joins rows loses the marks.
            names = [*schema.names, MECHANISM_COLUMN, *[COLUMN] * seeded]
            self._schema = pa.schema([(name, pa.string()) for name in names])
            options = pa_csv.WriteOptions(quoting_style="none", quoting_header="none")
            self._writer = pa_csv.CSVWriter(file, self._schema, write_options=options)
        self.n = 0

    def write(self, reports: Reports) -> None:
        """One more batch."""
        self.n += len(reports)
        if self._kind in ("parquet", "arrow"):
            self._writer.write_batch(to_arrow(reports))
            return
        payloads = reports.payloads()
        ids = None if reports.public is None else reports.public.astype("<u8", copy=False).view(np.uint8)
        if self._kind in MESSAGE_KINDS:
            if ids is None:  # it only tells copies of a message from other messages
                drawn = secrets.token_bytes(codec.ID_BYTES * len(reports))
                ids = np.frombuffer(drawn, np.uint8).reshape(-1, codec.ID_BYTES)
            messages = np.concatenate([ids, payloads], axis=1)
            lines = (binascii.hexlify(row) + b"\n" for row in messages) if self._kind == "hex" else [messages.tobytes()]
            self._writer.write(b"".join(lines))
            return
        columns = [_hex_column(rows) for rows in (payloads, ids) if rows is not None]
        columns.append(pa.array([mechanism_mark(self._mechanism)] * len(reports)))
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
        if self._kind not in MESSAGE_KINDS:
            self._writer.close()


def write_reports(
    target: Source, reports: Reports | Iterable[Reports], *, kind: str | None = None, force: bool = False
) -> int:
    """Write reports to a file: all of them, or nothing.

    Args:
        target: A path, "-" for standard output, or an open binary file.
        reports: One batch or several, of one mechanism. Parquet and Arrow files carry the mechanism. CSV has a column
            with a mark of it, so that another one is refused.
        kind: A kind of `read_reports`. Default: from the end of the name, and "arrow" without a name.
        force: Overwrite an existing file.

    Returns:
        The number of reports.

    Raises:
        ParameterError: The file exists, or the kind cannot hold a simulation.

    Examples:
        >>> import io
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        >>> sv.write_reports(io.BytesIO(), m.privatize(["yes", "no"]), kind="messages")
        2

    See also:
        `read_reports` reads such files.
    """
    batches = iter([reports] if isinstance(reports, Reports) else reports)
    first = next(batches, None)
    if first is None:
        raise ParameterError("There is nothing to write; an empty batch of reports would name their mechanism.")
    path = path_of(target)
    if path not in (None, STANDARD) or kind is not None:
        kind = kind_of(path or "", kind, (*REPORT_KINDS, *MESSAGE_KINDS), name="The output", option="kind")
    with contextlib.ExitStack() as stack:
        file: Any = target if path is None else stack.enter_context(writing(path, force=force))
        writer = stack.enter_context(Writer(file, kind or "arrow", first.mechanism, seeded=first.simulated))
        for batch in chain([first], batches):
            check_same(first.mechanism, batch.mechanism, "write reports")
            if batch.simulated != first.simulated:
                raise ParameterError("Simulated reports and those of people go into different files.")
            writer.write(batch)
    return writer.n


def path_of(place: Source) -> str | None:
    return os.fspath(place) if isinstance(place, (str, os.PathLike)) else None


def _hex_column(rows: NDArray[np.uint8]) -> pa.Array:
    width = 2 * rows.shape[1]
    offsets = np.arange(0, (len(rows) + 1) * width, width, dtype=np.int32)
    text = binascii.hexlify(rows.tobytes())
    return pa.StringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(text))
