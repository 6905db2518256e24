"""The report: one document with figures, tables, methods and what was left out."""

from __future__ import annotations

import re
from datetime import date
from html import unescape

import pytest

import sottovoce as sv
from sottovoce.cli.studies import report as command
from sottovoce.files.opening import FileProblem
from sottovoce.study.documents.report import ReportDocument

ANSWERS = [f"answer {place}" for place in range(20)]


@pytest.fixture(scope="module")
def document():
    asked = [
        sv.Asked("many", sv.Frequency(sv.Categories(ANSWERS)), {"en": "Which <one>?"}),
        sv.Asked("hours", sv.GroupMean(sv.Categories(["a", "b"]), sv.Integers(0, 10)), {"en": "Hours?"}, unit="hours"),
    ]
    about = {"epsilon": 4, "unit": "person", "owner": "Institute", "contact": "a@example.org", "purpose": "Sleep."}
    plan = sv.Study("sleep", **about, title="Sleep & rest", questions=asked).plan(6000)
    many = ["answer 0", "answer 1", "answer 1"] * 2000
    answers = {"many": many, "hours": [2, 8] * 3000, "hours/by": ["a", "b"] * 3000}
    results = sv.simulate_study(plan, answers, seed=3).results
    return ReportDocument(results, plan.manifest(), date(2027, 6, 15), planned=7000, notes=("A note.",))


def test_a_report_states_people_privacy_methods_and_what_is_left_out(document):
    text = unescape(re.sub(r"<[^>]+>", " ", document.to_html()))
    assert "6,000 of 7,000 planned" in text and "epsilon 4 per person" in text and "15 June 2027" in text
    assert "This is a simulation." in text and "SIMULATION. 6,000 participants answered" in text
    assert "Sleep & rest" in text and "Which <one>?" in text and "A note." in text
    assert "wider than half of its scale is left out" in text and "Apache License 2.0" in text
    # Every figure has the title, its number of reports, epsilon and the date.
    captions = re.findall(r"Figure \d\. .*? Sleep & rest, [\d,]+ reports, epsilon 4, 15 June 2027\.", text)
    assert len(captions) == 2


def test_a_report_shows_bounded_shares_and_clear_differences(document):
    html = document.to_html()
    assert "style=" not in html and "<script" not in html and "http" not in html.partition("</style>")[2]
    assert "b above a: " in html and ">Clear</span>" in html
    shares = re.findall(r"<td[^>]*>(?:<b>)?([^<(]*)\u00a0%", html)
    assert shares and not [one for one in shares if "\u2212" in one]
    # Answers without a row of their own in the figure are in a table of all 20.
    (table,) = re.findall(r"Table 1\..*?</table>", html, re.DOTALL)
    assert table.count('<th scope="row">answer') == 20 and "under\u00a0" in table


def test_a_store_has_its_own_answers_and_pdfs_need_a_browser(tmp_path, monkeypatch):
    wanted = {"study": None, "data": None, "participants": None, "level": 0.95, "pdf": False, "force": False}
    with pytest.raises(sv.ParameterError, match="--seed are for a study file"):
        command.report(str(tmp_path / "study.sqlite"), str(tmp_path / "report.html"), seed=1, **wanted)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(command.shutil, "which", lambda name: None)
    with pytest.raises(FileProblem, match=r"needs Chromium, Chrome or Edge.*apt install chromium"):
        command.found_browser()
