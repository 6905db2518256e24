"""Every kind of question that a study can ask has its card on the dashboard and its field on the participant's page."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.asked import Asked
from sottovoce.core.domain import Bins
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.question import Boxes, MeanPlaces, WithinGroups
from sottovoce.core.round import Arm, Protocol, Round
from sottovoce.service.pages import view
from sottovoce.service.pages.crowd import crowd_text
from sottovoce.service.pages.header import header_of
from sottovoce.service.pages.participant import participant_text
from sottovoce.service.pages.templating import rendered
from sottovoce.study.questions import file_kinds, study_question
from sottovoce.study.results import QuestionResult
from sottovoce.study.words import LANGUAGES, words
from tests.service.studies import FACTS, TODAY

HOURS = sv.Integers(0, 9)
CLOCK = sv.Circle(24)
SMOKERS = WithinGroups(sv.Categories(["f", "m"]), sv.Frequency(sv.Categories(["yes", "no"])))
ENGLISH = "answers?|[Mm]ean|[Ss]hare|[Uu]p to|[Hh]alf|at most|interval|group|Picture|Value|What|under"
PERSON = sv.Record({"sex": sv.Categories(["f", "m"]), "age": Bins(sv.Integers(18, 99), [40, 65])})
BOXES = Boxes(
    sv.Record({"sex": sv.Categories(["f", "m"]), "age": sv.Integers(18, 49)}),
    boxes=[{"sex": "f", "age": (18, 30)}, {"age": (41, 49)}],
)
RANKED = sv.Ranking(["bus", "car", "bike"])
KEYED = sv.KeyValue(["bus", "car", "bike"], HOURS, 2)
CASES = {
    "frequency": (sv.Frequency(sv.Categories(["yes", "no"])), "grr", "yes", 'value="yes"'),
    "mean": (sv.Mean(HOURS), "bernoulli", 4, 'data-kind="scale"'),
    "variance": (sv.Variance(HOURS), "bernoulli", 4, 'value="9"'),
    "group-mean": (
        sv.GroupMean(sv.Categories(["f", "m"]), HOURS),
        "group-bernoulli",
        ("f", 3),
        'data-part="group"',
    ),
    "within-groups": (SMOKERS, "", ("f", "yes"), 'name="asked" value="yes"'),
    "distribution": (sv.Distribution(HOURS), "haar", 4, 'value="9"'),
    "cdf": (sv.Cdf(HOURS, (2, 5)), "haar", 4, 'data-kind="scale"'),
    "range": (sv.Range(HOURS, 3, 5), "haar", 4, 'value="9"'),
    "quantile": (sv.Quantile(HOURS, ("0.5",)), "haar", 4, 'value="9"'),
    "set-shares": (sv.SetShares(sv.Sets(["bus", "car", "bike"], 2)), "mask", ["bus", "bike"], 'type="checkbox"'),
    "mean-places": (MeanPlaces(RANKED), "", ["car", "bus", "bike"], 'class="choices ranked"'),
    "key-means": (sv.KeyMeans(KEYED), "key-mask", {"bus": 3, "bike": 9}, 'data-key="bike"'),
    "frequent-words": (sv.FrequentWords(sv.Words("abcdefgh", 2)), "fragments", "ab", 'data-letters="abcdefgh"'),
    "joint": (sv.Joint(PERSON), "", {"sex": "f", "age": 41}, 'data-attribute="age"'),
    "boxes": (BOXES, "torus-wave", {"sex": "f", "age": 41}, 'data-attribute="age"'),
    "circular-mean": (sv.CircularMean(CLOCK), "square-wave", 4, 'data-high="24"'),
}


def test_every_kind_has_a_case() -> None:
    assert {*CASES} == {*file_kinds()}


@pytest.mark.parametrize("kind", CASES)
def test_a_question_has_its_card_and_its_field(kind: str) -> None:
    question, method, answer, told = CASES[kind]
    asked = Asked("asked", question, dict.fromkeys(LANGUAGES, "?") | {"en": "What is it?"}, unit="hours")
    procedure: Any = None if method else sv.plan(question, epsilon=4, participants=500).best.procedure
    planned = procedure.start().arms[0].mechanism if isinstance(procedure, Protocol) else procedure
    mechanism = planned or sv.mechanism(method, question.domain, epsilon=4)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize([answer] * 500, seed=1)))
    result = QuestionResult(asked, study_question(asked).answered({"asked": estimate}))
    row = SimpleNamespace(reports=500, round=1, state="open", name="study")
    study = SimpleNamespace(experiment=None)
    outcome = SimpleNamespace(row=row, notes=(), results=None)
    outcome.results = SimpleNamespace(questions=[result], level=0.95, study=study, comparisons=[])
    cards = view.cards(outcome)  # type: ignore[arg-type]
    arms = Round((Arm("asked", mechanism),))
    manifest = Manifest(FACTS, (asked,), arms)
    head = header_of(row, manifest, 1000, {}, TODAY)  # type: ignore[arg-type]
    values = {"planned": {"asked": 0.1}, "alarms": (), "outcomes": {}, "problems": {}, "refused": 0, "short": ""}
    values |= {"head": head, "facts": FACTS, "cards": cards, "ranked": cards, "alone": set(), "arms": (), "waves": ()}
    page = rendered("live.html", running=SimpleNamespace(name="study"), outcome=outcome, **values)
    assert "<svg" in page and "What is it?" in page and "Planned: ±" in page
    page = page.replace("&#39;", "'")
    assert cards[0].finding.headline in page and "style=" not in page
    assert all(f'<th scope="row">{study_question(asked).said_of(line)}' in page for line in result.lines(0.95))
    form = participant_text("study", manifest, "en")
    assert told in form
    outcome.manifest = manifest
    for language in LANGUAGES:
        crowd = crowd_text("study", outcome, language)  # type: ignore[arg-type]
        said = re.sub(r"<[^>]*>", " ", crowd[crowd.index("<main") : crowd.index("</main>")])
        assert words(language)["results"]["title"] in said and "style=" not in crowd
        assert words(language)["results"]["nothing"] not in said
        if language != "en":
            assert re.findall(rf"\b(?:{ENGLISH})\b", said) == []
