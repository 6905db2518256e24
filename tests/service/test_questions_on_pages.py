"""Every kind of question that a study can ask has its card on the dashboard and its field on the participant's page."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import sottovoce as sv
from sottovoce.core.asked import Asked
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.round import Arm, Round
from sottovoce.service.pages import view
from sottovoce.service.pages.templating import rendered
from sottovoce.service.pages.words import words
from sottovoce.study.questions import file_kinds, study_question
from sottovoce.study.results import QuestionResult
from tests.service.studies import FACTS

HOURS = sv.Integers(0, 9)
CLOCK = sv.Circle(24)
CASES = {
    "frequency": (sv.Frequency(sv.Categories(["yes", "no"])), "grr", "yes", 'value="yes"'),
    "mean": (sv.Mean(HOURS), "bernoulli", 4, 'data-high="9"'),
    "variance": (sv.Variance(HOURS), "bernoulli", 4, 'data-high="9"'),
    "group-mean": (sv.GroupMean(sv.Categories(["f", "m"]), HOURS), "group-bernoulli", ("f", 3), '<option value="f">'),
    "distribution": (sv.Distribution(HOURS), "haar", 4, 'data-high="9"'),
    "cdf": (sv.Cdf(HOURS, (2, 5)), "haar", 4, 'data-step="1"'),
    "range": (sv.Range(HOURS, 3, 5), "haar", 4, 'data-high="9"'),
    "quantile": (sv.Quantile(HOURS, ("0.5",)), "haar", 4, 'data-high="9"'),
    "circular-mean": (sv.CircularMean(CLOCK), "square-wave", 4, 'data-high="24"'),
}


def test_every_kind_has_a_case() -> None:
    assert {*CASES} == {*file_kinds()}


@pytest.mark.parametrize("kind", CASES)
def test_a_question_has_its_card_and_its_field(kind: str) -> None:
    question, method, answer, told = CASES[kind]
    asked = Asked("asked", question, {"en": "What is it?"}, unit="hours")
    mechanism = sv.mechanism(method, question.domain, epsilon=4)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize([answer] * 500, seed=1)))
    result = QuestionResult(asked, study_question(asked).answered({"asked": estimate}))
    row = SimpleNamespace(reports=500, round=1, state="open")
    outcome = SimpleNamespace(row=row, notes=(), results=SimpleNamespace(questions=[result], level=0.95))
    cards = view.cards(outcome)  # type: ignore[arg-type]
    values = {"goal": 500, "planned": {"asked": 0.1}, "alarms": (), "outcomes": {}, "problems": {}}
    page = rendered("live.html", running=SimpleNamespace(name="study"), outcome=outcome, cards=cards, **values)
    assert "<svg" in page and "What is it?" in page and "planned ±" in page
    assert all(f'<th scope="row">{study_question(asked).said_of(line)}' in page for line in result.lines(0.95))
    arms = Round((Arm("asked", mechanism),))
    manifest = Manifest(FACTS, (asked,), arms)
    form = rendered(
        *("participant.html",),
        **{"study": "study", "facts": manifest.facts, "language": "en", "words": words("en"), "elsewhere": False},
        **{"fields": list(view.fields(manifest, "en")), "closed": False, "odds": "2", "guess": "60"},
    )
    assert told in form
