"""The contract of questions holds for every kind that a study can ask, and names each place that is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.domain import Bins
from sottovoce.core.late import load
from sottovoce.core.question import QUESTIONS, Density, HalfSets, MeanPlaces, Question, WithinGroups
from sottovoce.study.questions import file_kinds, study_class
from sottovoce.study.questions.base import StudyQuestion
from sottovoce.study.results import StudyResults
from sottovoce.testing import check_question

HOURS = sv.Integers(0, 9)
SEX = sv.Categories(["f", "m"])
PERSON = sv.Record({"sex": SEX, "age": Bins(sv.Integers(18, 99), [40, 65]), "cups": sv.Integers(0, 2)})
CASES: dict[str, tuple[Question, list[str] | None]] = {
    "frequency": (sv.Frequency(sv.Categories(["yes", "no"])), ["grr"]),
    "mean": (sv.Mean(HOURS), ["bernoulli"]),
    "variance": (sv.Variance(HOURS), ["split-n"]),
    "group-mean": (sv.GroupMean(sv.Categories(["f", "m"]), HOURS), ["group-bernoulli"]),
    "distribution": (sv.Distribution(HOURS), ["haar"]),
    "cdf": (sv.Cdf(HOURS, (2, 5)), ["haar"]),
    "range": (sv.Range(HOURS, 7, 9), ["haar"]),
    "quantile": (sv.Quantile(HOURS, ("0.5",)), ["haar"]),
    "within-groups": (WithinGroups(SEX, sv.Frequency(sv.Categories(["yes", "no", "at times"]))), ["binned"]),
    "circular-mean": (sv.CircularMean(sv.Circle(24)), ["square-wave"]),
    "joint": (sv.Joint(PERSON), None),
    "set-shares": (sv.SetShares(sv.Sets(["bus", "car", "bike", "train"], 2)), None),
    "mean-places": (MeanPlaces(sv.Ranking(["bus", "car", "bike", "train"])), None),
    "key-means": (sv.KeyMeans(sv.KeyValue(["bus", "car", "bike"], HOURS, 2)), None),
    "frequent-words": (sv.FrequentWords(sv.Words("abcdefgh", 2)), None),
    "boxes": (sv.Boxes(sv.Record({"hours": HOURS, "sex": SEX}), boxes=[{"hours": (7, 9)}]), ["torus-wave"]),
}
NOT_IN_STUDIES = {
    "vector-mean": sv.VectorMean(sv.Box(0, 1, 2)),
    "attributes": sv.Attributes(sv.Record({"a": HOURS})),
    "density": Density(HOURS),
    "half-sets": HalfSets(HOURS),
}


def test_every_kind_has_a_case() -> None:
    assert {*CASES} == {*file_kinds()} and {*CASES, *NOT_IN_STUDIES} == {*QUESTIONS}
    assert all(kind == question.kind for kind, (question, _) in CASES.items())


@pytest.mark.parametrize("kind", CASES)
def test_the_contract_holds(kind: str) -> None:
    question, methods = CASES[kind]
    check_question(question, methods=methods)


@pytest.mark.parametrize("inner", [sv.Quantile(HOURS, ("0.5",)), sv.Range(HOURS, 7, 9)], ids=["quantile", "range"])
def test_the_contract_holds_within_groups(inner: Question) -> None:
    check_question(WithinGroups(SEX, inner), methods=["binned"])


@pytest.mark.parametrize("kind", NOT_IN_STUDIES)
def test_what_studies_do_not_ask_is_said(kind: str) -> None:
    name = type(NOT_IN_STUDIES[kind]).__name__
    with pytest.raises(
        AssertionError, match=rf"^{kind}: the side in a study .*{kind.replace('-', '_')}.py: .*Study{name}"
    ):
        check_question(NOT_IN_STUDIES[kind])


# --- power: each place is removed in turn, and the contract names it -------------------------------------------------
def default(name: str) -> Callable[[pytest.MonkeyPatch, str], None]:
    """A member of the kind in studies becomes that of the base class."""
    return lambda patch, kind: patch.setattr(own(kind), name, vars(StudyQuestion)[name])


def replaced(name: str, value: Any) -> Callable[[pytest.MonkeyPatch, str], None]:
    return lambda patch, kind: patch.setattr(own(kind), name, value)


def of_question(name: str, value: Any) -> Callable[[pytest.MonkeyPatch, str], None]:
    return lambda patch, kind: patch.setattr(type(CASES[kind][0]), name, value)


def own(kind: str) -> type[StudyQuestion]:
    return study_class(type(CASES[kind][0]))


def no_planner(patch: pytest.MonkeyPatch, kind: str) -> None:
    patch.delattr(load(f"study.planners.{CASES[kind][0].room}"), "planner")


def never_enough(patch: pytest.MonkeyPatch, kind: str) -> None:
    patch.setattr("sottovoce.study.planners.base.RootWays.least", lambda self, participants: 1.0)


def no_rows(patch: pytest.MonkeyPatch, kind: str) -> None:
    patch.setattr(StudyResults, "_rows", lambda self, result: iter(()))


REMOVED = [
    ("mean", replaced("keys", ()), "the table of a study file"),
    ("quantile", default("read"), "the table of a study file"),
    ("frequency", of_question("with_reasons", Question.with_reasons), "reasons for giving no answer"),
    ("group-mean", of_question("answer", Question.answer), "reasons for giving no answer"),
    ("group-mean", default("number_domain"), "the population"),
    ("group-mean", default("prior"), "the population"),
    ("mean", no_planner, "the plan"),
    ("frequency", never_enough, "the inverse plan"),
    ("range", of_question("is_share", False), "the goal"),
    ("mean", of_question("unit_power", 0), "the goal"),
    ("frequency", replaced("goal", lambda self, size, *, points: size), "the goal"),
    ("mean", replaced("goal", lambda self, size, *, points: size), "the goal"),
    ("group-mean", default("columns"), "the columns"),
    ("group-mean", default("raw_answers"), "the columns"),
    ("cdf", replaced("answered", lambda self, estimates: dict(estimates)), "the result line"),
    ("frequency", replaced("estimate_lines", lambda self, *given: iter(())), "the result line"),
    *((kind, default("truth"), "the truth") for kind in ("frequency", "mean", "group-mean", "distribution", "range")),
    ("mean", replaced("truth", lambda self, column, estimates: {("mean", ""): 8.0}), "the truth"),
    ("range", replaced("chart", lambda self, *given: ""), "the chart"),
    ("mean", replaced("said_of", lambda self, line: line.measure), "the dashboard card"),
    ("group-mean", default("field"), "the field of the participant's page"),
    ("frequency", no_rows, "the export"),
    ("within-groups", default("field"), "the field of the participant's page"),
    ("within-groups", default("truth"), "the truth"),
    ("quantile", replaced("full_truth", StudyQuestion.truth), "the truth"),
    ("group-mean", default("possible_answers"), "the words of the dossier"),
    ("joint", replaced("keys", ()), "the table of a study file"),
    ("joint", of_question("answer", Question.answer), "reasons for giving no answer"),
    ("joint", default("check_population"), "the population"),
    ("joint", default("prior"), "the population"),
    ("joint", no_planner, "the plan"),
    ("joint", default("draw"), "the columns"),
    ("joint", default("raw_answers"), "the columns"),
    ("joint", default("estimate_lines"), "the export"),
    ("joint", default("truth"), "the truth"),
    ("joint", default("field"), "the field of the participant's page"),
    ("joint", default("cross_tables"), "the export"),
    ("joint", default("possible_answers"), "the words of the dossier"),
    ("frequency", replaced("possible_answers", lambda self, *given: ""), "the words of the dossier"),
]


@pytest.mark.parametrize(
    ("kind", "remove", "place"),
    REMOVED,
    ids=[f"{place} of {kind} {number}" for number, (kind, _, place) in enumerate(REMOVED)],
)
def test_a_missing_place_is_named(
    kind: str, remove: Callable[[pytest.MonkeyPatch, str], None], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, methods = CASES[kind]
    remove(monkeypatch, kind)
    with pytest.raises(AssertionError, match=f"^{kind}: {place} is missing or wrong in [a-z_/]+.py: "):
        check_question(question, methods=methods)
