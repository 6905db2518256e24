"""Runs of `tally` that are killed, meet, or find their files changed: nothing is counted twice, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.cli import main, tally
from sottovoce.core.specs import canonical
from sottovoce.engines import duckdb as engine
from sottovoce.files.counts import Reason
from sottovoce.files.writer import Writer
from sottovoce.tally.tally import Tally
from tests.patience import PATIENCE

M = sv.mechanism("grr", sv.Integers(0, 9), epsilon=1)


def write(path: Path, n: int, seed: int = 1) -> Tally:
    reports = M.privatize([seed % 10] * n, seed=seed)
    with path.open("wb") as file, Writer(file, path.suffix[1:], M, seeded=True) as writer:
        writer.write(reports)
    return M.tally(reports)


class Runs:
    """A folder of inputs, and the same command again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.kept, self.output = folder, folder / "kept", folder / "out.tally"
        (folder / "spec.json").write_bytes(canonical(M.spec()))

    def line(self, *inputs: Path) -> list[str]:
        options = ["--spec", str(self.folder / "spec.json"), "--resume", str(self.kept), "--force"]
        return ["tally", *map(str, inputs), *options, "-o", str(self.output)]

    def counted(self, *inputs: Path) -> Tally:
        assert main(self.line(*inputs)) == 0
        return Tally.from_bytes(self.output.read_bytes())


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.mark.slow
def test_a_killed_run_leaves_whole_tallies_and_nothing_else(runs: Runs) -> None:
    first, pipe, last = (runs.folder / name for name in ("a.parquet", "b.csv", "c.parquet"))
    expected = write(first, 50) + write(last, 70, seed=3)
    os.mkfifo(pipe)  # on which the run waits
    command = [sys.executable, "-m", "sottovoce", *runs.line(first, pipe, last)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + PATIENCE
        while not (runs.kept.is_dir() and list(runs.kept.iterdir())) and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert [path.suffix for path in runs.kept.iterdir()] == [".kept"] and not runs.output.exists()
    pipe.unlink()
    expected += write(pipe, 60, seed=2)
    # Two runs at once go on from there; each adds what the other has counted, or counts it itself.
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "sottovoce", *runs.line(first, pipe, last)[:-1], str(runs.folder / name)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one.tally", "other.tally")
    ]
    for process, name in zip(both, ("one.tally", "other.tally"), strict=True):
        said = process.communicate()[1]
        assert process.returncode == 0 and "of 3 files counted before" in said
        assert Tally.from_bytes((runs.folder / name).read_bytes()) == expected
    assert len(list(runs.kept.iterdir())) == 3 and {path.suffix for path in runs.kept.iterdir()} == {".kept"}


