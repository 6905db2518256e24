"""No command prints an answer when something is wrong, wherever the answer stands: in a file, an argument or a pipe."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from sottovoce.cli import main
from sottovoce.cli.app import app
from sottovoce.cli.bare_verbs import BARE
from tests.cli.bad_files import write_bad_files
from tests.cli.bad_lines import BAD
from tests.whole.sentinel import NUMBER, TEXT, Seen, watched

COMMANDS: dict[str, Any] = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
GRR = "--method grr --epsilon 1 --low 0 --high 9 --whole"
# For each command a line that works in the folder of the fixture, or that fails for another reason; `bench` and `demo`
# would take long.
LINES = {
    "answer": "answer spec.json --value 3",
    "audit": "audit spec.json",
    "audit-program": "audit-program --claimed 1 --value 3 --value 4 --samples 100 false",
    "backup": "backup nowhere.sqlite -o out.backup",
    "bench": "bench --no-such-option",
    "chaos": "chaos --kills 0",
    "close": "close nowhere.sqlite",
    "compare": "compare good.parquet good.parquet",
    "demo": "demo --epsilon -1",
    "device": "device nowhere",
    "dossier": "dossier study.toml --participants 1000 -o out",
    "estimate": "estimate good.parquet",
    "explain": "explain 1",
    "export": "export nowhere.sqlite -o out.folder",
    "invite": "invite nowhere.sqlite --count 3 -o out.txt",
    "methods": "methods",
    "plan": "plan frequency --low 0 --high 9 --whole --epsilon 1 --participants 1000",
    "privatize": f"privatize good.csv --column v {GRR} -o out.parquet --force",
    "report": "report nowhere.sqlite -o out.html",
    "reproduce": "reproduce no-such-experiment",
    "restore": "restore nowhere.sqlite --store out.sqlite",
    "serve": "serve nowhere.toml --store out.serve",
    "shuffle": "shuffle",
    "simulate": "simulate study.toml good.csv",
    "status": "status nowhere.sqlite",
    "study": "study check study.toml",
    "tally": "tally good.parquet -o out.tally --force",
    "token": "token nowhere.sqlite --name anna --scope read",
}
# Every place where a command takes a file of somebody's making.
ROLES = [
    f"privatize FILE --column v {GRR} -o out.parquet --force",
    f"privatize FILE --column v {GRR} --format csv -o out.parquet --force",
    f"privatize FILE --column text {GRR} --format parquet -o out.parquet --force",
    f"privatize FILE --column v {GRR} --format arrow -o - --output-format csv --write-spec out.json --force",
    f"privatize FILE --column v {GRR.replace('grr', 'piecewise')} --format csv -o out.parquet --force",
    "privatize good.csv --column v --spec FILE -o out.parquet --force",
    "privatize good.csv --column v --method grr --epsilon 1 --categories-file FILE -o out.parquet --force",
    f"privatize FILE --column v,text {GRR.replace('grr', 'duchi-linf')} --format csv -o out.parquet --force",
    f"privatize FILE --column v {GRR} --missing skip -o out.parquet --force",
    "plan frequency --categories-file FILE --epsilon 1 --participants 1000",
    "study check FILE",
    "simulate FILE good.csv",
    "simulate study.toml FILE --participants 1000",
    "explain FILE --participants 1000",
    "dossier FILE --participants 1000 -o out",
    "compare FILE good.parquet",
    "report FILE -o out.html --force",
    "serve FILE --participants 1000 --store out.serve --host nowhere.invalid",
    "status FILE",
    "backup FILE -o out.backup",
    "restore FILE --store out.restored",
    "export FILE -o out.folder",
    "close FILE",
    "invite FILE --count 3 -o out.txt",
    "token FILE --name anna --scope read",
    "tally FILE -o out.tally --force",
    "tally FILE --format csv --spec spec.json -o out.tally --force",
    "tally FILE --format arrow --spec spec.json -o out.tally --force",
    "tally FILE --format hex --spec spec.json -o out.tally --force",
    "tally FILE --format hex --strict --spec spec.json -o out.tally --force",
    "tally FILE --format messages --spec spec.json -o out.tally --force",
    "tally FILE --format csv --refused out.csv --spec spec.json -o out.tally --force",
    "tally good.parquet --spec FILE -o out.tally --force",
    "estimate FILE --format parquet --spec spec.json",
    "audit FILE",
    "answer FILE --value 3",
    "answer FILE --value 3 --device out.device",
    "device FILE",
]
PIPES = [
    f"privatize - --column v {GRR} -o out.parquet --force",
    "tally - --spec spec.json -o out.tally --force",
    "answer spec.json",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every malformed file of the suite, with the answer in it."""
    return write_bad_files(tmp_path_factory.mktemp("made"), TEXT)


