"""Cross tables from the columns of a file: privatized, counted and printed with intervals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.core.domain import Bins
from tests.cli.test_files import call

PEOPLE = [("25", "smokes"), ("25", "never"), ("50", "never"), ("70", "never"), ("70", "")] * 400
LISTS = ["--categories", "16|40|65|95;never,smokes", "--whole", "--epsilon", 4]


@pytest.fixture
def people(tmp_path: Path) -> Path:
    file = tmp_path / "people.csv"
    file.write_text("age,smoker\n" + "".join(f"{age},{smoker}\n" for age, smoker in PEOPLE), encoding="utf-8")
    return file


def test_a_table_is_printed_as_the_library_estimates_it(people: Path, tmp_path: Path) -> None:
    reports, tally = tmp_path / "r.parquet", tmp_path / "r.tally"
    asked = ["privatize", people, "--column", "age,smoker", *LISTS, "--missing", "skip", "--seed", 3]
    assert call(*asked, "-o", reports).code == 0
    assert call("tally", reports, "-o", tally).code == 0
    counted = sv.Tally.from_bytes(tally.read_bytes())
    table = counted.mechanism.estimate(counted).table("age", "smoker")
    told = json.loads(call("estimate", tally, "--json").out)
    assert [row["estimate"] for row in told["rows"]] == table.values.tolist()
    assert [row["age"] for row in told["rows"]][::2] == ["[16, 40)", "[40, 65)", "[65, 95]"]
    shown = call("estimate", tally, "--ratio", "smokes;[40, 65);[16, 40)").out.decode()
    assert shown.splitlines()[0].split() == ["age", "/", "smoker", "never", "smokes", "all"]
    assert table.cramers_v().explain() in shown
    assert table.odds_ratio("smokes", "[40, 65)", "[16, 40)").explain() in shown
    fitted = json.loads(call("estimate", tally, "--json", "--decoder", "independence").out)
    assert fitted["decoder"] == "independence" and fitted["rows"][0]["low"] == told["rows"][0]["low"]


def test_empty_cells_are_a_category_of_their_column(people: Path, tmp_path: Path) -> None:
    reports, lists = tmp_path / "r.parquet", ["--categories", "25,50,70;never,smokes", "--epsilon", 4]
    asked = ["privatize", people, "--column", "age,smoker", *lists, "--missing", "category", "--seed", 3]
    done = call(*asked, "-o", reports)
    assert done.code == 0 and "400 of 2000 cells empty" in done.err
    rows = json.loads(call("estimate", reports, "--json").out)["rows"]
    empty = {row["age"]: row["estimate"] for row in rows if row["smoker"] == "missing"}
    assert abs(empty["70"] - 0.2) < 0.05 and abs(empty["25"]) < 0.05


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--categories", "never,smokes"], "has 1 lists for 2 columns"),
        (["--categories", "16|95;never,smokes"], "two intervals or more"),
        (["--categories", "16|40.5|95.5;never,smokes", "--whole"], "whole numbers"),
        (["--categories", "1,2;never,smokes", "--method", "grr"], "a method of its own"),
    ],
)
def test_mistakes_are_said_in_a_sentence(people: Path, tmp_path: Path, options: list[str], said: str) -> None:
    done = call("privatize", people, "--column", "age,smoker", *options, "--epsilon", 1, "-o", tmp_path / "r.parquet")
    assert done.code == 2 and said in done.err and "Traceback" not in done.err


def test_a_device_may_leave_out_what_its_view_does_not_need() -> None:
    record = sv.Record({"age": Bins(sv.Integers(16, 95), [40, 65]), "smoker": sv.Categories(["never", "smokes"])})
    view = sv.TableViews(record, [["age"], ["smoker"]], 2).view(("age",))
    assert view.domain.encode({"age": 41}) == view.domain.encode({"age": 41, "smoker": "never"}) == 1
    for wrong in ({"smoker": "never"}, {"age": 41, "smoker": "at times"}, {"age": 41, "city": "Rome"}):
        with pytest.raises(sv.DomainError):
            view.domain.encode(wrong)
