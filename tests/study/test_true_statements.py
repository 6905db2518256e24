"""Publication, account, dossier and consent say what the software does."""

import re
from datetime import date

import pytest

import sottovoce as sv
from sottovoce.study.export import publication

ABOUT = {"epsilon": 2, "unit": "person", "owner": "Institute", "contact": "a@example.org", "purpose": "Sleep."}
HOURS = sv.Integers(0, 7)
SHARED = [
    sv.Asked("hours", sv.Distribution(HOURS), {"en": "How long?"}, unit="hours"),
    sv.Asked("long", sv.Range(HOURS, 6, 7), {"en": "How long?"}, attribute="hours"),
]


def test_a_publication_counts_a_report_once_that_answers_two_questions():
    plan = sv.Study("sleep", **ABOUT, questions=SHARED).plan(300)
    assert [one.report for one in plan.questions] == ["hours", "hours"]
    text = publication(sv.simulate_study(plan, {"hours": [0, 5, 7] * 100}, seed=1).results)
    assert re.findall(r"([\d,]+) participants", text) == ["300"]