def test_a_file_that_grows_is_counted_again_and_once(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    path = runs.folder / "reports.csv"
    path.write_text("report\n01\n02\n")
    assert runs.counted(path).cells.tolist() == [0, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    with path.open("a") as file:
        file.write("03\n03\n")
    assert runs.counted(path).cells.tolist() == [0, 1, 1, 2, 0, 0, 0, 0, 0, 0]
    capsys.readouterr()
    assert runs.counted(path).n == 4 and "1 of 1 file counted before" in capsys.readouterr().err


def test_a_file_of_the_same_size_and_time_is_counted_again(runs: Runs) -> None:
    path = runs.folder / "reports.csv"
    path.write_text("report\n01\n")
    before = path.stat()
    assert runs.counted(path).cells[1] == 1
    path.write_text("report\n02\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as a copy that keeps times
    assert runs.counted(path).cells.tolist()[:3] == [0, 0, 1]


def test_a_file_that_changes_while_it_is_counted_is_not_kept(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, count = runs.folder / "reports.csv", tally.tally_of
    path.write_text("report\n01\n")

    def growing(*arguments: Any, **options: Any) -> Any:
        found = count(*arguments, **options)
        with path.open("a") as file:
            file.write("02\n")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(tally, "tally_of", growing)
        assert runs.counted(path).n == 1
    assert "The input changed while it was counted" in capsys.readouterr().err
    assert runs.counted(path).n == 2


def test_files_without_reports_and_without_anything(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    good, none, empty = (runs.folder / name for name in ("good.parquet", "none.parquet", "empty.parquet"))
    expected = write(good, 50)
    write(none, 0)
    assert runs.counted(good, none) == expected
    empty.write_bytes(b"")
    cut = runs.folder / "cut.parquet"
    for damaged in (b"", good.read_bytes()[:-9], good.read_bytes()[:60] + good.read_bytes()[64:]):
        cut.write_bytes(damaged)
        capsys.readouterr()
        assert main(runs.line(good, cut)) == 2
        said = capsys.readouterr().err
        assert "Input 2 of 2 cannot be read: it is damaged" in said and said.count("\n") == 1
    gone = runs.folder / "gone.parquet"
    assert main(runs.line(good, gone)) == 2
    assert "Input 2 of 2 cannot be read: No such file" in capsys.readouterr().err
    assert runs.counted(good, none) == expected


def test_a_file_that_several_patterns_find_is_counted_once(runs: Runs) -> None:
    folder = runs.folder / "all"
    folder.mkdir()
    expected = write(folder / "a.parquet", 50) + write(folder / "b.parquet", 60, seed=2)
    (runs.folder / "link.parquet").symlink_to(folder / "a.parquet")
    for inputs in (
        (folder, folder / "a*.parquet"),
        (folder / "a.parquet", folder),
        (folder / "*.parquet", folder, runs.folder / "link.parquet"),
    ):
        assert runs.counted(*inputs) == expected


def test_rows_of_a_query_say_what_was_refused(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    """What a database left out is left out here, too, with the same words."""
    found = engine.count(pa.table({"report": pa.array([1, 2, 99, None, -1])}), M)
    lines = [",".join(map(str, row.values())) for row in found.to_pylist()]
    path = runs.folder / "rows.csv"
    path.write_text("\n".join([",".join(found.column_names), *lines]) + "\n")
    for _ in range(2):  # the second time from what was kept
        assert main([*runs.line(path), "--format", "rows"]) == 0
        said = capsys.readouterr().err
        assert "3 of 5 reports left out as invalid: 2 with a payload that no device sends, 1 of a wrong length" in said
    assert main([*runs.line(path), "--format", "rows", "--strict"]) == 2
    assert "A strict count refuses" in capsys.readouterr().err


def test_rows_of_wrong_lengths_are_left_out_for_the_reasons_of_engines(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark and DuckDB write bytes of variable length: one bad row must not spoil a file."""
    m = sv.mechanism("olh", sv.Integers(0, 9), epsilon=1)
    reports = m.privatize([3] * 40, seed=1)
    assert reports.public is not None
    ids = [row.tobytes() for row in reports.public.astype("<u8")]
    numbers = [int(one) for one in reports.payload]
    rows = pa.table(
        {
            "report": pa.array([*numbers, 0, 0, None, None, 250], pa.int32()),
            "id": pa.array([*ids, b"short", None, None, ids[0], ids[0]], pa.binary()),
        }
    )
    path = runs.folder / "reports.parquet"
    pq.write_table(rows, path)
    (runs.folder / "spec.json").write_bytes(canonical(m.spec()))
    assert runs.counted(path) == m.tally(reports)
    said = capsys.readouterr().err
    expected = {Reason.ID.words: 3, Reason.LENGTH.words: 1, Reason.PAYLOAD.words: 1}
    assert engine.account(engine.count(rows, m, unique=True)).refused == expected
    assert all(f"{count} {words}" in said for words, count in expected.items())
    assert main([*runs.line(path), "--strict"]) == 2
    # The same rows as CSV, where an empty cell has a wrong length.
    text = ["report,id", *(f"{one:02x},{ids[place].hex()}" for place, one in enumerate(numbers))]
    text += ["00,abcd", "00,", ",", f",{ids[0].hex()}", f"fa,{ids[0].hex().upper()}"]
    other = runs.folder / "reports.csv"
    other.write_text("\n".join(text) + "\n")
    capsys.readouterr()
    assert runs.counted(other) == m.tally(reports)
    said = capsys.readouterr().err
    assert all(f"{count} {words}" in said for words, count in expected.items())
