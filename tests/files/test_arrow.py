"""Reports as Arrow columns and Parquet files, counted in bounded memory; what is no report is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.files.arrow import arrow_schema, from_arrow, to_arrow
from sottovoce.files.reports import BATCH_BYTES
from tests.each import for_each
from tests.patience import PATIENCE

NAMES = [*sv.names(sv.Frequency), "bernoulli", "piecewise", "hybrid"]  # an index, a wide one, one of a mix


def build(name: str, size: int) -> sv.Mechanism:
    """A mechanism with this many codes, or with two where its name stands for two."""
    try:
        return sv.mechanism(name, sv.Integers(0, size - 1), epsilon=1.0)
    except sv.ParameterError:
        return sv.mechanism(name, sv.Integers(0, 1), epsilon=1.0)


def some(m: sv.Mechanism, n: int = 300, seed: int = 4) -> sv.Reports:
    return m.privatize(np.arange(n) % m.domain.size, seed=seed)


GRR, OUE, OLH = build("grr", 5), build("oue", 70), build("olh", 70)


def batch_of(**columns: Any) -> pa.RecordBatch:
    return pa.record_batch(columns)


def refused(m: sv.Mechanism, batch: Any, *texts: str) -> None:
    """Refused in one sentence that holds these texts, alone and in a stream."""
    with pytest.raises(sv.ReportError) as caught:
        m.tally_batches([batch])
    said = str(caught.value)
    assert "\n" not in said and said.endswith("."), said
    for text in texts:
        assert text in said, said


# --- there and back ---------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [9, pytest.param(70, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_arrow_and_parquet_lose_nothing(name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    m = build(name, size)
    reports = some(m)
    batch = to_arrow(reports)
    assert batch.schema.equals(arrow_schema(m))
    back = from_arrow(m, batch)
    assert list(back) == list(reports)
    assert back.payload.dtype == reports.payload.dtype
    assert (back.public is None) == (reports.public is None)
    if reports.public is not None:
        assert np.array_equal(back.public, reports.public)
    path = tmp_path / "reports.parquet"
    pq.write_table(pa.Table.from_batches([batch]), path, row_group_size=77)
    whole = m.tally(reports)
    for rows in (1, 50, 1000):
        monkeypatch.setattr("sottovoce.files.reports.MAX_ROWS", rows)
        assert m.tally_batches(sv.read_reports(path, m)) == whole
    assert m.tally_batches(sv.read_reports(str(path), m), threads=1) == whole


@for_each("name", NAMES)
def test_sliced_batches_are_read_from_their_offset(name: str) -> None:
    m = build(name, 70)
    reports = some(m)
    batch = to_arrow(reports)
    for start, stop in ((0, 300), (1, 300), (7, 8), (123, 250), (299, 300), (300, 300)):
        part = batch.slice(start, stop - start)
        assert m.tally_batches([part]) == m.tally(reports[start:stop])
        assert list(from_arrow(m, part.slice(0))) == list(reports[start:stop])
    twice = batch.slice(100).slice(50, 20)
    assert m.tally_batches([twice]) == m.tally(reports[150:170])


@for_each("name", NAMES)
def test_empty_batches_count_nothing(name: str) -> None:
    m = build(name, 70)
    batch = to_arrow(some(m))
    made = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in batch.schema], schema=batch.schema)
    for stream in ([], [made], [batch.slice(0, 0)], [batch.slice(300)], [to_arrow(m.privatize([]))]):
        assert m.tally_batches(stream) == sv.Tally.empty(m)
    assert m.tally_batches([made, batch, made]) == m.tally(some(m))


@for_each("name", NAMES)
def test_tables_of_chunks_are_streams_too(name: str) -> None:
    m = build(name, 70)
    reports = some(m)
    batch = to_arrow(reports)
    table = pa.Table.from_batches([batch.slice(0, 11), batch.slice(11, 0), batch.slice(11)])
    whole = m.tally(reports)
    for stream in (table, [table], [table.slice(0, 20), batch.slice(20)], table.to_reader(), batch):
        assert m.tally_batches(stream) == whole
    assert m.tally_batches(batch for _ in range(3)).n == 900


def test_other_columns_and_another_order_do_not_matter() -> None:
    reports = some(OLH)
    batch = to_arrow(reports)
    wide = pa.RecordBatch.from_arrays(
        [pa.array(["x"] * 300), batch.column("id"), batch.column("report")], names=["note", "id", "report"]
    )
    assert OLH.tally_batches([wide]) == OLH.tally(reports)


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint16(), pa.uint32(), pa.uint64()])
def test_any_type_of_integers_is_read(kind: pa.DataType) -> None:
    reports = some(GRR)
    column = pa.array(reports.payload).cast(kind)
    assert GRR.tally_batches([batch_of(report=column)]) == GRR.tally(reports)
    hashed = some(OLH)
    batch = to_arrow(hashed)
    assert OLH.tally_batches([batch_of(report=batch.column("report").cast(kind), id=batch.column("id"))]) == OLH.tally(
        hashed
    )


# --- what is refused --------------------------------------------------------------------------------
@pytest.mark.parametrize("wrong", [-1, 5, 255, 1 << 40, -(1 << 63)])
def test_numbers_that_are_no_report_are_refused_with_their_position(wrong: int) -> None:
    refused(GRR, batch_of(report=pa.array([0, 1, wrong, 2])), "Report 2 is invalid")


def test_several_invalid_reports_are_listed_up_to_a_limit() -> None:
    refused(GRR, batch_of(report=pa.array([9, 1, 7, 2])), "Reports 0, 2 are invalid for this mechanism: ")
    refused(GRR, batch_of(report=pa.array([7] * 11)), "Reports 0, 1, 2, 3, 4, 5, 6, 7 and 3 more are invalid")


def test_the_largest_unsigned_number_is_no_report() -> None:
    refused(GRR, batch_of(report=pa.array([0, (1 << 64) - 1], pa.uint64())), "Report 1 is invalid")


def test_a_bad_batch_says_where_in_the_stream_it_starts() -> None:
    good = batch_of(report=pa.array([0, 1, 2]))
    with pytest.raises(sv.ReportError, match=r"starts at report 6 of the stream: Report 1 is invalid"):
        GRR.tally_batches([good, good, batch_of(report=pa.array([0, 7]))])


@pytest.mark.parametrize("m", [GRR, OUE, OLH], ids=lambda m: m.name)
def test_a_missing_column_is_named(m: sv.Mechanism, tmp_path: Path) -> None:
    batch = to_arrow(some(m))
    for name in batch.schema.names:
        others = [other for other in batch.schema.names if other != name]
        columns = {"unrelated": pa.array([1] * 300), **{other: batch.column(other) for other in others}}
        refused(m, batch_of(**columns), repr(name), f"0 of the {len(columns)} columns")
        path = tmp_path / "reports.parquet"
        pq.write_table(pa.table(columns), path)
        with pytest.raises(sv.ReportError, match=f"0 of the {len(columns)} columns"):
            m.tally_batches(sv.read_reports(path, m))
        pq.write_table(pa.table(columns).slice(0, 0), path)
        with pytest.raises(
            sv.ReportError, match=f"0 of the {len(columns)} columns"
        ):  # even where there is nothing to count
            m.tally_batches(sv.read_reports(path, m))


def test_two_columns_of_one_name_are_refused() -> None:
    column = pa.array([1])
    refused(GRR, pa.RecordBatch.from_arrays([column, column], names=["report", "report"]), "one column 'report'")


def test_empty_cells_are_refused() -> None:
    refused(GRR, batch_of(report=pa.array([0, None])), "empty cells")
    refused(GRR, batch_of(report=pa.nulls(3)), "empty cells")
    batch = to_arrow(some(OLH, 2))
    refused(OLH, batch_of(report=batch.column("report"), id=pa.array([b"x" * 16, None], pa.binary(16))), "'id'")
    refused(OUE, batch_of(report=pa.array([None], pa.binary(9))), "empty cells")


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.0]),
        pa.array([True]),
        pa.array(["1"]),
        pa.array([b"\x01"]),
        pa.array([[1]]),
        pa.array([1], pa.date32()),
        pa.array([1], pa.decimal128(5)),
        pa.array([1]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_another_type_are_refused(column: pa.Array) -> None:
    refused(GRR, batch_of(report=column), "integers", str(column.type))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([bytes(9), bytes(8)]),
        pa.array([bytes(10)], pa.large_binary()),
        pa.array([bytes(8)], pa.binary(8)),
        pa.array([bytes(10)], pa.binary(10)),
        pa.array([1]),
        pa.array([bytes(9)], pa.binary(9)).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_masks_of_another_type_or_length_are_refused_and_both_are_shown(column: pa.Array) -> None:
    refused(OUE, batch_of(report=column), "fixed_size_binary[9]", str(column.type))


def test_bytes_of_variable_length_are_read_where_all_have_the_right_one() -> None:
    """As Spark and DuckDB write them."""
    reports = some(OLH, 50)
    batch = to_arrow(reports)
    for kind in (pa.binary(), pa.large_binary()):
        other = batch.set_column(1, "id", batch.column("id").cast(kind))
        assert OLH.tally_batches([other]) == OLH.tally(reports)
    masks = some(OUE, 50)
    changed = pa.RecordBatch.from_arrays([to_arrow(masks).column("report").cast(pa.binary())], ["report"])
    assert OUE.tally_batches([changed, changed.slice(0, 0)]) == OUE.tally(masks)


def test_ids_of_another_length_are_refused() -> None:
    refused(OLH, batch_of(report=pa.array([0], pa.uint8()), id=pa.array([bytes(15)], pa.binary(15))), "[16]", "[15]")


def test_masks_with_spare_bits_or_the_wrong_number_of_ones_are_refused() -> None:
    good = to_arrow(some(OUE, 3)).column("report").to_pylist()
    spare = good[1][:-1] + bytes([good[1][-1] | 0x40])
    refused(OUE, batch_of(report=pa.array([good[0], spare, good[2]], pa.binary(9))), "Report 1 is invalid")
    subset = sv.mechanism("subset", sv.Integers(0, 69), epsilon=1.0)
    good = to_arrow(some(subset, 3)).column("report").to_pylist()
    flipped = bytes([good[2][0] ^ 1]) + good[2][1:]
    refused(subset, batch_of(report=pa.array([*good[:2], flipped], pa.binary(9))), "Report 2 is invalid")


@pytest.mark.parametrize("wrong", ["text", 7, None, {"report": [1]}])
def test_streams_are_made_of_batches(wrong: Any) -> None:
    with pytest.raises(sv.ReportError, match="Arrow batches"):
        GRR.tally_batches([wrong])


def test_files_that_are_not_parquet_are_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    path.write_bytes(b"hello")
    with pytest.raises(sv.ReportError, match="cannot be read as parquet"):
        list(sv.read_reports(path, GRR))
    with pytest.raises(FileNotFoundError):
        list(sv.read_reports(tmp_path / "none", GRR))


# --- bounded memory ---------------------------------------------------------------------------------
def test_long_reports_come_in_short_batches(tmp_path: Path) -> None:
    """A mask of a quarter of a million bits has 32 KiB: as many rows as for short reports would not fit in memory."""
    m = sv.mechanism("oue", sv.Integers(0, (1 << 18) - 1), epsilon=1.0)
    path = tmp_path / "reports.parquet"
    blank = pa.array([bytes(1 << 15)] * 2000, pa.binary(1 << 15))
    pq.write_table(pa.table({"report": blank}), path)
    sizes = [len(batch) for batch in sv.read_reports(path, m)]
    assert sum(sizes) == 2000
    assert max(sizes) * (1 << 15) <= BATCH_BYTES


STREAMED = """
import resource, sys
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sottovoce as sv
from sottovoce.files.arrow import arrow_schema, to_arrow

path, groups, rows = sys.argv[1], 20, 1_000_000
m = sv.mechanism("grr", sv.Integers(0, 999), epsilon=1.0)
with pq.ParquetWriter(path, arrow_schema(m)) as writer:
    for group in range(groups):
        writer.write_batch(to_arrow(m.privatize(np.arange(rows) % 1000, seed=group)))
tally = m.tally_batches(sv.read_reports(path, m))
assert tally.n == groups * rows and tally.cells.sum() == tally.n
assert (abs(m.estimate(tally).values - 0.001) < 6 * m.estimate(tally).std_errors).all()
# Linux keeps getrusage's peak across exec, so that a child would report its parent's size; this one it does not.
try:
    status = open("/proc/self/status").read()
    print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
except OSError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
def test_twenty_million_reports_are_counted_in_less_than_500_mb(tmp_path: Path) -> None:
    """Written and counted in one process, so the bound holds for both. 50 million are a benchmark."""
    done = subprocess.run(
        [sys.executable, "-c", STREAMED, str(tmp_path / "reports.parquet")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 500, f"peak memory {done.stdout.strip()} MB"
