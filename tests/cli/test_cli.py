"""The command line: results where a person or a program reads them, one sentence and exit code 2 for bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.cli.grid import EPSILONS
from sottovoce.core.domain import Above, Bins, Domain
from sottovoce.core.specs import canonical
from tests.patience import PATIENCE

DOMAIN = sv.Categories(["lark", "owl", "neither"])
PRIVATE = "sextuple-secret"
THIRD_PARTIES = ("typer", "rich", "click", "numpy", "scipy", "numba", "pandas", "pyarrow", "cryptography", "matplotlib")

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Exit code, standard output, standard error."""

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(list(arguments))
        except SystemExit as end:  # argparse's --help
            code = int(end.code or 0)
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture
def spec(tmp_path: Path) -> str:
    path = tmp_path / "question.json"
    path.write_bytes(canonical(sv.mechanism("grr", DOMAIN, epsilon=1.0).spec()))
    return str(path)


def process(*arguments: str, stdin: bytes = b"", program: str | None = None) -> tuple[int, str, str]:
    """The same in a process of its own; `program` is Python code that gets the arguments."""
    start = ["-m", "sottovoce"] if program is None else ["-c", program]
    done = subprocess.run([sys.executable, *start, *arguments], input=stdin, capture_output=True, timeout=600)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def one_sentence(result: tuple[int, str, str], *texts: str) -> None:
    """Exit code 2, nothing on standard output, one sentence on standard error."""
    code, out, err = result
    assert (code, out) == (2, ""), result
    assert err.startswith("sottovoce: ") and err.endswith(".\n") and err.count("\n") == 1, err
    assert "Traceback" not in err
    for text in texts:
        assert text in err, err


# --- demo, methods ----------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_demo_shows_truth_estimates_intervals_and_the_exact_epsilon() -> None:
    """In a process without a terminal: it ends by itself and opens no page."""
    code, out, err = process("demo")
    assert (code, err) == (0, "")
    rows = re.findall(r"(0\.\d{4})\D+(-?0\.\d{4})\D+?(-?0\.\d{4}) to (-?0\.\d{4})\D+?(yes|no)", out)
    assert len(rows) == 5
    truth = [float(row[0]) for row in rows]
    assert truth == [0.18, 0.37, 0.2, 0.19, 0.06]
    for true, estimate, low, high, inside in ((*map(float, row[:4]), row[4]) for row in rows):
        assert low <= estimate <= high
        assert inside == ("yes" if low <= true <= high else "no")
    assert re.search(r"Exact epsilon of the shipped sampler: (1|0\.9999\d*) \(enumerated; claimed 1\S*, holds\)", out)
    assert re.search(r"\b[0-9a-f]{34}\b", out), "what one device sent"
    assert "A picture" not in out


def test_the_demo_as_json(run: Run) -> None:
    code, out, err = run("demo", "--json", "--participants", "5000", "--epsilon", "2")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert 2 - 1e-6 <= found["epsilon"] <= 2
    assert found["mechanism"] in sv.names()
    assert len(found["rows"]) == 5
    assert sum(row["truth"] for row in found["rows"]) == pytest.approx(1)
    for row in found["rows"]:
        assert row["low"] <= row["estimate"] <= row["high"]
        assert abs(row["estimate"] - row["truth"]) < 0.1


