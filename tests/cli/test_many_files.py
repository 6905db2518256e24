"""Folders, patterns, addresses of object stores, runs that go on, and queries for databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem, _MockFileSystem

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.cli.show import Gauge
from sottovoce.core.specs import canonical
from sottovoce.files import places
from sottovoce.files.writer import Writer
from sottovoce.tally.tally import Tally

M = sv.mechanism("grr", sv.Integers(0, 9), epsilon=1)


def reports_in(folder: Path, parts: int = 3, ending: str = "parquet") -> Tally:
    """Files of reports in folders of their own; the tally of all."""
    batches = [M.privatize([part] * (50 + part), seed=part) for part in range(parts)]
    for part, batch in enumerate(batches):
        place = folder / f"day={part}"
        place.mkdir(parents=True)
        with (place / f"part {part}.{ending}").open("wb") as file, Writer(file, ending, M, seeded=True) as writer:
            writer.write(batch)
        (place / "_SUCCESS").write_bytes(b"")
        (place / "_metadata.parquet").write_bytes(b"no data")
    return sum((M.tally(batch) for batch in batches[1:]), M.tally(batches[0]))


def counted(*arguments: str, output: Path) -> Tally:
    assert main(["tally", *arguments, "-o", str(output), "--force"]) == 0
    return Tally.from_bytes(output.read_bytes())


def test_folders_and_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, output = reports_in(tmp_path / "all"), tmp_path / "out.tally"
    monkeypatch.chdir(tmp_path)
    for given in ("all", "all/*/part*.parquet", f"{tmp_path}/all/**/part ?.parquet", "all/day=[0-2]/p*"):
        assert counted(given, output=output) == expected
    assert counted("all/day=0", "all/day=1/part*.parquet", output=output).n == 101


def test_nothing_found_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    for given, said in (
        (str(tmp_path / "empty"), "The input is a folder in which no Parquet file is found."),
        (str(tmp_path / "*.pq"), "The input is a pattern that no file matches."),
        ("secret://key@nowhere/x", "An input is an address that pyarrow does not know"),
    ):
        assert main(["tally", given, "-o", str(tmp_path / "out.tally")]) == 2
        error = capsys.readouterr().err
        assert said in error and "secret" not in error and str(tmp_path) not in error


def test_addresses_of_object_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store in memory, under an address with a bucket, as pyarrow gives one for s3."""
    expected = reports_in(tmp_path / "all")
    store = _MockFileSystem()
    store.create_dir("bucket")
    pa.fs.copy_files(str(tmp_path / "all"), "bucket/all", LocalFileSystem(), store)
    monkeypatch.setattr(places, "file_system", lambda address: (store, address.partition("://")[2].partition("?")[0]))
    for given in ("s3://bucket/all", "s3://bucket/all/*/part*.parquet", "s3://bucket/all?region=x"):
        assert counted(given, output=tmp_path / "out.tally") == expected
    with store.open_output_stream("bucket/answers.csv") as file:
        file.write(b"v\n" + b"3\n" * 40)
    (tmp_path / "spec.json").write_bytes(canonical(M.spec()))
    out = tmp_path / "out.parquet"
    line = ["privatize", "s3://bucket/answers.csv", "--column", "v", "--spec", str(tmp_path / "spec.json")]
    assert main([*line, "-o", str(out)]) == 0
    assert pq.read_metadata(out).num_rows == 40


def test_a_run_that_was_interrupted_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, kept = reports_in(tmp_path / "all"), tmp_path / "kept"
    last = tmp_path / "all" / "day=2" / "part 2.parquet"
    whole = last.read_bytes()
    last.write_bytes(whole[:100])
    line = ["tally", str(tmp_path / "all"), "--resume", str(kept), "-o", str(tmp_path / "out.tally")]
    assert main(line) == 2
    assert len(list(kept.iterdir())) == 2
    last.write_bytes(whole)
    opened: list[str] = []
    monkeypatch.setattr("sottovoce.files.reports.parquet_source", lambda path: opened.append(path) or path)
    capsys.readouterr()
    assert main(line) == 0
    assert "2 of 3 files counted before" in capsys.readouterr().err
    assert Tally.from_bytes((tmp_path / "out.tally").read_bytes()) == expected
    assert [Path(path).name for path in opened] == ["part 2.parquet"]
    # A file that changed is counted again.
    first = tmp_path / "all" / "day=0" / "part 0.parquet"
    pq.write_table(pq.read_table(first).slice(0, 10), first)
    assert main([*line, "--force"]) == 0
    assert Tally.from_bytes((tmp_path / "out.tally").read_bytes()).n == expected.n - 40
    (next(kept.iterdir())).write_bytes(b"{}\n")
    for damaged in kept.iterdir():
        damaged.write_bytes(b'{"read": "a"}\n')
    assert main([*line, "--force"]) == 2
    assert "A file in the folder of --resume" in capsys.readouterr().err


