"""The audits of the command line: why a mechanism fails, and programs that are known by their reports only."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Subset
from sottovoce.core.specs import canonical
from sottovoce.core.statistic.outputs import CountOutputs

pytestmark = pytest.mark.slow

Capture = pytest.CaptureFixture[str]
PROGRAM = """
import sys
from sottovoce.core.coins import SeededCoins
value, count, numerator = map(int, sys.argv[1:4])
coins = SeededCoins(1000 * numerator + 2 * count + value)
for _ in range(count):
    coins.begin(1)
    print(bytes([value if coins.flip(numerator << 45) else 1 - value]).hex())
"""


def program(numerator: int) -> list[str]:
    """Randomized response that keeps an answer with this probability, in 256ths."""
    return [sys.executable, "-c", PROGRAM, "{value}", "{count}", str(numerator)]


TWO = ["--value", "0", "--value", "1"]


def test_a_program_that_loses_more_than_it_claims_is_refuted(capsys: Capture) -> None:
    code = main(["audit-program", "--claimed", "1", *TWO, "--samples", "5000", *program(230)])
    said = capsys.readouterr()
    assert (code, said.err) == (1, "")
    first, second = said.out.splitlines()
    assert first.startswith("REFUTED: epsilon 1 is claimed, at least 1.") and "confidence 1 - 1e-06" in first
    assert second.startswith("Why: the report is b'") and "of 3500 reports of value" in second


def test_a_program_that_keeps_its_claim_is_not_refuted(capsys: Capture) -> None:
    line = ["audit-program", "--claimed", "1", *TWO, "--samples", "5000"]
    assert main([*line, *program(180)]) == 0
    assert capsys.readouterr().out.startswith("Not refuted")
    assert main([*line, "--json", *program(180)]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["refuted"] is False and row["claimed"] == "1" and sorted(row["values"]) == [1, 2]
    assert row["samples"] == 3500 and row["drawn"] == 10_000 and 0 < row["epsilon_lower"] < 1


def test_a_program_without_a_count_is_started_for_each_report_of_a_smaller_audit(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sottovoce.cli.program.SINGLE_SAMPLES", 100)
    code = main(["audit-program", "--claimed", "1", *TWO, "--lines", "text", "echo", "{value}"])
    out = capsys.readouterr().out
    assert code == 1 and "200 reports" in out and "70 of 70 reports" in out


def test_nothing_found_is_said_to_prove_nothing(capsys: Capture) -> None:
    same = [sys.executable, "-c", "import sys; print('00\\n' * int(sys.argv[1]), end='')", "{count}"]
    assert main(["audit-program", "--claimed", "1", *TWO, "--samples", "200", *same]) == 0
    assert "nothing was found in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([*TWO, "no-such-program-here"], "The program cannot be run: No such file or directory."),
        ([*TWO, "false"], "The program ended with code 1."),
        ([*TWO, "true"], "The program was asked for 1 reports and printed 0 lines."),
        ([*TWO, "echo", "secret"], "A line that the program printed is not hexadecimal."),
        (["--value", "0", "true"], "must be a list of at least two different values."),
        ([*TWO, "--timeout", "0.01", "sleep", "5"], "The program cannot be run: it takes too long."),
    ],
)
def test_a_program_that_fails_is_one_sentence_without_its_words(
    arguments: list[str], sentence: str, capsys: Capture
) -> None:
    assert main(["audit-program", "--claimed", "1", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("sottovoce: ") and said.err.endswith(f"{sentence}\n")
    assert "secret" not in said.err and "no-such" not in said.err


def test_the_audit_of_a_file_says_that_budget_is_left(tmp_path: Path, capsys: Capture) -> None:
    asked = sv.Frequency(sv.Categories(["no", "yes"]))
    coarse = sv.Mechanism("coarse-rr", asked, Subset(2, 1, UNIT // 16 * 11), Decimal(1), CountOutputs())
    (tmp_path / "coarse.json").write_bytes(canonical(coarse.spec()))
    assert main(["audit", str(tmp_path / "coarse.json")]) == 0
    out = capsys.readouterr().out
    assert "coarse-rr: It loses epsilon 0.78845736 of the 1 claimed" in out and "coarse-rr: Report 0" in out
    assert main(["audit", str(tmp_path / "coarse.json"), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["problems"] == [] and row["why"][-1].startswith("It loses epsilon")


def test_waste_fails_on_the_grid_and_says_why(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sottovoce.cli.grid.SIZES", (3,))
    monkeypatch.setattr("sottovoce.cli.grid.EPSILONS", ("1",))
    monkeypatch.setattr("sottovoce.cli.grid.WASTE", -1.0)
    assert main(["audit", "--name", "grr"]) == 1
    out = capsys.readouterr().out
    assert " NO" in out and "grr: It loses epsilon 1 of the 1 claimed" in out
