"""The command line on files: the same reports as the library, and one sentence for whatever is wrong."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.cli.app import app
from sottovoce.core.registry import fits
from sottovoce.core.simulation import METADATA
from sottovoce.core.specs import canonical
from sottovoce.files.answers import Outside, codes
from sottovoce.files.arrow import MECHANISM, from_arrow
from sottovoce.files.opening import FileProblem, writing
from tests.cli.bad_files import write_bad_files
from tests.cli.bad_lines import BAD
from tests.patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guides/files.md"
ANIMALS = ("cat", "dog", "newt")
N = 3_000


@dataclass(frozen=True)
class Done:
    code: int
    out: bytes
    err: str


def call(*arguments: object, stdin: bytes = b"") -> Done:
    """Run a verb in this process, with bytes at both ends."""
    out, err, before = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))  # type: ignore[arg-type]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main([str(argument) for argument in arguments])
            sys.stdout.flush()
    except SystemExit as left:  # argparse
        code = int(left.code or 0)
    finally:
        sys.stdin = before
    out.flush()
    return Done(code, out.buffer.getvalue(), err.getvalue())  # type: ignore[attr-defined]


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell that finds `sottovoce`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100"}
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )


def answers() -> dict[str, list[object]]:
    rng = np.random.default_rng(5)
    animals = [ANIMALS[i] for i in rng.integers(0, 3, N)]
    return {"who": list(range(N)), "animal": animals, "age": rng.integers(0, 100, N).tolist()}


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same answers in every kind of file."""
    folder = tmp_path_factory.mktemp("raw")
    table = pa.table(answers())
    pq.write_table(table, folder / "people.parquet", row_group_size=700)
    rows = zip(*answers().values(), strict=True)
    lines = ["who,animal,age", *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    with pa.ipc.new_stream(folder / "people.arrow", table.schema) as stream:
        stream.write_table(table, max_chunksize=500)
    coded = table.set_column(1, "animal", table["animal"].dictionary_encode())
    with pa.ipc.new_stream(folder / "coded.arrow", coded.schema) as stream:
        stream.write_table(coded)
    return folder


# --- round trips ------------------------------------------------------------------------------------------
def tallied(folder: Path, name: str = "out.tally") -> sv.Tally:
    return sv.Tally.from_bytes((folder / name).read_bytes())


NAMES = [name for name in (*sv.names(sv.Frequency), "bernoulli", "piecewise") if fits(name, sv.Integers(0, 99))]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "output", ["out.parquet", *(pytest.param(f"out.{kind}", marks=pytest.mark.slow) for kind in ("arrow", "csv"))]
)
def test_reports_and_tally_are_those_of_the_library(name: str, output: str, raw: Path, tmp_path: Path) -> None:
    mechanism = sv.mechanism(name, sv.Integers(0, 99), epsilon="1.5")
    reports = mechanism.privatize(answers()["age"], seed=7)
    (tmp_path / "spec.json").write_bytes(canonical(mechanism.spec()))
    source, spec = raw / "people.parquet", tmp_path / "spec.json"
    done = call("privatize", source, "--column", "age", "--spec", spec, "-o", tmp_path / output, "--seed", 7)
    assert done.code == 0 and "simulation only" in done.err
    beside = ["--spec", spec] if output == "out.csv" else []
    assert call("tally", tmp_path / output, "-o", tmp_path / "out.tally", *beside).code == 0
    assert tallied(tmp_path) == mechanism.tally(reports)
    if output == "out.parquet":
        (batch,) = pq.read_table(tmp_path / output).combine_chunks().to_batches()
        again = from_arrow(mechanism, batch)
        assert np.array_equal(again.payload, reports.payload)
        assert (again.public is None) == (reports.public is None)
        assert again.public is None or np.array_equal(again.public, reports.public)
    shown = json.loads(call("estimate", tmp_path / "out.tally", "--json").out)
    expected = mechanism.estimate(mechanism.tally(reports))
    low, high = expected.ci(0.95)
    for key, column in {
        "estimate": expected.values,
        "std_error": expected.std_errors,
        "low": low,
        "high": high,
    }.items():
        assert [row[key] for row in shown["rows"]] == list(column)
    assert [row["value"] for row in shown["rows"]] == (["mean"] if name in sv.names(sv.Mean) else list(range(100)))
    about = (mechanism.name, mechanism.epsilon, mechanism.fingerprint, N)
    assert (shown["mechanism"], shown["epsilon"], shown["fingerprint"], shown["n"]) == about


