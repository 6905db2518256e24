"""Arrow batches that declare more than their buffers hold: refused in a sentence at every entrance."""

from __future__ import annotations

import io
import struct
import sys
from contextlib import redirect_stderr, redirect_stdout
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.specs import canonical
from sottovoce.files.arrow import MECHANISM, from_arrow, to_arrow
from tests.each import for_each

ROWS, DECLARED = 1237, 5000  # what a batch holds, and what it says after the attack: memory behind it exists
GRR = sv.mechanism("grr", sv.Integers(0, 255), epsilon=1)
ANIMALS = sv.mechanism("grr", sv.Categories(["cat", "dog", "newt"]), epsilon=1)


def stream_of(batch: pa.RecordBatch) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def forged_streams(batch: pa.RecordBatch, declared: int = DECLARED) -> list[bytes]:
    """The stream of a batch with another length in some of the places that hold it, as far as Arrow reads that."""
    data = stream_of(batch)
    wanted, places = struct.pack("<q", len(batch)), []
    at = data.find(wanted)
    while at >= 0:
        places.append(at)
        at = data.find(wanted, at + 1)
    found = []
    for chosen in (chosen for size in range(1, len(places) + 1) for chosen in combinations(places, size)):
        changed = bytearray(data)
        for place in chosen:
            changed[place : place + 8] = struct.pack("<q", declared)
        try:
            if pa.ipc.open_stream(bytes(changed)).read_next_batch().num_rows == declared:
                found.append(bytes(changed))
        except (pa.ArrowInvalid, OSError):
            continue  # Arrow itself notices
    return found


def forged(batch: pa.RecordBatch, declared: int = DECLARED) -> pa.RecordBatch:
    streams = forged_streams(batch, declared)
    assert streams, "Arrow reads no batch of more rows than its buffers hold: the attack is not made."
    return pa.ipc.open_stream(streams[0]).read_next_batch()


def column_of(values: pa.Array) -> pa.Array:
    """A column that declares more rows than it has."""
    return forged(pa.record_batch({"answer": values})).column(0)


# --- reports -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["grr", "oue", "olh", "subset", "flh"])
@pytest.mark.parametrize("declared", [ROWS + 1, DECLARED, 10**9])
def test_reports_beyond_the_buffers_are_refused(name: str, declared: int) -> None:
    m = sv.mechanism(name, sv.Integers(0, 255), epsilon=1)
    batch = forged(to_arrow(m.privatize(np.zeros(ROWS, int), seed=1)), declared)
    for reports in ([batch], pa.Table.from_batches([batch]), [batch.slice(5)], [batch.slice(declared - 1)]):
        with pytest.raises(sv.ReportError, match="damaged"):
            m.tally_batches(reports)


def test_what_remains_of_a_damaged_batch_is_counted() -> None:
    """A slice that its buffers hold is sound, whatever the rest declares."""
    whole = to_arrow(GRR.privatize(np.zeros(ROWS, int), seed=1))
    assert list(from_arrow(GRR, forged(whole).slice(0, 100))) == list(from_arrow(GRR, whole.slice(0, 100)))


def test_a_short_bitmap_of_empty_cells_is_refused() -> None:
    column = pa.array([1, None] * (ROWS // 2) + [1], pa.uint8())
    with pytest.raises(sv.ReportError, match="damaged"):
        from_arrow(GRR, forged(pa.record_batch({"report": column})))


# --- answers -----------------------------------------------------------------------------------------------------
TEXTS = pa.array(["cat", "dog", "newt"] * 412 + ["cat"])
NUMBERS = pa.array(np.zeros(ROWS, np.int32))


def beyond_the_dictionary() -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 99], pa.int32()), pa.array(["cat"]), safe=False)


