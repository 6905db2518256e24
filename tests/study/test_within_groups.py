"""Shares and medians within groups, and reasons for giving no answer, from a study file to the export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Cells, Pair
from sottovoce.core.question import WithinGroups
from sottovoce.estimate.within_groups.table import flat
from sottovoce.study.export import write_export
from sottovoce.study.population_tables import read_population
from sottovoce.study.reading import check_study, parse_study
from sottovoce.study.simulating import drawn_answers, simulate_study
from sottovoce.testing import within_groups as checks

HEAD = """[study]
name = "survey"
owner = "An institute"
contact = "privacy@example.org"
purpose = "To learn who smokes."
unit = "person"
epsilon = "4"
participants = 6000
languages = ["en", "de"]
"""
SMOKER = """
[questions.smoker]
ask = "frequency"
text = { en = "Do you smoke?", de = "Rauchen Sie?" }
categories = ["yes", "no", "at times"]
by = ["women", "men"]
by_text = { en = "What is your sex?", de = "Ihr Geschlecht?" }
labels = { de = { women = "Frauen", yes = "ja", refused = "keine Angabe" } }
missing = ["refused"]

[questions.pain]
ask = "median"
text = { en = "How strong is your pain?", de = "Wie stark?" }
low = 0
high = 10
whole = true
by = ["women", "men"]

[questions.weight]
ask = "mean"
text = { en = "Your weight?", de = "Ihr Gewicht?" }
low = 30
high = 200
by = ["women", "men"]

[population.smoker]
shares = { women = 0.6 }
within = { women = { yes = 0.2 }, men = { yes = 0.5 } }
missing = 0.1
[population.pain]
law = "normal"
mean = [3, 6]
sd = 1
[population.weight]
law = "normal"
mean = [65, 80]
sd = 10
"""


@pytest.mark.slow
def test_a_study_file_asks_by_group_and_exports_differences(tmp_path: Path) -> None:
    study = check_study((HEAD + SMOKER).encode())
    smoker, pain, weight = study.questions
    assert isinstance(smoker.question, WithinGroups) and isinstance(pain.question, WithinGroups)
    assert isinstance(weight.question, sv.GroupMean)
    assert smoker.group_text("de") == "Ihr Geschlecht?" and smoker.label("women", "de") == "Frauen"
    assert dict(study.population)["smoker"].within == ((0.2, 0.4, 0.4), (0.5, 0.25, 0.25))
    plan = study.plan(6000)
    simulated = simulate_study(plan, drawn_answers(study.questions, dict(study.population), 6000, 1), seed=2)
    frame = simulated.to_frame().set_index(["question", "measure", "label"])
    assert not frame["truth"].isna().any() and frame["covered"].mean() > 0.85
    women = frame.loc[("smoker", "share within a group", "women: yes")]
    assert 0 <= women["low"] < 0.2 < women["high"] <= 1 and women["could_be_low"] < women["low"]
    gap = frame.loc[("smoker", "share difference", "women: yes less men: yes")]
    assert gap["p_value"] < 0.01 and gap["high"] < 0 and gap["low"] < -0.3 < gap["high"]
    assert frame.loc[("pain", "quantile difference", "women less men")]["p_value"] < 0.01
    assert ("weight", "mean difference", "women less men") in frame.index
    write_export(simulated.results, tmp_path / "out")
    assert "women: yes less men: yes" in (tmp_path / "out" / "publication.md").read_text(encoding="utf-8")


def test_a_group_that_may_be_empty_has_the_whole_range_and_no_number() -> None:
    question = WithinGroups(sv.Categories(["a", "b"]), sv.Frequency(sv.Categories(["yes", "no"])))
    mechanism = sv.plan(question, epsilon=1, participants=300).best.mechanism
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize([("a", "yes")] * 300, seed=1)))
    low, high = estimate.ci()
    assert np.isnan(estimate.values[2:]).all() and (low[2:] == 0).all() and (high[2:] == 1).all()
    assert estimate.all_pairs().not_estimable == ("b",) and len(estimate.all_pairs().values) == 0
    assert "not estimable" in estimate.explain()


def test_cells_of_reasons_are_one_each_and_the_law_is_that_of_a_distribution() -> None:
    cells = Cells(Pair(sv.Categories(["f", "m", "refused"]), sv.Categories(["yes", "no"])), 1)
    answers = [("f", "yes"), ("f", "no"), ("m", "yes"), ("m", "no"), ("refused", "yes"), ("refused", "no")]
    assert [cells.encode(one) for one in answers] == [0, 1, 2, 3, 4, 4] and cells.size == 5
    question = sv.Quantile(sv.Integers(0, 2), ("0.5",))
    mechanism = sv.plan(question.with_reasons(("refused",)), epsilon=1, participants=100).best.mechanism
    checks.check_small(checks.instance(mechanism, mechanism.channel))
    assert flat(mechanism).domain == sv.Integers(0, 3) and "; holds" in str(sv.audit(mechanism))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ('"variance"\nlow = 0\nhigh = 9\nby = ["a", "b"]', "`by` is not supported for questions of kind variance."),
        ('"variance"\nlow = 0\nhigh = 9\nmissing = ["no"]', "`missing` is not supported for questions of kind varian"),
    ],
)
def test_what_cannot_be_asked_is_said_at_its_key(ask: str, words: str) -> None:
    text = HEAD + f'[questions.one]\ntext = {{ en = "What?", de = "Was?" }}\nask = {ask}\n'
    _, (mistake,) = parse_study(text.encode())
    assert mistake.what.startswith(words) and "Remove it" in mistake.remedy
    assert text.splitlines()[mistake.line - 1].startswith(words[1:3])


def test_within_needs_groups() -> None:
    study = check_study((HEAD + SMOKER).encode())
    with pytest.raises(sv.ParameterError, match="`within` is a table, for a question about shares"):
        read_population(b"[population.pain]\nlaw = 'uniform'\nwithin = { yes = 1 }\n", study.questions)