@pytest.mark.parametrize("source", ["people.csv", "people.parquet", "people.arrow", "coded.arrow"])
@pytest.mark.parametrize("column", ["animal", "age"])
def test_every_kind_of_input_gives_the_same_reports(source: str, column: str, raw: Path, tmp_path: Path) -> None:
    domain = ["--categories", ",".join(ANIMALS)] if column == "animal" else ["--low", 0, "--high", 99, "--whole"]
    asked = ["--column", column, "--method", "grr", "--epsilon", 2, *domain, "--seed", 3]
    assert call("privatize", raw / source, *asked, "-o", tmp_path / "out.parquet").code == 0
    assert call("tally", tmp_path / "out.parquet", "-o", tmp_path / "out.tally").code == 0
    chosen = sv.Categories(ANIMALS) if column == "animal" else sv.Integers(0, 99)
    mechanism = sv.mechanism("grr", chosen, epsilon=2)
    assert tallied(tmp_path) == mechanism.tally(mechanism.privatize(answers()[column], seed=3))


def test_categories_come_from_a_file_and_numbers_may_be_categories(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "ages.txt").write_text("".join(f"{age}\n" for age in range(100)))
    mechanism = sv.mechanism("olh", sv.Categories([str(age) for age in range(100)]), epsilon=1, g=3)
    expected = mechanism.tally(mechanism.privatize([str(age) for age in answers()["age"]], seed=1))
    for source in ("people.csv", "people.parquet"):
        asked = ["--column", "age", "--method", "olh", "--epsilon", "1.0", "--option", "g=3", "--seed", 1]
        output = ["--categories-file", tmp_path / "ages.txt", "-o", tmp_path / "out.parquet", "--force"]
        assert call("privatize", raw / source, *asked, *output).code == 0
        assert call("tally", tmp_path / "out.parquet", "-o", tmp_path / "out.tally", "--force").code == 0
        assert tallied(tmp_path) == expected


def test_pieces_of_a_file_share_no_words(raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.files.reports.MAX_ROWS", 13)
    monkeypatch.setattr("sottovoce.files.answers.ROWS", 101)
    mechanism = sv.mechanism("subset", sv.Integers(0, 99), epsilon=1)
    asked = ["--column", "age", "--method", "subset", "--epsilon", 1, "--low", 0, "--high", 99, "--whole"]
    call("privatize", raw / "people.parquet", *asked, "-o", tmp_path / "out.parquet", "--seed", 2)
    (batch,) = pq.read_table(tmp_path / "out.parquet").combine_chunks().to_batches()
    expected = mechanism.privatize(answers()["age"], seed=2)
    assert np.array_equal(from_arrow(mechanism, batch).payload, expected.payload)


def test_without_a_seed_no_two_runs_are_alike_and_nothing_says_simulation(raw: Path, tmp_path: Path) -> None:
    asked = ["--column", "age", "--method", "grr", "--epsilon", 1, "--low", 0, "--high", 99, "--whole"]
    for name in ("a.parquet", "b.parquet"):
        done = call("privatize", raw / "people.csv", *asked, "-o", tmp_path / name)
        assert done.code == 0 and "simulation" not in done.err and f"{N} reports" in done.err
    a, b = (pq.read_table(tmp_path / name) for name in ("a.parquet", "b.parquet"))
    assert a["report"] != b["report"]
    assert METADATA not in a.schema.metadata and MECHANISM in a.schema.metadata
    assert call("tally", tmp_path / "a.parquet", tmp_path / "b.parquet", "-o", tmp_path / "both.tally").code == 0
    assert tallied(tmp_path, "both.tally").n == 2 * N


def test_csv_as_people_write_it(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_bytes('\ufeff"the ""v""";w\r\n" 7";"two\r\nlines"\r\n+3;x\r\n\r\n007;y'.encode())
    asked = [
        "--column",
        'the "v"',
        "--delimiter",
        ";",
        "--method",
        "grr",
        "--epsilon",
        20,
        "--low",
        0,
        "--high",
        9,
        "--whole",
    ]
    stream = call("privatize", tmp_path / "odd.csv", *asked, "-o", "-").out
    rows = json.loads(call("estimate", "-", "--json", stdin=stream).out)["rows"]
    assert [round(3 * row["estimate"]) for row in rows] == [0, 0, 0, 1, 0, 0, 0, 2, 0, 0]


@pytest.mark.parametrize("delimiter", ["\t", r"\t"])
def test_a_tab_may_be_spelled(delimiter: str, tmp_path: Path) -> None:
    (tmp_path / "tabs.csv").write_text("v\tw\n7\tx\n")
    asked = [
        "--column",
        "v",
        "--delimiter",
        delimiter,
        "--method",
        "grr",
        "--epsilon",
        1,
        "--low",
        0,
        "--high",
        9,
        "--whole",
    ]
    assert "1 report through" in call("privatize", tmp_path / "tabs.csv", *asked, "-o", "-").err


@pytest.mark.parametrize("output", ["out.parquet", "out.arrow"])
def test_who_counts_simulated_reports_is_told_once(output: str, raw: Path, tmp_path: Path) -> None:
    asked = ["--column", "age", "--method", "grr", "--epsilon", 1, "--low", 0, "--high", 99, "--whole"]
    path = tmp_path / output
    for seed, said in ((["--seed", 1], 1), ([], 0)):
        assert call("privatize", raw / "people.csv", *asked, *seed, "-o", path, "--force").code == 0
        for done in (call("tally", path, path, "-o", "-"), call("estimate", path)):
            told = [line for line in done.err.splitlines() if "have the same counts" not in line]
            assert done.code == 0 and done.err.count("came from a seed") == len(told) == said


def test_only_entries_of_a_dictionary_that_rows_use_must_be_in_the_domain() -> None:
    domain = sv.Categories(ANIMALS)
    used = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2], pa.int8()), pa.array(["newt", "yak", "cat", None]))
    assert codes(domain, used).tolist() == [0, 2, 0]
    assert codes(domain, used[1:]).tolist() == [2, 0]
    wrong = pa.DictionaryArray.from_arrays(pa.array([2, 3, None, 1], pa.int8()), used.dictionary)
    assert codes(domain, wrong) == Outside(3, 1, True)