ANSWERS = {
    "numbers": (GRR, lambda: column_of(NUMBERS)),
    "chunks": (GRR, lambda: pa.chunked_array([NUMBERS, column_of(NUMBERS)])),
    "a slice": (GRR, lambda: column_of(NUMBERS)[ROWS - 1 :]),
    "texts": (ANIMALS, lambda: column_of(TEXTS)),
    "a dictionary": (ANIMALS, lambda: column_of(TEXTS.dictionary_encode())),
    "beyond the dictionary": (ANIMALS, beyond_the_dictionary),
    "empty cells": (ANIMALS, lambda: column_of(pa.array([*TEXTS.to_pylist()[:-1], None]))),
    "pandas": (GRR, lambda: pd.Series(pd.arrays.ArrowExtensionArray(column_of(NUMBERS)))),
    "floats": (
        sv.mechanism("piecewise", sv.Interval(0, 1), epsilon=1),
        lambda: column_of(pa.array(np.zeros(ROWS))),
    ),
    "pairs": (
        sv.mechanism("group-bernoulli", sv.Pair(sv.Integers(0, 1), sv.Interval(0, 1)), epsilon=1),
        lambda: (column_of(NUMBERS), column_of(pa.array(np.zeros(ROWS)))),
    ),
    "a table": (
        sv.mechanism("duchi-linf", sv.Box(0, 1, 1), epsilon=1),
        lambda: pd.DataFrame({"x": pd.arrays.ArrowExtensionArray(column_of(pa.array(np.zeros(ROWS))))}),
    ),
    "lists": (
        sv.mechanism("duchi-linf", sv.Box(0, 1, 2), epsilon=1),
        lambda: column_of(pa.array([[0.0, 1.0]] * ROWS)),
    ),
}


@for_each("kind", ANSWERS)
def test_answers_beyond_the_buffers_are_refused(kind: str) -> None:
    m, values = ANSWERS[kind]
    with pytest.raises(sv.ParameterError, match="This Arrow column is damaged") as caught:
        m.privatize(values(), seed=1)
    assert "99" not in str(caught.value) and caught.value.__cause__ is None


# --- the command line --------------------------------------------------------------------------------------------
def call(*arguments: object, stdin: bytes) -> tuple[int, str]:
    out, err, before = io.TextIOWrapper(io.BytesIO()), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))  # type: ignore[arg-type]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            return main([str(argument) for argument in arguments]), err.getvalue()
    finally:
        sys.stdin = before


def test_the_command_line_refuses_damaged_streams(tmp_path: Path) -> None:
    reports = to_arrow(GRR.privatize(np.zeros(ROWS, int), seed=1))
    named = reports.replace_schema_metadata({MECHANISM: canonical(GRR.spec())})
    (tmp_path / "spec.json").write_bytes(canonical(GRR.spec()))
    for stream in forged_streams(named):
        code, said = call("tally", "-", "-o", tmp_path / "out.tally", stdin=stream)
        assert code and "damaged" in said and said.count("\n") == 1, said
    for stream in forged_streams(pa.record_batch({"answer": NUMBERS})):
        line = ("privatize", "-", "--column", "answer", "--spec", tmp_path / "spec.json", "-o", tmp_path / "out.arrow")
        code, said = call(*line, stdin=stream)
        assert code and "damaged" in said and said.count("\n") == 1, said
    assert not list(tmp_path.glob("out.*"))


def test_damaged_parquet_files_are_refused_in_a_sentence(tmp_path: Path) -> None:
    """Every byte of a small file changed in turn: the right tally, or one of our errors."""
    path = tmp_path / "reports.parquet"
    batch = to_arrow(GRR.privatize(np.arange(20), seed=1))
    pq.write_table(pa.Table.from_batches([batch]), path, use_dictionary=False, store_schema=False)
    whole, outcomes = path.read_bytes(), set()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x81]) + whole[place + 1 :])
        outcomes.add(_read(path))
    assert outcomes >= {"refused", "read"}


def _read(path: Path) -> str:
    try:
        GRR.tally_batches(sv.read_reports(path, GRR))
    except sv.ReportError:
        return "refused"
    return "read"


def test_a_table_is_no_column() -> None:
    with pytest.raises(sv.DomainError, match="column"):
        GRR.privatize(pa.table({"a": [1, 2], "b": [1, 2]}), seed=1)
