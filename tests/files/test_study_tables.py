"""Cross tables in study files: what is read, what is refused, simulated, shown and exported."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

from sottovoce.client.command import main as answer
from sottovoce.client.participant import Participant
from sottovoce.client.tick import Untimed
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.estimate.joint.estimates import JointEstimate
from sottovoce.estimate.joint.weighted import WeightedTables
from sottovoce.study.display.card import card
from sottovoce.study.display.experiment import study_cards
from sottovoce.study.export import write_export
from sottovoce.study.reading import parse_study
from sottovoce.study.simulating import drawn_answers, drawn_in_arms, simulate_study

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


CLUSTERS = "".join(f"[strata.{name}]\npeople = 9\ncluster_of = 'north'\n" for name in ("a", "b", "c"))
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
    (TABLE + AGE + SMOKER + CLUSTERS, "not combined over clusters or margins"),
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


STRATA = "[strata.city]\npeople = 80000\n[strata.country]\npeople = 20000\n"


@pytest.mark.slow
def test_tables_of_strata_are_weighted_by_their_people() -> None:
    study, mistakes = parse_study((WHOLE + STRATA).encode())
    assert study is not None and mistakes == []
    answers = drawn_answers(study.questions, dict(study.population), 8000, 1)
    # Half of the rows are of each stratum, and only people in the country smoke.
    strata = ["city" if row % 2 else "country" for row in range(8000)]
    smoker = ["smokes" if stratum == "country" else "never" for stratum in strata]
    simulated = simulate_study(study.plan(8000), {**answers, "life/smoker": smoker, "stratum": strata}, seed=1)
    frame = simulated.to_frame()
    assert frame["truth"].notna().all() and frame["covered"].mean() > 0.9
    (result,) = simulated.results.questions
    estimate = next(one for one in result.estimates.values() if isinstance(one, JointEstimate))
    assert isinstance(estimate.evidence.tables, WeightedTables)  # type: ignore[attr-defined]
    low, high = estimate.table("smoker").quiet_ci(1 - 1e-6)
    assert low[1] < 0.2 < high[1] < 0.4  # half of the participants smoke, and a fifth of the people
    assert estimate.consistent(classes=2).values.min() >= 0


@pytest.mark.slow
def test_arms_of_an_experiment_are_compared_cell_by_cell() -> None:
    arms = "[experiment.usual]\n[experiment.new]\ntext = 'Hi.'\n[experiment.new.population.life.smoker]\n"
    study, mistakes = parse_study((WHOLE + arms + "shares = { smokes = 0.9 }\n").encode())
    assert study is not None and mistakes == []
    simulated = simulate_study(study.plan(8000), drawn_in_arms(study, dict(study.population), 8000, 1), seed=1)
    frame = simulated.to_frame()
    cells = frame[frame["measure"] == "share of a cell difference"]
    assert len(cells) == 4 * 3 + 4 * 4 + 3 * 4 and cells["covered"].all()
    first = study_cards(simulated.results, 8000)[0]
    assert first.finding.sentence.startswith("“age 40 to 64, smoker never” is less frequent in arm “new”")
    assert first.finding.label == "Clear" and "in arm “new” than in arm “usual”" in first.finding.sentence
    manifest = study.plan(8000).manifest()
    names = {manifest.experiment_arm(place).name for place in range(len(manifest.stage.arms))}  # type: ignore[union-attr]
    assert names == {"usual", "new"}


def test_rare_answers_that_do_not_count_are_named() -> None:
    """A rare answer is left out of Cramer's V, of its truth, and named below the table."""
    rare = WHOLE.replace('["never", "smokes"]', '["never", "smokes", "pipe"]').replace(
        "{ smokes", "{ pipe = 0.003, smokes"
    )
    labels = 'missing = ["no answer"]\nlabels.en = { smoker = "Smoking" }\n'
    study, mistakes = parse_study(rare.replace('missing = ["no answer"]\n', labels).encode())
    assert study is not None and mistakes == []
    run = simulate_study(study.plan(6000), drawn_answers(study.questions, dict(study.population), 6000, 1), seed=1)
    first = next(one for one in run.results.questions[0].lines(0.95) if one.label == "age x smoker")
    assert first.left_out == (("smoker", "pipe"),) and first.p_value < 0.001
    table = card(run.results.questions[0], run.results.level, 6000).picture
    assert "Too rare to count in Cramer&#x27;s V: “Smoking pipe”." in table
    frame = run.to_frame()
    assert frame[frame["measure"] == "Cramer's V"]["covered"].all()