def test_the_picture_of_the_readme_is_that_of_the_demo(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "demo.svg"
    assert run("demo", "--json", "--picture", str(path))[0] == 0
    shown = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "demo.svg"
    assert shown.read_bytes() == path.read_bytes(), "Run `sottovoce demo --picture docs/pictures/demo.svg --force`."
    one_sentence(run("demo", "--picture", str(path)), "The picture")


def test_the_demo_draws_in_characters_too() -> None:
    from sottovoce.cli.demo import _lines

    lines = _lines([{"answer": "a", "truth": 0.1, "estimate": 0.12, "low": 0.08, "high": 0.16}])
    assert lines[0] == f"{'a':>16}  {' ' * 8}--|-o----"
    assert _lines([{"answer": "a", "truth": 0.12, "estimate": 0.12, "low": -1, "high": 2}])[0].count("*") == 1


@pytest.mark.parametrize("participants", [1000, 1001, 12_345])
def test_the_demo_asks_as_many_people_as_it_says(run: Run, participants: int) -> None:
    rows = json.loads(run("demo", "--json", "--participants", str(participants))[1])["rows"]
    people = [row["truth"] * participants for row in rows]
    assert sum(people) == pytest.approx(participants)
    assert all(abs(number - round(number)) < 1e-6 for number in people)


def test_the_page_of_the_demo_calls_no_one() -> None:
    from sottovoce.cli.demo import ANSWERS, _rows, page

    m = sv.mechanism("grr", sv.Categories(ANSWERS), epsilon=1.0)
    estimate = m.estimate(m.tally(m.privatize(ANSWERS * 300, seed=0)))
    text = page(estimate, sv.audit(m), _rows(estimate, [0.2] * 5))
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")  # a name, which nobody fetches
    assert "<script" not in text and "src=" not in text
    assert all(answer in text for answer in ANSWERS)


def test_methods_are_listed(run: Run) -> None:
    code, out, err = run("methods", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert [row["name"] for row in rows] == sv.names()
    assert all(row["about"].endswith(".") for row in rows)
    code, out, _ = run("methods")
    assert code == 0 and all(name in out for name in sv.names())


def test_help_lists_every_verb(run: Run) -> None:
    for arguments in ((), ("--help",)):
        code, out, _ = run(*arguments)
        assert code == 0
        assert all(verb in out for verb in ("demo", "methods", "audit", "answer"))
    code, out, _ = run("audit", "--help")
    assert code == 0 and "--all" in out


UNUSED = {"the", "privkv"}  # they say why budget is left


# --- audit ------------------------------------------------------------------------------------------
def check_rows(rows: list[dict[str, object]]) -> None:
    for row in rows:
        assert {"name", "parameters", "claimed", "exact", "how", "ok"} <= set(row)
        assert row["ok"] is True, row
        assert row["how"]
        claimed, exact = float(str(row["claimed"])), float(str(row["exact"]))
        parts = row["parameters"]["dimensions"] or 1  # type: ignore[index]  # each coordinate may waste a little
        # What is left of a budget for a stated reason is checked by the contract.
        assert exact <= claimed and (claimed - 1e-6 * parts <= exact or row["name"] in UNUSED), row


@pytest.mark.slow
def test_one_mechanism_is_audited(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.cli.grid.SIZES", (2, 16))
    code, out, err = run("audit", "--name", "grr", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)
    check_rows(rows)
    assert {row["name"] for row in rows} == {"grr"}
    assert len({(row["claimed"], row["parameters"]["size"]) for row in rows}) == len(rows) == 2 * len(EPSILONS)
    code, out, _ = run("audit", "--name", "grr")
    assert code == 0 and "NO" not in out and out.count("yes") == len(rows)


@pytest.mark.slow
def test_everything_that_is_registered_is_audited(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """At one budget and two sizes; the contract audits every mechanism at others, and the whole grid is long."""
    monkeypatch.setattr("sottovoce.cli.grid.SIZES", (2, 16))
    monkeypatch.setattr("sottovoce.cli.grid.EPSILONS", ("1",))
    check_grid(run("audit", "--all", "--json"), {"1"})


@pytest.mark.long
def test_the_whole_grid_is_audited() -> None:
    check_grid(process("audit", "--all", "--json"), set(EPSILONS))


def check_grid(result: tuple[int, str, str], epsilons: set[str]) -> None:
    code, out, err = result
    assert (code, err) == (0, "")
    rows = json.loads(out)
    check_rows(rows)
    assert list(dict.fromkeys(row["name"] for row in rows)) == sv.names()
    for name in sv.names():
        mine = [row for row in rows if row["name"] == name]
        assert {row["claimed"] for row in mine} == epsilons
        assert len({row["fingerprint"] for row in mine}) == len(mine)


def test_an_audit_that_fails_ends_with_code_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.cli.grid.SIZES", (3,))
    monkeypatch.setattr("sottovoce.cli.grid.WASTE", -1.0)  # nothing can waste less than nothing
    code, out, _ = run("audit", "--name", "grr", "--json")
    assert code == 1
    assert not any(row["ok"] for row in json.loads(out))
    code, out, _ = run("audit", "--name", "grr")
    assert code == 1 and "NO" in out


# --- bad input --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["audit"], "--all"),
        (["audit", "--json"], "--all"),
        (["audit", "--name", "nope"], "no mechanism of this name. Known: 1bit-mean"),
        (["audit", "--name", ""], "no mechanism of this name. Known: 1bit-mean"),
        (["audit", "--xyzzy"], "The arguments of sottovoce audit have an unknown option"),
        (["audit", "--name"], "An option lacks its value, or has a value and takes none"),
        (["audit", "--json=x"], "An option lacks its value, or has a value and takes none"),
        (["privatize"], "INPUT is missing"),
        (["privatize", "file"], "--column is missing"),
        (["nope"], "The first argument is not one of the commands"),
        (["--bogus"], "The first argument is not one of the commands"),
        (["methods", "extra"], "The arguments of sottovoce methods have one too many"),
        (["demo", "--epsilon", "-1"], "(0, 20]"),
        (["demo", "--epsilon", "nan"], "(0, 20]"),
        (["demo", "--epsilon", "much"], "--epsilon"),
        (["demo", "--participants", "5"], "1000"),
        (["demo", "--participants", "1e5"], "--participants"),
        (["answer"], "SPEC"),
        (["answer", "spec", "--limit", "much"], "--limit"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_bad_input_is_one_sentence_and_code_2(run: Run, arguments: list[str], text: str) -> None:
    one_sentence(run(*arguments), text)


# --- answer -----------------------------------------------------------------------------------------
def test_an_answer_is_a_message_in_hexadecimal(run: Run, spec: str) -> None:
    code, out, err = run("answer", spec, "--value", "owl")
    assert code == 0
    assert re.fullmatch(r"[0-9a-f]{34}\n", out)
    assert err == "epsilon 1, computed from the channel\n"
    m = sv.mechanism("grr", DOMAIN, epsilon=1.0)
    messages = [bytes.fromhex(run("answer", spec, "--value", "owl")[1]) for _ in range(20)]
    assert len({message[:16] for message in messages}) == 20, "ids are fresh"
    assert m.tally(messages).n == 20


@pytest.mark.parametrize("stdin", [b"owl\n", b"owl", b"owl\r\n", b"owl\nlark\n"])
def test_an_answer_is_read_from_standard_input(spec: str, stdin: bytes) -> None:
    code, out, _ = process("answer", spec, stdin=stdin)
    assert code == 0 and re.fullmatch(r"[0-9a-f]{34}\n", out)


@pytest.mark.parametrize(
    ("domain", "value"),
    [
        (sv.Integers(-5, 5), "-3"),
        (sv.Categories([10, 20]), "20"),
        (sv.Categories(["10", "20"]), "20"),
        (Bins.even(sv.Interval(0, 1), 4), "0.3"),
        (Above(sv.Integers(0, 9), 4), "7"),
        (sv.Categories(["ja", "näin"]), "näin"),
    ],
    ids=str,
)
def test_what_a_person_types_is_read_as_the_domain_holds_it(
    run: Run, tmp_path: Path, domain: Domain, value: str
) -> None:
    for name in ("grr", "oue", "olh"):
        m = sv.mechanism(name, domain, epsilon=2.0)
        path = tmp_path / "question.json"
        path.write_bytes(canonical(m.spec()))
        code, out, _ = run("answer", str(path), "--value", value)
        assert code == 0
        assert m.tally([bytes.fromhex(out)]).n == 1


def test_a_limit_refuses_what_tells_more(run: Run, spec: str) -> None:
    assert run("answer", spec, "--value", "owl", "--limit", "1")[0] == 0
    one_sentence(run("answer", spec, "--value", "owl", "--limit", "0.99"), "epsilon 1, more than the limit")
    one_sentence(run("answer", spec, "--value", "owl", "--limit", "nan"))


def test_a_typed_limit_is_a_decimal(run: Run, tmp_path: Path) -> None:
    """As a float a limit of 1.15 would lie below the claim of 1.15."""
    path = tmp_path / "question.json"
    path.write_bytes(canonical(sv.mechanism("grr", sv.Integers(0, 3), epsilon="1.15").spec()))
    assert run("answer", str(path), "--value", "1", "--limit", "1.15")[0] == 0
    one_sentence(run("answer", str(path), "--value", "1", "--limit", "1.1499"), "more than the limit")


def test_bad_specifications_are_refused(run: Run, tmp_path: Path) -> None:
    good = canonical(sv.mechanism("grr", DOMAIN, epsilon=1.0).spec())
    path = tmp_path / "question.json"
    for bad in (b"", b"{}", b"[1]", b"\xff", good[:-1], good.replace(b'"epsilon":"1"', b'"epsilon":"0.5"')):
        path.write_bytes(bad)
        result = run("answer", str(path), "--value", PRIVATE)
        one_sentence(result)
        assert PRIVATE not in result[2]


def test_a_file_that_cannot_be_read_is_named_by_its_role(run: Run, tmp_path: Path) -> None:
    one_sentence(run("answer", str(tmp_path / "none.json"), "--value", "owl"), "The specification", "No such file")
    one_sentence(run("answer", str(tmp_path), "--value", "owl"), "The specification", "Is a directory")


def test_a_private_value_is_never_echoed(run: Run, spec: str, tmp_path: Path) -> None:
    """Outside the domain, in the wrong place, behind a mistyped option, in a wrong encoding."""
    numbers = tmp_path / "numbers.json"
    numbers.write_bytes(canonical(sv.mechanism("grr", sv.Integers(0, 9), epsilon=1.0).spec()))
    for arguments in (
        ["answer", spec, "--value", PRIVATE],
        ["answer", str(numbers), "--value", PRIVATE],
        ["answer", spec, PRIVATE],
        ["answer", spec, "--valeu", PRIVATE],
        ["answer", spec, f"--valeu={PRIVATE}"],
        ["answer", spec, "--value", "owl", PRIVATE],
    ):
        result = run(*arguments)
        one_sentence(result)
        assert PRIVATE not in result[2]
    for stdin in (PRIVATE.encode(), b"", b"\xff" + PRIVATE.encode()):
        result = process("answer", spec, stdin=stdin)
        one_sentence(result)
        assert PRIVATE not in result[2]


# --- the bare install -------------------------------------------------------------------------------
BARE = f"""
import sys
for name in {THIRD_PARTIES!r}:
    sys.modules[name] = None  # an import of it fails as if it were not installed
from sottovoce.cli import main
raise SystemExit(main())
"""


def test_answer_needs_nothing_but_the_standard_library(spec: str) -> None:
    code, out, _ = process("answer", spec, "--value", "owl", program=BARE)
    assert code == 0 and re.fullmatch(r"[0-9a-f]{34}\n", out)
    code, out, err = process("answer", "--help", program=BARE)
    assert (code, err) == (0, "") and "--limit" in out


@pytest.mark.parametrize("arguments", [["demo"], ["methods", "--json"], ["audit", "--all"], ["nope"]], ids=str)
def test_other_verbs_name_the_extra_to_install(arguments: list[str]) -> None:
    one_sentence(process(*arguments, program=BARE), "pip install 'sottovoce[analysis]'")


def test_a_missing_package_behind_typer_is_named_too() -> None:
    only_numpy = BARE.replace(repr(THIRD_PARTIES), repr(("numpy",)))
    one_sentence(process("demo", program=only_numpy), "numpy", "pip install 'sottovoce[analysis]'")


def test_reproduce_says_how_to_get_the_experiments() -> None:
    alone = BARE.replace(repr(THIRD_PARTIES), repr(("sottovoce_experiments",)))
    one_sentence(
        process("reproduce", "list", program=alone), "run pip install ./experiments in a copy of the repository"
    )


# --- processes --------------------------------------------------------------------------------------
@pytest.mark.slow
def test_python_dash_m_is_the_same_program() -> None:
    script = Path(sys.executable).with_name("sottovoce")
    if script.exists():
        done = subprocess.run([script, "methods", "--json"], capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stdout) == process("methods", "--json")[:2]
    one_sentence(process("nope"), "not one of the commands")


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["methods"], ["methods", "--json"], ["demo"], ["--help"]], ids=" ".join)
def test_a_reader_that_goes_away_sees_no_traceback(arguments: list[str]) -> None:
    """As in `sottovoce audit --all | head -1`; here the reader is gone before the first line."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sottovoce", *arguments], stdout=writer, stderr=subprocess.PIPE, timeout=PATIENCE
        )
    finally:
        os.close(writer)
    assert done.stderr == b""
    assert done.returncode in (0, 1)


@pytest.mark.slow
def test_head_takes_its_line() -> None:
    command = f"{sys.executable} -m sottovoce methods | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stderr == "" and done.stdout.count("\n") == 1
