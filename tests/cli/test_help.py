"""Help, version and completion, with and without the extra; options that are given once; sentences about one thing."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
import typer.main

import sottovoce as sv
from sottovoce.cli import bare
from sottovoce.cli.app import app
from sottovoce.cli.bare_verbs import BARE
from sottovoce.cli.help.groups import GROUPS, ORDER, examples
from sottovoce.core.language.plural import plural
from sottovoce.core.specs import canonical
from tests.cli.test_cli import BARE as WITHOUT_EXTRAS
from tests.cli.test_cli import process
from tests.cli.test_files import Done, call, shell
from tests.each import for_each

COMMANDS = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]

PLAN = "plan mean --low 0 --high 9 --epsilon 1 --participants 9"


# --- help -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("verb", COMMANDS)
def test_help_names_each_argument_once(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    done = call(verb, "--help")
    usage = next(line for line in done.out.decode().splitlines() if line.strip().lower().startswith("usage:"))
    assert done.code == 0 and f"sottovoce {verb}" in usage
    assert "[[" not in usage and usage.count("...") <= 1, usage


def test_several_files_are_shown_as_one_word() -> None:
    assert "[OPTIONS] [FILE]..." in call("audit", "--help").out.decode()
    assert "[OPTIONS] [FILE]..." in call("tally", "-h").out.decode()


def test_help_groups_the_commands_by_task_with_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = call("--help").out.decode()
    places = [shown.index(f" {title} ─") for title in GROUPS]
    assert places == sorted(places) and sorted(ORDER) == sorted(COMMANDS)
    for command in ORDER:
        assert examples(command), command
        if command not in BARE:
            assert f"sottovoce {examples(command)[0]}" in call(command, "--help").out.decode()


@for_each("line", [line for command in ORDER for line in examples(command)])
def test_examples_of_the_help_have_options_that_exist(line: str) -> None:
    name, *rest = shlex.split(line)
    command = COMMANDS[name]
    if name == "study":
        command, rest = command.commands[rest[0]], rest[1:]
    if name in BARE:
        shown = call(name, *rest[:1], "--help").out.decode()
        assert all(option in shown for option in rest if option.startswith("--"))
        return
    context = command.context_class(command, info_name=name)
    command.make_parser(context).parse_args(args=rest)  # `study new` would ask questions


# These need a collector, another host, an interruption or minutes: other tests run them.
ELSEWHERE = {
    *("answer", "audit-program", "bench", "chaos", "demo", "device", "reproduce", "restore", "shuffle", "dossier"),
    *("plan sleep.toml", "explain sleep.toml", "simulate", "audit --timing", "study new", "serve", "invite"),
    *("status", "export", "close", "token", "backup", "report", "compare"),
}


@pytest.mark.slow
def test_examples_of_the_help_run_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["name", "title", "owner", "contact", "purpose", "unit", "epsilon"]
    facts = dict(zip(asked, ["sleep", "Sleep", "Institute", "dpo@example.org", "To plan.", "person", "1"], strict=True))
    new = [word for name, value in facts.items() for word in (f"--{name}", value)]
    assert call("study", "new", "sleep.toml", *new).code == 0
    Path("people.csv").write_text("city\n" + "Rome\nMilan\n" * 50, encoding="utf-8")
    spec = ["--write-spec", "city.json"]
    for line in (line for command in ORDER for line in examples(command)):
        if not any(line == one or line.startswith(f"{one} ") for one in ELSEWHERE):
            done = call(*shlex.split(line), *(spec if line.startswith("privatize") else []))
            assert done.code == 0, (line, done.err)


@for_each(
    "line,said",
    [
        ("privatise", "not one of the commands. Did you mean privatize?"),
        ("study chek x.toml", "not one of the commands. Did you mean check?"),
        ("plan mean --particpants 5", "unknown option. Did you mean --participants?"),
        ("estimate x.tally --level 95", "write 0.95 for 95 %"),
        ("export x.sqlite -o x --level 99", "write 0.99 for 99 %"),
        (f"{PLAN} --level 0,95", "The value of --level must be a number; see --help. Write a decimal point"),
        (f"{PLAN} --target sampel", "The value of --target must be 'population' or 'sample'. Did you mean sample?"),
        ("plan mean --low 0 --high 9 --epsilon 0,5 --participants 9", "--epsilon must be a number in (0, 20]. Write a"),
        ("plan mean --low 0,5 --high 9 --epsilon 1 --participants 9", "--low must have a decimal point, not a comma"),
        ("plan mean --low 9 --high 1 --whole --epsilon 1 --participants 9", "--high must be larger than --low."),
        ("plan mean --epsilon 1 --participants 9", "The range of the answers is missing: give --low and --high"),
        ("plan frequency --low 0 --high 9 --epsilon 1 --participants 9", "add --whole, or plan a distribution"),
        ("plan average --low 0 --high 9", 'Do you mean "mean"?'),
        ("plan range --low 0 --high 9 --epsilon 1 --participants 9", "A plan for range needs --from and --to."),
        (f"{PLAN} --from 3", "--from does not belong to a plan for mean: leave it out."),
        ("answer x.json --lmit 1", "There is an unknown option. Did you mean --limit?"),
        ("explain 1 --choices x", "The value of --choices is missing or invalid."),
        ("tally --sql duckdb", "--sql needs one specification, whose reports a database counts: --spec FILE."),
    ],
)
def test_near_misses_are_named_and_what_was_typed_is_not(line: str, said: str) -> None:
    done = call(*line.split())
    assert done.code == 2 and said in done.err
    assert not {"privatise", "chek", "--particpants", "sampel", "average", "--lmit"} & set(done.err.split())


def test_the_version_is_an_option_of_the_program() -> None:
    assert "--version" in call("--help").out.decode()
    for arguments in (["--version"], ["--version", "tally"]):
        assert call(*arguments) == Done(0, f"sottovoce {sv.__version__}\n".encode(), "")


# --- the bare install -------------------------------------------------------------------------------------
def test_the_bare_help_knows_the_commands_of_the_app() -> None:
    documented = {name: (command.help or "").partition("\n")[0] for name, command in COMMANDS.items()}
    assert bare.commands() == documented and set(BARE) < set(documented)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]], ids=str)
def test_the_bare_install_has_help(arguments: list[str]) -> None:
    code, out, err = process(*arguments, program=WITHOUT_EXTRAS)
    assert (code, err) == (0, "")
    here, later = out.split("After pip install 'sottovoce[analysis]':")
    for name in COMMANDS:
        assert f"  {name} " in (here if name in BARE else later)


def test_the_bare_install_has_help_for_a_command() -> None:
    code, out, err = process("tally", "--help", program=WITHOUT_EXTRAS)
    assert (code, err) == (0, "") and out.startswith("sottovoce tally: Count ") and "pip install" in out
    code, out, err = process("sextuple", "--help", program=WITHOUT_EXTRAS)
    assert (code, out) == (2, "") and "pip install" in err and "sextuple" not in err
    assert process("--version", program=WITHOUT_EXTRAS)[:2] == (0, f"sottovoce {sv.__version__}\n")


def test_with_the_extra_help_is_that_of_the_app() -> None:
    assert not bare.is_bare()
    assert b"--install-completion" in call("--help").out


# --- completion -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "word", "found"),
    [("sottovoce ta", 1, "tally"), ("sottovoce tally --stri", 2, "--strict"), ("sottovoce repr", 1, "reproduce")],
)
def test_a_shell_completes(line: str, word: int, found: str, tmp_path: Path) -> None:
    command = f"_SOTTOVOCE_COMPLETE=complete_bash COMP_WORDS='{line}' COMP_CWORD={word} sottovoce"
    done = shell(command, tmp_path)
    assert (done.stdout.split(), done.stderr) == ([found], "")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no bash")
def test_the_script_for_a_shell_is_printed(tmp_path: Path) -> None:
    done = shell("sottovoce --show-completion; exit $?", tmp_path)  # two commands, so that bash is the parent
    assert done.returncode == 0 and "complete -o default -F _sottovoce_completion sottovoce" in done.stdout


# --- options that are given once --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("privatize people.csv --column v --column w -o out.parquet", "--column"),
        ("privatize people.csv --column=v --epsilon 1 --column=v -o out.parquet", "--column"),
        ("tally some.hex -o a.tally -o b.tally", "--output"),
        ("estimate some.tally --level 0.9 --level 0.95", "--level"),
    ],
)
def test_an_option_with_one_value_is_given_once(line: str, option: str) -> None:
    said = f"sottovoce: The option {option} takes one value and is given twice.\n"
    assert call(*line.split()) == Done(2, b"", said)


def test_flags_and_lists_may_be_repeated() -> None:
    assert call("methods", "--json", "--json").code == 0
    assert "given twice" not in call("audit", "--all", "--name", "grr", "--name", "oue").err


@pytest.mark.parametrize("option", ["--limit", "--value", "--lifetime-limit"])
def test_a_device_takes_no_second_limit_or_value(option: str, tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_bytes(canonical(sv.mechanism("grr", sv.Integers(0, 9), epsilon=1).spec()))
    done = call("answer", tmp_path / "spec.json", option, "1", option, "2")
    assert done == Done(2, b"", "sottovoce: sottovoce answer takes each option once; one is given twice.\n")


def test_explain_takes_each_option_once() -> None:
    assert call("explain", "1", "--choices", "2").code == 0
    assert "given twice" in call("explain", "1", "--choices", "2", "--choices", "3").err


# --- one thing or several ---------------------------------------------------------------------------------
def test_one_is_not_several(tmp_path: Path) -> None:
    assert [plural(n, "report") for n in (0, 1, 2)] == ["0 reports", "1 report", "2 reports"]
    (tmp_path / "one.csv").write_text("v\n7\n")
    asked = ["--method", "grr", "--epsilon", 1, "--low", 0, "--high", 9, "--whole", "-o", tmp_path / "r.parquet"]
    done = call("privatize", tmp_path / "one.csv", "--column", "v", *asked)
    assert done.err == "sottovoce: 1 report through grr, epsilon 1 each.\n"
    assert "\n1 report through grr, epsilon 1;" in call("estimate", tmp_path / "r.parquet").out.decode()
    assert "with 1 report at epsilon 1" in call("estimate", tmp_path / "r.parquet").out.decode()
    missing = call("privatize", tmp_path / "one.csv", "--column", "w", *asked, "--force")
    assert "occurs 0 times. The header has 1 column; --public-header" in missing.err
    (tmp_path / "one.csv").write_text("v\n70\n")
    outside = call("privatize", tmp_path / "one.csv", "--column", "v", *asked, "--force")
    assert "1 of 1 value of column 1 of 1 lies outside the domain, the first in row 1" in outside.err
