"""Cross tables in study files: what is read, what is refused, simulated, shown and exported."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from sottovoce.study.display.card import card
from sottovoce.study.export import write_export
from sottovoce.study.reading import parse_study
from sottovoce.study.simulating import drawn_answers, simulate_study

HEAD = """[study]
name = "health"
owner = "A city"
contact = "privacy@example.org"
purpose = "Courses."
unit = "person"
epsilon = "4"
"""
TABLE = """[questions.life]
ask = "table"
text = "Your habits?"
missing = ["no answer"]
"""
AGE = """[questions.life.attributes.age]
text = "How old are you?"
low = 16
high = 95
whole = true
bins = [40, 65]
"""
SMOKER = """[questions.life.attributes.smoker]
text = "Do you smoke?"
categories = ["never", "smokes"]
"""
CUPS = """[questions.life.attributes.cups]
text = "How many cups?"
low = 0
high = 2
whole = true
"""
POPULATION = """[population.life]
missing = 0.05
[population.life.age]
law = "normal"
mean = 50
sd = 15
[population.life.smoker]
by = "age"
within = { "[16, 40)" = { smokes = 0.5 }, "[40, 65)" = { smokes = 0.3 }, "[65, 95]" = { smokes = 0.1 } }
"""
WHOLE = HEAD + TABLE + AGE + SMOKER + CUPS + POPULATION


def test_a_file_becomes_a_question_with_texts_and_labels() -> None:
    study, mistakes = parse_study(WHOLE.encode())
    assert study is not None and mistakes == []
    (asked,) = study.questions
    assert asked.attributes == ("age", "smoker", "cups")
    assert asked.attribute_text("smoker", "en") == "Do you smoke?"
    assert [asked.label(one, "en") for one in asked.question.answer_lists[0].labels()] == [
        *("16 to 39", "40 to 64", "65 to 95"),
    ]
    assert asked.answer({"age": 41, "smoker": "no answer", "cups": 2}) == {
        **{"age": "[40, 65)", "smoker": "no answer", "cups": "2"},
    }


MISTAKES = [
    (TABLE + AGE, "A table needs two or more attributes"),
    (TABLE + AGE.replace("bins = [40, 65]\n", "").replace("95", "950") + SMOKER, "at most 100 whole numbers"),
    (TABLE + AGE.replace("[40, 65]", "[65, 40]") + SMOKER, "rising numbers"),
    (TABLE + AGE + SMOKER.replace('text = "Do you smoke?"\n', ""), "text that participants read is missing"),
    (TABLE + AGE + SMOKER + 'labels = "no"\n', "is not known here"),
    (TABLE + "ways = 1\n" + AGE + SMOKER, "two or more ways"),
    (TABLE + "ways = 3\n" + AGE + SMOKER, "'ways' parameter"),
    (TABLE + 'tables = [["age"]]\n' + AGE + SMOKER, "lists of two or more attributes"),
    (TABLE + 'tables = [["age", "sex"]]\n' + AGE + SMOKER, "different names among age, smoker"),
    (TABLE + 'ways = 2\ntables = [["age", "smoker"]]\n' + AGE + SMOKER, "named already"),
    (TABLE.replace("table", "joint") + AGE + SMOKER, 'ask = "table"'),
    (TABLE + AGE + SMOKER + "[population.life.smoker]\nby = 'smoker'\nwithin = {}\n", "names an attribute after it"),
    (TABLE + AGE + SMOKER + "[population.life.smoker]\nlaw = 'uniform'\n", "its answers are no numbers"),
    (TABLE + AGE + SMOKER + "[strata.a]\npeople = 1\n[strata.b]\npeople = 2\n", "not combined over strata"),
    (TABLE + AGE + SMOKER + "[experiment.a]\n[experiment.b]\ntext = 'Hi.'\n", "not compared between arms"),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_mistakes_have_a_line_and_a_sentence(text: str, said: str) -> None:
    _, mistakes = parse_study((HEAD + text).encode())
    assert any(said in str(one) for one in mistakes), [str(one) for one in mistakes]


def test_a_simulation_finds_what_goes_together_and_exports_it(tmp_path: Path) -> None:
    study, _ = parse_study(WHOLE.encode())
    assert study is not None
    answers = drawn_answers(study.questions, dict(study.population), 8000, 1)
    assert list(answers) == ["life/age", "life/smoker", "life/cups"]
    simulated = simulate_study(study.plan(8000), answers, seed=1)
    frame = simulated.to_frame()
    assert frame["truth"].notna().all() and frame["covered"].mean() > 0.9
    cells = frame[frame["measure"] == "share of a cell"]
    assert (cells["could_be_high"] >= cells["high"] - 1e-9).mean() > 0.9  # silent people could be in any cell
    assert np.isfinite(frame["estimate"]).all()
    (result,) = simulated.results.questions
    shown = card(result, 0.95, 8000)
    assert shown.finding.label == "Clear" and "“age” and “smoker” go together" in shown.finding.sentence
    assert "16 to 39" in shown.picture and "style=" not in shown.picture and shown.picture.count('class="heat"') == 3
    write_export(simulated.results, tmp_path)
    said = (tmp_path / "publication.md").read_text(encoding="utf-8")
    assert "### age by smoker" in said and re.search(r"\| 16 to 39 \| [^|]*\d+ to \d+", said)
    book = json.loads((tmp_path / "codebook.json").read_text(encoding="utf-8"))["questions"]["life"]
    assert book["attributes"]["smoker"]["answers"] == ["never", "smokes", "no answer"] and len(book["tables"]) == 3
