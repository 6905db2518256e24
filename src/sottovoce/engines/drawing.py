"""Reports of answers that are held centrally, a batch at a time: for simulations, and to privatize anew."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.core.domain import Domain, Pair
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.simulation import COLUMN
from sottovoce.fast.batch import Reports, draw
from sottovoce.fast.numbers import batch_codes
from sottovoce.fast.sha256 import digests
from sottovoce.fast.words import WordStream


def drawn(
    mechanism: Mechanism, batch: pa.RecordBatch, names: Sequence[str], seed: int | None, number: str | None
) -> pa.RecordBatch:
    """Columns `id` and `payload`; with a seed each row gets the noise of its number."""
    codes = batch_codes(mechanism, _answers(mechanism.domain, batch, names), threads=1)
    if seed is None or number is None:
        reports = draw(mechanism, codes, WordStream.secure(mechanism.words), threads=1)
        payload, public = reports.payloads(), reports.public
        fresh = np.frombuffer(os.urandom(codec.ID_BYTES * len(codes)), np.uint8).reshape(-1, codec.ID_BYTES)
    else:
        rows = _numbers(batch.column(number))
        payload, public = _numbered(mechanism, codes, rows, WordStream.seeded(mechanism.words, seed))
        texts = np.frombuffer(f"{seed % (1 << 64):016x}".encode(), np.uint8)
        messages = np.concatenate([np.tile(texts, (len(rows), 1)), rows.astype("<u8").view(np.uint8).reshape(-1, 8)], 1)
        fresh = digests(messages).view(np.uint8).reshape(len(rows), -1)[:, : codec.ID_BYTES]
    ids = fresh if public is None else public.astype("<u8", copy=False).view(np.uint8)
    columns = {"id": _binary(ids), "payload": _binary(payload)}
    if seed is not None:
        columns[COLUMN] = pa.array(np.ones(len(codes), np.bool_))
    return pa.RecordBatch.from_pydict(columns)


def _numbered(
    mechanism: Mechanism, codes: NDArray[Any], rows: NDArray[np.int64], stream: WordStream
) -> tuple[NDArray[np.uint8], NDArray[np.uint64] | None]:
    """Rows with consecutive numbers are drawn together."""
    order = np.argsort(rows, kind="stable")
    payload = np.empty((len(rows), codec.payload_bytes(mechanism.channel)), np.uint8)
    public = np.empty((len(rows), 2), np.uint64) if mechanism.channel.publics else None
    for run in np.split(order, np.flatnonzero(np.diff(rows[order]) != 1) + 1):
        if len(run):
            part: Reports = draw(mechanism, codes[run], stream.after(int(rows[run[0]])), threads=1)
            payload[run] = part.payloads()
            if public is not None and part.public is not None:
                public[run] = part.public
    return payload, public


def _answers(domain: Domain, batch: pa.RecordBatch, names: Sequence[str]) -> Any:
    """One column, or several that make up a pair, a record or a vector."""
    columns = [batch.column(name) for name in names]
    if len(columns) == 1:
        return columns[0]
    if isinstance(domain, Pair):
        return tuple(columns)
    rows = list(zip(*(column.to_pylist() for column in columns), strict=True))
    return [dict(zip(names, row, strict=True)) for row in rows] if domain.fields else rows


def _numbers(column: Any) -> NDArray[np.int64]:
    if not pa.types.is_integer(column.type) or column.null_count:
        raise ParameterError("Rows of a simulation are numbered by integers, without empty cells.")
    rows: NDArray[np.int64] = column.to_numpy(zero_copy_only=False).astype(np.int64)
    if rows.min(initial=0) < 0:
        raise ParameterError("Rows of a simulation are numbered from 0 on.")
    return rows


def _binary(rows: NDArray[np.uint8]) -> Any:
    width = rows.shape[1]
    data = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(rows), [None, data]).cast(pa.binary())