def test_half_hours_are_reported_and_other_numbers_refused(tmp_path: Path) -> None:
    hours = sv.mechanism("piecewise", sv.Interval(0, 14, step="0.5"), epsilon=1)
    described = ["--column", "hours", "--method", "piecewise", "--epsilon", 1, "--low", 0, "--high", 14]
    output = ["-o", tmp_path / "r.parquet", "--write-spec", tmp_path / "s.json"]
    for numbers, code in (("6.5\n7\n", 0), ("6.5\n7\n7.25\n", 2)):
        (tmp_path / "sleep.csv").write_text(f"hours\n{numbers}")
        done = call("privatize", tmp_path / "sleep.csv", *described, "--step", "0.5", *output, "--force")
        assert done.code == code, done.err
    assert "1 of 3 values" in done.err and "in steps of 0.5" in done.err
    assert sv.Mechanism.from_spec((tmp_path / "s.json").read_bytes()) == hours


def test_an_empty_file_gives_no_reports(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("v\n")
    asked = [
        "--column",
        "v",
        "--method",
        "grr",
        "--epsilon",
        1,
        "--low",
        0,
        "--high",
        9,
        "--whole",
        "-o",
        tmp_path / "r.parquet",
    ]
    assert call("privatize", tmp_path / "none.csv", *asked).code == 0
    assert call("tally", tmp_path / "r.parquet", "-o", tmp_path / "t.tally").code == 0
    assert tallied(tmp_path, "t.tally").n == 0
    assert "needs at least one report" in call("estimate", tmp_path / "t.tally").err


def test_tallies_merge_with_reports_and_any_verb_reads_a_pipe(raw: Path, tmp_path: Path) -> None:
    asked = ["--column", "animal", "--method", "oue", "--epsilon", 1, "--categories", ",".join(ANIMALS), "-o", "-"]
    stream = call("privatize", "-", *asked, stdin=(raw / "people.csv").read_bytes()).out
    tally = call("tally", "-", "-o", "-", stdin=stream).out
    (tmp_path / "one.tally").write_bytes(tally)
    (tmp_path / "two.arrow").write_bytes(stream)
    both = call("tally", tmp_path / "one.tally", tmp_path / "two.arrow", "-", "-o", "-", stdin=tally).out
    one = sv.Tally.from_bytes(tally)
    assert sv.Tally.from_bytes(both) == one + one + one
    assert call("estimate", "-", stdin=stream).out == call("estimate", "-", stdin=tally).out


# --- estimates --------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def made(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A large tally whose truth is known."""
    mechanism = sv.mechanism("grr", sv.Categories([*ANIMALS, "[red]yak\x1b"]), epsilon=2)
    path = tmp_path_factory.mktemp("made") / "big.tally"
    path.write_bytes(sv.simulate_counts(mechanism, np.array([50_000, 30_000, 20_000, 0]), seed=4).to_bytes())
    return path


def rows_of(made: Path, *options: object) -> list[dict[str, float]]:
    rows: list[dict[str, float]] = json.loads(call("estimate", made, "--json", *options).out)["rows"]
    return rows


def test_intervals_hold_the_truth_and_options_change_them(made: Path) -> None:
    truth = (0.5, 0.3, 0.2, 0.0)
    rows = rows_of(made, "--level", "0.9999", "--target", "sample")
    assert all(row["low"] <= share <= row["high"] for row, share in zip(rows, truth, strict=True))
    width = [row["high"] - row["low"] for row in rows_of(made)]
    wider = [row["high"] - row["low"] for row in rows_of(made, "--simultaneous")]
    assert all(a < b for a, b in zip(width, wider, strict=True))
    assert rows_of(made, "--interval", "wilson") != rows_of(made, "--interval", "normal") != rows_of(made)
    assert sum(row["estimate"] for row in rows_of(made, "--decoder", "simplex")) == pytest.approx(1)
    assert [row["value"] for row in rows_of(made, "--top", 2)] == ["cat", "dog"]


def test_tables_are_aligned_and_labels_cannot_steer_a_terminal(made: Path) -> None:
    lines = call("estimate", made).out.decode().splitlines()
    assert lines[0].split() == ["value", "estimate", "std", "error", "low", "high"]
    assert len({len(line) for line in lines[:5]}) == 1 and lines[4].startswith(repr("[red]yak\x1b"))
    assert lines[5].startswith("100000 simulated reports through grr, epsilon 2;")
    header, *rows = call("estimate", made, "--csv").out.decode().splitlines()
    assert header == "value,estimate,std_error,low,high,simulation" and len(rows) == 4
    assert float(rows[0].split(",")[1]) == rows_of(made)[0]["estimate"]


# --- bad input --------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[Path, bytes]]:
    """A folder of broken things, and good ones to break others with; its files as they must stay."""
    folder = write_bad_files(tmp_path_factory.mktemp("bad"))
    return folder, files_in(folder)


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(("line", "said"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_sentence_and_leaves_nothing(
    line: str, said: str, bad: tuple[Path, dict[Path, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, before = bad
    monkeypatch.chdir(folder)
    done = call(*shlex.split(line), stdin=b"")
    assert said in done.err and done.code == 2, done.err
    assert done.err.startswith("sottovoce: ") and done.err.count("\n") == 1 and "Traceback" not in done.err
    assert files_in(folder) == before


def test_every_verb_is_walked_with_bad_input() -> None:
    verbs = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    verbs |= {group.name or "" for group in app.registered_groups}
    assert {line.split()[0] for line, _ in BAD.values()} - {"whisper"} == verbs


def test_an_end_without_a_count_is_not_taken_for_whole(raw: Path) -> None:
    asked = ["--column", "age", "--method", "grr", "--epsilon", 1, "--low", 0, "--high", 98, "--whole", "-o", "-"]
    failed = call("privatize", raw / "people.parquet", *asked)
    assert failed.code == 2
    piped = call("tally", "-", "-o", "-", stdin=failed.out)
    assert piped.code == 2 and piped.out == b""


@pytest.mark.parametrize("without", ["O_TMPFILE", "link", None])
def test_a_file_appears_whole_on_every_system(
    without: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_link(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    def interrupted(file: IO[bytes]) -> None:
        file.write(b"two")
        raise KeyboardInterrupt

    if without == "link":
        monkeypatch.setattr(os, "link", no_link)
    elif without is not None:
        monkeypatch.delattr(os, without, raising=False)
    path = tmp_path / "a.txt"
    with writing(str(path)) as file:
        file.write(b"one")
        assert not path.exists()
    assert path.read_bytes() == b"one" and path.stat().st_mode & 0o111 == 0
    with pytest.raises(FileProblem, match="exists"), writing(str(path)):
        raise AssertionError
    with pytest.raises(KeyboardInterrupt), writing(str(path), force=True) as file:
        interrupted(file)
    assert path.read_bytes() == b"one"
    (tmp_path / "link").symlink_to(path)
    with writing(str(tmp_path / "link"), force=True) as file:
        file.write(b"three")
    assert path.read_bytes() == b"three" and sorted(os.listdir(tmp_path)) == ["a.txt", "link"]
    # Secrets: for their owner alone, and not through a link that somebody has put there.
    before = os.umask(0)
    try:
        with writing(str(tmp_path / "secret"), secret=True) as file:
            file.write(b"secret")
    finally:
        os.umask(before)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    (tmp_path / "trap").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileProblem, match="exists"), writing(str(tmp_path / "trap"), secret=True):
        raise AssertionError
    with writing(str(tmp_path / "trap"), secret=True, force=True) as file:
        file.write(b"secret")
    assert not (tmp_path / "elsewhere").exists() and not (tmp_path / "trap").is_symlink()


# --- processes --------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_pipes_between_the_verbs(raw: Path) -> None:
    privatize = "sottovoce privatize - --column age --method olh --epsilon 2 --low 0 --high 99 --whole -o -"
    line = f"cat people.csv | {privatize} | sottovoce tally - -o - | sottovoce estimate - --json --top 5"
    done = shell(f"set -o pipefail; {line}", raw)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["n"] == N and len(found["rows"]) == 5


@pytest.mark.slow
def test_a_failed_write_and_a_closed_pipe_leave_nothing(raw: Path, tmp_path: Path) -> None:
    verb = f"sottovoce privatize {raw}/people.csv --column age --method oue --epsilon 1 --low 0 --high 99 --whole"
    full = shell(f"ulimit -f 4; {verb} -o out.parquet", tmp_path)
    assert (full.returncode, full.stderr) == (2, "sottovoce: The output cannot be written: File too large.\n")
    closed = shell(f"{verb} -o - | true; echo ${{PIPESTATUS[0]}}", tmp_path)
    assert closed.stdout == "2\n" and "was closed by its reader" in closed.stderr and closed.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def interrupts_ignored() -> Iterator[None]:
    """As in a job that a shell starts in the background; a child inherits it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


def heed_interrupts() -> None:
    """Runs in the child before its program: a shell in the foreground starts its programs so."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
@pytest.mark.usefixtures("interrupts_ignored")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_write_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    verb = "privatize - --format csv --column v --method grr --epsilon 1 --low 0 --high 9 --whole -o out.parquet"
    command = [sys.executable, "-m", "sottovoce", *verb.split()]
    with subprocess.Popen(
        command, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heed_interrupts
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b"v\n" + b"1\n" * (1 << 23))  # more than one block: some reports are written
        process.stdin.flush()
        time.sleep(0.5)
        process.send_signal(number)
        time.sleep(0.5)
        process.stdin.close()
        assert process.wait(PATIENCE) != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_label_that_the_terminal_cannot_show_is_spelled_out(tmp_path: Path) -> None:
    mechanism = sv.mechanism("grr", sv.Categories(["é", "e"]), epsilon=1)
    (tmp_path / "t.tally").write_bytes(mechanism.tally(mechanism.privatize(["é", "e"], seed=1)).to_bytes())
    done = shell("PYTHONIOENCODING=ascii sottovoce estimate t.tally", tmp_path)
    assert done.returncode == 0 and "simulation" in done.stderr and r"\xe9" in done.stdout


def test_the_version_is_printed() -> None:
    assert call("--version") == Done(0, f"sottovoce {sv.__version__}\n".encode(), "")


def test_help_is_quick_because_nothing_heavy_is_loaded() -> None:
    code = "import sys, sottovoce.cli.app; print(*{'numpy', 'numba', 'pyarrow', 'pandas', 'scipy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "\n"


# --- the page ---------------------------------------------------------------------------------------------
def printed(command: str) -> str:
    """What a line of the page prints; a verb without a pipe is run in this process, which spares its imports."""
    words = shlex.split(command)
    if words[0] == "sottovoce" and "|" not in words:
        done = call(*words[1:])
        return done.err + done.out.decode()
    piped = shell(command, Path.cwd())
    return piped.stderr + piped.stdout


@pytest.mark.slow
def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line after `$ ` is run, all in one folder; the lines below it are what it prints, `...` is anything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = re.sub(r"\\\n", "", part).partition("\n")
            pattern, found = ".*".join(map(re.escape, shown.split("..."))), printed(command)
            assert re.fullmatch(pattern, found, re.DOTALL), (command, found)