def test_what_was_left_out_is_kept_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.json").write_bytes(canonical(M.spec()))
    (tmp_path / "a.csv").write_text("report\n01\n02\nff\nzz\n")
    line = ["tally", str(tmp_path / "a.csv"), "--spec", str(tmp_path / "spec.json")]
    line += ["--resume", str(tmp_path / "kept"), "--force", "-o", str(tmp_path / "out.tally")]
    said = []
    for _ in range(2):
        assert main(line) == 0
        said.append([one for one in capsys.readouterr().err.splitlines() if "left out" in one])
    assert said[0] == said[1] and "2 of 4 reports left out" in said[0][0]


def test_privatize_into_a_folder_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answers").mkdir()
    (tmp_path / "reports").mkdir()
    for part in range(3):
        pq.write_table(pa.table({"v": [part] * 20}), tmp_path / "answers" / f"{part}.parquet")
    (tmp_path / "spec.json").write_bytes(canonical(M.spec()))
    line = ["privatize", str(tmp_path / "answers"), "--column", "v", "--spec", str(tmp_path / "spec.json")]
    goal = ["-o", f"{tmp_path}/reports/"]
    assert main([*line, *goal]) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "reports").iterdir()}
    assert sorted(before) == ["0.parquet", "1.parquet", "2.parquet"]
    (tmp_path / "reports" / "1.parquet").unlink()
    capsys.readouterr()
    assert main([*line, *goal]) == 0
    assert "2 of 3 files privatized before: their reports stay as they are." in capsys.readouterr().err
    after = {path.name: path.read_bytes() for path in (tmp_path / "reports").iterdir()}
    assert {name for name in before if before[name] == after[name]} >= {"0.parquet", "2.parquet"}
    assert counted(str(tmp_path / "reports"), output=tmp_path / "out.tally").n == 60
    # All in one file.
    assert main([*line, "-o", str(tmp_path / "one.parquet")]) == 0
    assert pq.read_metadata(tmp_path / "one.parquet").num_rows == 60
    for more, said in (
        (["--seed", "1"], "A simulation goes into one file"),
        (["--output-format", "csv"], "A folder of reports holds Parquet files"),
    ):
        assert main([*line, *goal, *more]) == 2
        assert said in capsys.readouterr().err
    other = [
        "privatize",
        str(tmp_path / "answers"),
        *["--column", "v", "--method", "grr", "--epsilon", "2", "--low", "0", "--high", "9", "--whole"],
    ]
    assert main([*other, *goal]) == 2
    assert "The reports of input 1 of 3: Cannot go on" in capsys.readouterr().err


def test_a_query_and_its_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "question.json").write_bytes(canonical(M.spec()))
    reports = M.privatize([4] * 300, seed=2)
    assert main(["tally", "--sql", "duckdb", str(tmp_path / "question.json")]) == 0
    query = capsys.readouterr().out
    connection: Any = duckdb.connect()
    connection.register("reports", pa.table({"report": pa.array(reports.payload)}))
    pa_csv.write_csv(connection.sql(query).to_arrow_table(), tmp_path / "rows.csv")
    line = [str(tmp_path / "rows.csv"), "--format", "rows", "--spec", str(tmp_path / "question.json")]
    assert counted(*line, output=tmp_path / "out.tally") == M.tally(reports)
    hashed = sv.mechanism("olh", sv.Integers(0, 9), epsilon=1)
    (tmp_path / "hashed.json").write_bytes(canonical(hashed.spec()))
    assert main(["tally", "--sql", "postgresql", str(tmp_path / "hashed.json")]) == 2
    assert "needs a kernel" in capsys.readouterr().err


def test_progress_is_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(Gauge, "to", lambda self, done: seen.append((self.done, done)))
    reports_in(tmp_path / "all")
    counted(str(tmp_path / "all"), output=tmp_path / "out.tally")
    sizes = [path.stat().st_size for path in sorted((tmp_path / "all").glob("*/part*"))]
    assert seen[-1] == (sum(sizes[:2]), sizes[2])
    assert all(done <= max(sizes) for _, done in seen) and len(seen) >= 6