@pytest.fixture
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def files(folder: Path) -> list[Path]:
    """Those that were there from the beginning."""
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(("out.", ".")))


def call(arguments: list[str], stdin: bytes = b"") -> tuple[int, Seen]:
    """Run a command in this process and watch it."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)))  # type: ignore[arg-type]
    try:
        with watched() as seen:
            try:
                code = main(arguments)
            except SystemExit as left:  # the help of argparse
                code = int(left.code or 0)
            except Exception as problem:  # which nobody should see
                seen.errors.append(problem)
                code = 1
    finally:
        sys.stdin = before
    return code, seen


def nothing_shown(arguments: list[str], stdin: bytes = b"") -> int:
    code, seen = call(arguments, stdin)
    assert code in (0, 2), (arguments, seen.shown())
    # A command that did what it was asked to may print a number that it was given.
    marks = [mark for mark in seen.marks() if code or mark == TEXT]
    assert not marks, (arguments, seen.shown())
    return code


def test_every_command_has_a_line() -> None:
    assert set(LINES) == set(COMMANDS) >= set(BARE)
    files = {"plan", "privatize", "tally", "estimate", "audit", "answer", "study", "simulate", "dossier", "device"}
    files |= {
        "compare",
        "report",
        "explain",
        "serve",
        "status",
        "backup",
        "restore",
        "export",
        "close",
        "invite",
        "token",
    }
    assert {role.split()[0] for role in ROLES} == files


# --- files ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "role",
    [pytest.param(role, marks=() if place in (1, 5) else pytest.mark.slow) for place, role in enumerate(ROLES)],
)
def test_no_file_is_shown_in_any_place(role: str, folder: Path) -> None:
    refused = 0
    for path in files(folder):
        refused += nothing_shown([path.name if part == "FILE" else part for part in shlex.split(role)]) == 2
    assert refused > len(files(folder)) // 2


@pytest.mark.slow
@pytest.mark.parametrize("line", PIPES)
def test_no_pipe_is_shown(line: str, folder: Path) -> None:
    for path in files(folder):
        nothing_shown(shlex.split(line), path.read_bytes())


@pytest.mark.slow
def test_the_bad_lines_of_the_suite_show_no_answer(folder: Path) -> None:
    for line, _ in BAD.values():
        if "--public-header" not in line:
            assert nothing_shown(shlex.split(line)) == 2


def test_a_header_is_shown_only_where_its_user_says_that_it_is_public(folder: Path) -> None:
    line = shlex.split(f"privatize headless.csv --column v {GRR} -o out.parquet --force")
    assert nothing_shown(line) == 2
    assert call([*line, "--public-header"])[1].marks() == [TEXT]


# --- arguments --------------------------------------------------------------------------------------------
def misplaced(command: str) -> Iterator[list[str]]:
    """The line of a command with an answer in each place where an argument may stand."""
    line = shlex.split(LINES[command])
    for answer in (f"--{TEXT}", f"-{TEXT}", TEXT):
        yield from ([answer], [command, answer], [answer, *line], [*line, answer])
    for answer in (TEXT, str(NUMBER)):
        for place in range(1, len(line)):
            yield [*line[:place], answer, *line[place + 1 :]]
        for parameter in COMMANDS[command].params:
            yield from ([*line, option, answer] for option in parameter.opts[:1] if option.startswith("-"))


BARE_OPTIONS = {"answer": ("--value", "--limit"), "explain": ("--prior", "--choices", "--answers", "--json")}


@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=() if name in BARE else pytest.mark.slow) for name in COMMANDS]
)
def test_no_argument_is_shown(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write_bad_files(tmp_path, TEXT))  # some lines write files
    refused = 0
    for arguments in misplaced(command):
        refused += nothing_shown(arguments, stdin=TEXT.encode()) == 2
    for option in BARE_OPTIONS.get(command, ()):
        for answer in (TEXT, str(NUMBER)):
            nothing_shown([*shlex.split(LINES[command]), option, answer])
    assert refused > 7


@pytest.mark.parametrize("error", [RuntimeError, NotImplementedError])
def test_an_error_that_nobody_foresaw_shows_its_place_only(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(target: str) -> Any:
        raise error(TEXT)

    monkeypatch.setattr("sottovoce.cli.load", fail)
    code, seen = call(["methods"])
    assert code == 1 and not seen.marks()
    assert seen.shown().startswith(f"sottovoce: This is a bug in sottovoce: {error.__name__} in main (line ")