def test_names_of_attributes_have_labels_too() -> None:
    """Titles, findings and ratios have the words of the reader; a label of nothing in the question is refused."""
    missing = 'missing = ["no answer"]\n'
    labels = "labels.en = { age = 'Age', smoker = 'Smoking', cups = 'Coffee' }\n"
    study, mistakes = parse_study(WHOLE.replace(missing, missing + labels).encode())
    assert study is not None and mistakes == []
    answers = drawn_answers(study.questions, dict(study.population), 6000, 1)
    results = simulate_study(study.plan(6000), answers, seed=1).results
    shown = card(results.questions[0], results.level, 6000)
    assert "“Age” and “Smoking” go together" in shown.finding.headline
    assert "Age by Smoking" in shown.picture and '<th scope="col">Age / Smoking</th>' in shown.picture
    assert "smoker" not in shown.picture + shown.finding.sentence and "for Age " in shown.finding.sentence
    wrong = WHOLE.replace(missing, "labels.en = { ages = 'Age' }\n")
    assert "an answer or an attribute that this question does not have" in str(parse_study(wrong.encode())[1])


def test_few_reports_say_nothing_about_association() -> None:
    """Three reports: no interval that looks exact, and no sentence about the closest attributes."""
    study, _ = parse_study(WHOLE.encode())
    assert study is not None
    answers = drawn_answers(study.questions, dict(study.population), 12, 1)
    simulated = simulate_study(study.plan(12), answers, seed=1)
    lines = [one for one in simulated.results.questions[0].lines(0.95) if one.measure == "Cramer's V"]
    assert len(lines) == 3
    assert all(np.isnan(one.value) and (one.low, one.high, one.p_value) == (0, 1, 1) for one in lines)
    (result,) = simulated.results.questions
    assert "nan" not in card(result, 0.95, 12).picture


def test_a_device_needs_only_the_attributes_that_it_drew() -> None:
    study, _ = parse_study(WHOLE.replace('epsilon = "4"', 'epsilon = "1"').encode())  # views of two attributes
    assert study is not None
    manifest = study.plan(8000).manifest()
    answers = {"age": 41, "smoker": "smokes", "cups": 2}
    for _ in range(8):
        device = Participant(None, tick=Untimed())
        drawn = device.asks_attributes(manifest)
        other = next(name for name in answers if name not in drawn)
        lacking = {name: answers[name] for name in (other, drawn[1])}
        with pytest.raises(ParameterError, match=f"needs answers to {drawn[0]}: this device drew them"):
            device.answer(manifest, {"life": lacking})
        with pytest.raises(DomainError):  # also an answer that is not sent
            device.answer(manifest, {"life": {**answers, other: "seven"}})
        assert device.asks_attributes(manifest) == drawn
        assert device.answer(manifest, {"life": {name: answers[name] for name in drawn}}).state == "queued"


def test_the_command_asks_the_attributes_that_were_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study, _ = parse_study(WHOLE.replace('epsilon = "4"', 'epsilon = "1"').encode())
    assert study is not None
    manifest, device = tmp_path / "study.json", tmp_path / "device.sqlite"
    content = study.plan(8000).manifest().content
    manifest.write_bytes(content)
    drawn = Participant(device, tick=Untimed()).asks_attributes(Manifest.from_spec(content))
    typed = {"age": "41", "smoker": "no answer", "cups": "2"}
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{typed[name]}\n" for name in drawn)))
    assert answer([str(manifest), "--device", str(device)]) == 0
    asked = capsys.readouterr()
    assert asked.out.startswith("queued: question life")
    texts = {"age": "How old are you?", "smoker": "Do you smoke?", "cups": "How many cups?"}
    assert [name for name in texts if texts[name] in asked.err] == [name for name in texts if name in drawn]
