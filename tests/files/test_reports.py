"""`sv.read_reports` and `sv.write_reports`: every kind of file, there and back, by name and by content."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.files.intake import Intake
from sottovoce.files.opening import FileProblem

KINDS = {"csv": ".csv", "parquet": ".parquet", "arrow": ".arrow", "hex": ".hex", "messages": ".bin"}
MECHANISMS = {name: sv.mechanism(name, sv.Integers(0, 9), epsilon=1) for name in ("grr", "oue", "olh")}


def drawn(name: str = "grr", count: int = 300) -> sv.Reports:
    return MECHANISMS[name].privatize([place % 10 for place in range(count)])


def simulated(name: str = "grr") -> sv.Reports:
    return MECHANISMS[name].privatize([1, 2, 3], seed=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_go_there_and_back(name: str, kind: str, tmp_path: Path) -> None:
    reports, path = drawn(name), tmp_path / f"reports{KINDS[kind]}"
    assert sv.write_reports(path, [reports[:200], reports[200:]]) == 300
    assert [one for batch in sv.read_reports(path, reports.mechanism) for one in batch] == list(reports)
    tally = reports.mechanism.tally(reports)
    assert reports.mechanism.tally_batches(sv.read_reports(path, reports.mechanism)) == tally
    unnamed = path.rename(tmp_path / "no ending")
    assert reports.mechanism.tally_batches(sv.read_reports(str(unnamed), reports.mechanism)) == tally
    with unnamed.open("rb") as file:
        assert reports.mechanism.tally_batches(sv.read_reports(file, reports.mechanism)) == tally


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_some_kinds_carry_the_mechanism_and_refuse_another(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"reports.{kind}"
    sv.write_reports(path, drawn("olh"))
    (batch,) = sv.read_reports(path)
    assert batch.mechanism == MECHANISMS["olh"]
    with pytest.raises(sv.MismatchError):
        list(sv.read_reports(path, MECHANISMS["grr"]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_without_reports_is_one_empty_batch(kind: str, tmp_path: Path) -> None:
    nothing, path = drawn(count=0), tmp_path / f"reports{KINDS[kind]}"
    assert sv.write_reports(path, nothing) == 0
    assert [len(batch) for batch in sv.read_reports(path, nothing.mechanism)] == [0]


@pytest.mark.parametrize("kind", ["csv", "hex", "messages"])
def test_other_kinds_are_read_with_their_mechanism(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"reports{KINDS[kind]}"
    sv.write_reports(path, drawn())
    with pytest.raises(sv.ReportError, match="name the mechanism"):
        list(sv.read_reports(path))


@pytest.mark.parametrize("kind", ["csv", "arrow", "hex", "messages"])
def test_a_pipe_is_read_while_it_is_written(kind: str) -> None:
    reports = drawn("olh")
    read, write = os.pipe()

    def send() -> None:
        with os.fdopen(write, "wb") as file:
            sv.write_reports(file, reports, kind=kind)

    thread = threading.Thread(target=send)
    thread.start()
    with os.fdopen(read, "rb") as file:
        tally = reports.mechanism.tally_batches(sv.read_reports(file, reports.mechanism))
    thread.join()
    assert tally == reports.mechanism.tally(reports)


def test_parquet_needs_a_file_that_can_be_searched() -> None:
    sv.write_reports(buffer := io.BytesIO(), drawn(), kind="parquet")
    buffer.seek(0)
    assert sum(map(len, sv.read_reports(buffer))) == 300
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        file.write(buffer.getvalue())
    with os.fdopen(read, "rb") as file, pytest.raises(FileProblem, match="Parquet cannot be read from a pipe"):
        list(sv.read_reports(file))


def test_an_open_file_gets_an_arrow_stream_unless_told() -> None:
    sv.write_reports(buffer := io.BytesIO(), drawn())
    buffer.seek(0)
    assert sum(map(len, sv.read_reports(buffer))) == 300


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_the_mark_of_a_simulation_is_kept(kind: str, tmp_path: Path) -> None:
    reports, path = simulated(), tmp_path / f"reports.{kind}"
    sv.write_reports(path, reports)
    assert all(batch.simulated for batch in sv.read_reports(path, reports.mechanism))


@pytest.mark.parametrize("kind", ["hex", "messages"])
def test_messages_cannot_be_simulations(kind: str, tmp_path: Path) -> None:
    with pytest.raises(sv.ParameterError, match="cannot say that they are a simulation"):
        sv.write_reports(tmp_path / "reports", simulated(), kind=kind)
    assert not list(tmp_path.iterdir())


def test_a_file_holds_reports_of_one_kind_and_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "reports.parquet"
    with pytest.raises(sv.MismatchError):
        sv.write_reports(path, [drawn("grr"), drawn("olh")])
    with pytest.raises(sv.ParameterError, match="different files"):
        sv.write_reports(path, [drawn(), simulated()])
    with pytest.raises(sv.ParameterError, match="nothing to write"):
        sv.write_reports(path, [])

    def broken() -> Iterator[sv.Reports]:
        yield drawn()
        raise KeyError

    with pytest.raises(KeyError):
        sv.write_reports(path, broken())
    assert not list(tmp_path.iterdir())
    sv.write_reports(path, drawn())
    with pytest.raises(FileProblem, match="exists"):
        sv.write_reports(path, drawn())
    assert sv.write_reports(path, drawn(count=20), force=True) == 20


def test_invalid_reports_are_refused_or_left_out_and_counted(tmp_path: Path) -> None:
    mechanism, path = MECHANISMS["grr"], tmp_path / "reports.csv"
    sv.write_reports(path, drawn(count=3))
    path.write_text(path.read_text() + "ff,\n0,\n")
    with pytest.raises(sv.ReportError):
        list(sv.read_reports(path, mechanism))
    intake = Intake()
    assert mechanism.tally_batches(sv.read_reports(path, mechanism, intake=intake)).n == 3
    assert intake.read == 5 and intake.left_out.total() == 2
    assert "2 of 5 reports left out as invalid" in next(intake.remarks(3))


def test_reports_of_another_mechanism_with_the_same_columns_are_refused(tmp_path: Path) -> None:
    mechanism = MECHANISMS["grr"]
    other = sv.mechanism("grr", mechanism.domain, epsilon=mechanism.claimed / 2)
    for ending in ("csv", "parquet", "arrow"):
        sv.write_reports(path := tmp_path / f"reports.{ending}", drawn(count=3))
        with pytest.raises(sv.SottovoceError, match=r"another mechanism made these reports|of different mechanisms"):
            list(sv.read_reports(path, other))
    table = pq.read_table(tmp_path / "reports.parquet")  # its schema names the mechanism
    assert mechanism.tally_batches(table).n == 3
    with pytest.raises(sv.MismatchError, match="Cannot count reports of different mechanisms"):
        other.tally_batches(table)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "reports.arrow"
    path.write_bytes(b"")
    with pytest.raises(sv.ReportError, match="cannot be read as arrow"):
        list(sv.read_reports(path))
    sv.write_reports(path, drawn(), force=True)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(sv.ReportError):
        list(sv.read_reports(path))
    with pytest.raises(FileNotFoundError):
        list(sv.read_reports(tmp_path / "none.csv"))
    with pytest.raises(FileProblem, match="kind csv"):
        sv.write_reports(tmp_path / "no ending", drawn())
