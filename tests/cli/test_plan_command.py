"""`sottovoce plan`, and the method that `privatize` chooses where none is named."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import sottovoce as sv
from sottovoce.cli.studies.picture import errors_by_method
from sottovoce.core.specs import canonical
from tests.cli.test_files import call, tallied

pytestmark = pytest.mark.slow

ANSWERS = ("lark", "owl", "neither")
SHARES = sv.Frequency(sv.Categories(ANSWERS))
CASES = {
    "mean --low 0 --high 14 --whole --epsilon 1 --half-width 0.1": (
        sv.Mean(sv.Integers(0, 14)),
        {"epsilon": 1, "half_width": "0.1"},
    ),
    "mean --low 0 --high 1.5 --epsilon 1 --participants 900": (
        sv.Mean(sv.Interval(0, "1.5")),
        {"epsilon": 1, "participants": 900},
    ),
    "mean --low 0 --high 14 --step 0.5 --epsilon 1 --participants 900": (
        sv.Mean(sv.Interval(0, 14, step="0.5")),
        {"epsilon": 1, "participants": 900},
    ),
    "vector-mean --low 0,0 --high 14,10 --step 0.5,5 --epsilon 2 --participants 1000": (
        sv.VectorMean(sv.Record({"1": sv.Interval(0, 14, step="0.5"), "2": sv.Interval(0, 10, step=5)})),
        {"epsilon": 2, "participants": 1000},
    ),
    "frequency --categories lark,owl,neither --epsilon 1 --participants 5000": (
        SHARES,
        {"epsilon": 1, "participants": 5000},
    ),
    "frequency --low 1 --high 5 --whole --participants 5000 --std-error 0.01": (
        sv.Frequency(sv.Integers(1, 5)),
        {"participants": 5000, "std_error": "0.01"},
    ),
    "vector-mean --low -1 --high 1 --dimensions 3 --epsilon 2 --participants 1000 --target sample": (
        sv.VectorMean(sv.Box(-1, 1, 3)),
        {"epsilon": 2, "participants": 1000, "target": "sample"},
    ),
    "vector-mean --radius 2 --dimensions 8 --epsilon 2 --participants 1000 --level 0.9": (
        sv.VectorMean(sv.Ball(2, 8)),
        {"epsilon": 2, "participants": 1000, "level": 0.9},
    ),
    "vector-mean --max-nonzero 3 --high 0.5 --dimensions 100 --epsilon 2 --participants 1000": (
        sv.VectorMean(sv.Sparse(100, 3, "0.5")),
        {"epsilon": 2, "participants": 1000},
    ),
    "vector-mean --low 0,10 --high 9,60 --whole --epsilon 2 --participants 1000": (
        sv.VectorMean(sv.Record({"1": sv.Integers(0, 9), "2": sv.Integers(10, 60)})),
        {"epsilon": 2, "participants": 1000},
    ),
}
SLOW = {
    "variance --low 0 --high 14 --whole --epsilon 1 --participants 20000": (
        sv.Variance(sv.Integers(0, 14)),
        {"epsilon": 1, "participants": 20_000},
    ),
    "group-mean --categories f,m --low 10 --high 60 --whole --epsilon 2 --participants 9000": (
        sv.GroupMean(sv.Categories(["f", "m"]), sv.Integers(10, 60)),
        {"epsilon": 2, "participants": 9000},
    ),
}


@pytest.mark.parametrize("line", [*CASES, *(pytest.param(line, marks=pytest.mark.slow) for line in SLOW)])
def test_the_command_prints_the_plan_of_the_library(line: str) -> None:
    question, given = {**CASES, **SLOW}[line]
    expected = sv.plan(question, **given)
    done = call("plan", *line.split(), "--json")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["question"] == question.kind and found["solved_for"] == expected.solved_for
    assert found["participants"] == expected.participants and float(found["epsilon"]) == float(expected.epsilon)
    assert found["advice"] == expected.advice and found["measure"] == expected.measure
    assert [option["method"] for option in found["options"]] == [option.method for option in expected.options]
    assert [option["std_error"] for option in found["options"]] == [option.std_error for option in expected.options]
    assert found["options"][0]["half_width"] == expected.best.half_width(expected.level)
    assert [one["label"] for one in found["expected"]] == [one.label for one in expected.best.expected]


def test_a_person_reads_a_table_and_a_sentence() -> None:
    done = call("plan", *["frequency", "--categories", "lark,owl,neither", "--epsilon", "1", "--participants", "5000"])
    expected = sv.plan(SHARES, epsilon=1, participants=5000)
    header, first, *_, last = done.out.decode().splitlines()
    assert header.split("  ")[0] == "method" and header.endswith("bytes  std error  95 % half-width")
    assert first.split()[0] == expected.best.method and f"{expected.best.std_error:.4g}" in first
    assert last == expected.advice


def test_a_question_has_one_word() -> None:
    for word in ("shares", "Mean", "groups", "group_mean"):
        done = call("plan", word, "--low", "0", "--high", "9", "--whole", "--epsilon", "1", "--participants", "9")
        assert done.code == 2
        assert "one of mean, frequency, set-shares, variance, distribution, group-mean, vector-mean" in done.err


# --- the picture ------------------------------------------------------------------------------------------
def test_the_picture_shows_the_curves_and_the_plan(tmp_path: Path) -> None:
    line = ["frequency", "--categories", "lark,owl,neither", "--epsilon", "1", "--half-width", "0.01"]
    for name in ("a.svg", "b.svg", "c.png"):
        done = call("plan", *line, "--picture", tmp_path / name)
        assert (done.code, done.err) == (0, "")
    picture = (tmp_path / "a.svg").read_bytes()
    assert picture == (tmp_path / "b.svg").read_bytes()
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    texts = [element.text for element in ElementTree.fromstring(picture).iter() if element.tag.endswith("}text")]
    expected = sv.plan(SHARES, epsilon=1, half_width="0.01")
    assert f"{expected.participants:,} participants, 0.01" in texts and "asked for: 0.01" in texts
    assert "participants" in texts and "half-width at 95 %" in texts and expected.best.method in texts
    assert "The picture exists" in call("plan", *line, "--picture", tmp_path / "a.svg").err
    assert call("plan", *line, "--picture", tmp_path / "a.svg", "--force").code == 0


def test_curves_are_those_of_plans_for_so_many_participants() -> None:
    found = sv.plan(SHARES, epsilon=1, participants=1000)
    for method, (places, errors) in errors_by_method(found, "population").items():
        assert min(places) < 50 and max(places) == 30_000 and 1000 in places
        for place, error in list(zip(places, errors, strict=True))[::8]:
            (option,) = sv.plan(SHARES, epsilon=1, participants=place, methods=[method]).options
            assert error == pytest.approx(option.std_error)


@pytest.mark.slow
def test_protocols_are_planned_anew_for_each_number_of_participants() -> None:
    question = sv.Variance(sv.Interval(0, 14))
    found = sv.plan(question, epsilon=1, participants=1000)
    curves = errors_by_method(found, "population")
    places, errors = curves["split-n"]
    assert min(places) == 100 and len(curves) > 1
    last = sv.plan(question, epsilon=1, participants=places[-1])
    assert errors[-1] == next(option.std_error for option in last.options if option.method == "split-n")


# --- the choice of privatize ------------------------------------------------------------------------------
def write_people(folder: Path) -> Path:
    path = folder / "people.csv"
    path.write_text("who,type,hours\n" + "".join(f"{i},{ANSWERS[i % 3]},{i % 15}\n" for i in range(300)))
    return path


@pytest.mark.parametrize("method", [[], ["--method", "auto"], ["--method", "AUTO"]])
def test_without_a_method_the_plan_chooses(method: list[str], tmp_path: Path) -> None:
    people = write_people(tmp_path)
    best = sv.plan(SHARES, epsilon=1, participants=300).best
    asked = ["--column", "type", "--categories", ",".join(ANSWERS), "--epsilon", 1, "--seed", 3, *method]
    done = call("privatize", people, *asked, "-o", tmp_path / "r.parquet", "--write-spec", tmp_path / "s.json")
    assert done.code == 0
    assert (tmp_path / "s.json").read_bytes().strip() == canonical(best.mechanism.spec())
    assert f"The plan chose {best.method}: no method has a smaller error; expect a standard error of" in done.err
    assert f"of {best.std_error:.3g} for a share, root mean square over all shares.\n" in done.err
    assert call("tally", tmp_path / "r.parquet", "-o", tmp_path / "out.tally").code == 0
    values = [ANSWERS[i % 3] for i in range(300)]
    assert tallied(tmp_path) == best.mechanism.tally(best.mechanism.privatize(values, seed=3))


@pytest.mark.parametrize("question", [None, "mean", "frequency"])
def test_numbers_are_asked_for_their_mean_unless_shares_are_wanted(question: str | None, tmp_path: Path) -> None:
    people, hours = write_people(tmp_path), sv.Integers(0, 14)
    asked = ["--column", "hours", "--low", 0, "--high", 14, "--whole", "--epsilon", 1]
    named = [] if question is None else ["--question", question]
    done = call("privatize", people, *asked, *named, "-o", tmp_path / "r.csv", "--write-spec", tmp_path / "s.json")
    assert done.code == 0, done.err
    kind = sv.Frequency(hours) if question == "frequency" else sv.Mean(hours)
    best = sv.plan(kind, epsilon=1, participants=300).best
    written = sv.Mechanism.from_spec((tmp_path / "s.json").read_bytes())
    assert written == best.mechanism and written.question == kind


def test_only_mechanisms_with_a_pure_guarantee_are_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ball = sv.VectorMean(sv.Ball(1, 8))
    impure = sv.plan(ball, epsilon=1, participants=1)
    monkeypatch.setattr("sottovoce.cli.privatize.plan", lambda *_, **__: impure)
    asked = ["--column", "hours", "--low", 0, "--high", 14, "--whole", "--epsilon", 1, "-o", tmp_path / "r.parquet"]
    done = call("privatize", write_people(tmp_path), *asked)
    assert done.code == 2 and "No method with a pure guarantee" in done.err
    assert not (tmp_path / "r.parquet").exists()
