"""Publication, account, dossier and consent say what the software does."""

import re
from contextlib import suppress
from html import unescape

import pytest

import sottovoce as sv
from sottovoce.client.participant import Participant
from sottovoce.client.tick import Untimed
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.round import Arm, Round
from sottovoce.privacy.accounting.study import StudyAccount
from sottovoce.service.pages.view import screens
from sottovoce.study.display.planning import margin_text
from sottovoce.study.dossier.consent import consent_page
from sottovoce.study.dossier.write import write_dossier
from sottovoce.study.export import publication
from sottovoce.study.reading import read_study
from sottovoce.study.study_plan import plan_study

ABOUT = {"epsilon": 2, "unit": "person", "owner": "Institute", "contact": "a@example.org", "purpose": "Sleep."}
HOURS = sv.Integers(0, 3)
SHARED = [
    sv.Asked("hours", sv.Distribution(HOURS), {"en": "How long?"}, unit="hours"),
    sv.Asked("long", sv.Range(HOURS, 2, 3), {"en": "How long?"}, attribute="hours"),
]
DRUGS = [f"drug {place}" for place in range(40)]
YES = sv.Categories(["yes", "no"])
ASKED = [
    sv.Asked("drug", sv.Frequency(sv.Categories(DRUGS)), {"en": "Which drug?"}),
    sv.Asked("smoker", sv.Frequency(YES), {"en": "Smoker?"}, share=3),
]
AGE = sv.Asked("age", sv.GroupMean(sv.Categories(["woman, smoker", "other"]), sv.Integers(18, 99)), {"en": "Age?"})


def a_manifest(asked=ASKED[1:], **changes):
    study = sv.Study("sleep", **{**ABOUT, **changes}, questions=asked)
    methods = {"group-mean": "group-bernoulli"}
    arms = [
        Arm(one.name, sv.mechanism(methods.get(one.question.kind, "grr"), one.question.domain, epsilon=2), 1)
        for one in asked
    ]
    return Manifest(study.facts, study.questions, Round(tuple(arms)))


def test_a_publication_counts_a_report_once_that_answers_two_questions():
    plan = sv.Study("sleep", **ABOUT, questions=SHARED).plan(300)
    assert [one.report for one in plan.questions] == ["hours", "hours"]
    text = publication(sv.simulate_study(plan, {"hours": [0, 2, 3] * 100}, seed=1).results)
    assert re.findall(r"([\d,]+) participants", text) == ["300"]


@pytest.mark.parametrize(("unit", "answered"), [("person", 1), ("device", 1), ("event", 3)])
def test_account_and_manifest_promise_as_many_answers_as_a_device_gives(unit, answered):
    manifest = a_manifest(unit=unit, lifetime=7)
    device, sent = Participant(None, tick=Untimed()), 0
    with suppress(sv.PrivacyError):
        while device.answer(manifest, {"smoker": "no"}, send=False):
            sent += 1
    account = StudyAccount.of(manifest, waves=10)
    assert sent == answered == manifest.participations == account.allowed == account.taken
    assert account.total.epsilon == 2 * answered <= manifest.largest_loss
    said = "reports at most 3 events" if unit == "event" else "answers this study once"
    assert said in manifest.text() and said in account.text()


@pytest.mark.parametrize("name", ["health-survey", "product-telemetry", "classroom"])
def test_examples_promise_one_answer(name):
    facts = read_study(f"examples/{name}.toml").facts
    assert facts.unit != "event" and facts.lifetime == facts.epsilon


@pytest.fixture(scope="module")
def dossier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dossier") / "of"
    plan = sv.Study("sleep", **ABOUT, questions=ASKED).plan(5000)
    write_dossier(plan, folder)
    return plan, unescape((folder / "index.html").read_text())


def test_a_dossier_states_one_epsilon_behind_a_shuffler(dossier):
    _, text = dossier
    assert len(re.findall(r"loses at most epsilon ([\d.]+) with delta 1e-06", text)) == 1
    assert "None is claimed: the study has no shuffler. Annex A says what a shuffler would add." in text


def test_a_dossier_says_nothing_of_reasons_and_goals_that_there_are_not(dossier):
    plan, text = dossier
    assert "don't know" not in text and "refused" not in text.replace("refuses", "")
    assert "meets its goals" not in text
    assert not re.search(r"\b1 (participations|questions|bytes)", text)
    for one in plan.questions:
        assert f">±\u00a0{margin_text(one, one.half_width)}</td>" in text
    assert plan.question("smoker").asked.margin(0.0556) == "5.56 points"


def test_a_dossier_names_reasons_and_goals_where_there_are_some(tmp_path):
    asked = [sv.Asked("smoker", sv.Frequency(YES), {"en": "Smoker?"}, missing=("refused",))]
    plan = plan_study(sv.Study("sleep", **ABOUT, questions=asked), goals=["smoker +- 5 points"])
    write_dossier(plan, tmp_path / "of")
    text = (tmp_path / "of" / "index.html").read_text()
    assert "Offered by: Smoker? (refused)" in text
    assert "The plan meets its goals with this budget: Smoker? ±\u00a05.0\u00a0points." in text


def test_a_consent_lists_every_answer_of_all_questions_that_the_page_asks():
    manifest = a_manifest([*ASKED, AGE])
    text = consent_page(manifest, "en")
    assert list(dict.fromkeys(one["question"] for one in screens(manifest, "en"))) == ["drug", "smoker", "age"]
    assert "The study has 3 questions. Chance picks one of them for you." in text
    for answer in (*DRUGS, "yes", "no", "woman, smoker", "other"):
        assert f"<li>{answer}</li>" in text
    assert "<p>and a number from 18 to 99</p>" in text
    assert "Chance picks one" not in consent_page(a_manifest(), "en")
