"""Quantiles in rounds in a study: the key, the plan, and a simulated study."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.protocols.quantile.rounds import QuantileRounds
from sottovoce.study.reading import parse_study

STUDY = """
[study]
name = "sleep"
owner = "Institute"
contact = "dpo@example.org"
purpose = "Plan courses."
unit = "person"
epsilon = "2"
participants = 8000

[questions.hours]
ask = "median"
text = "How long do you sleep?"
low = 0
high = 12
rounds = true

[questions.smokes]
ask = "frequency"
text = "Do you smoke?"
categories = ["yes", "no"]
"""


def study_of(text: str, tmp_path: Path) -> sv.Study:
    path = tmp_path / "study.toml"
    path.write_text(text)
    return sv.read_study(path)


@pytest.mark.slow
def test_a_median_in_rounds_is_planned_and_simulated(tmp_path: Path) -> None:
    study = study_of(STUDY, tmp_path)
    assert study.in_rounds == ("hours",)
    plan = study.plan(8_000)
    hours = plan.question("hours")
    assert hours.procedure == QuantileRounds(sv.Interval(0, 12), ["0.5"], 2, 4_000)
    assert "Asked in one round, the margin of hours would be" in plan.advice
    answers = {
        "hours": np.random.default_rng(1).normal(7, 1, 8_000).clip(0, 12).round(3),
        "smokes": ["yes", "no"] * 4_000,
    }
    table = sv.simulate_study(plan, answers, seed=1).to_frame()
    row = table[table.question == "hours"].iloc[0]
    assert row.low <= row.truth <= row.high and abs(row.estimate - row.truth) < 0.3


@pytest.mark.slow
def test_one_round_says_what_rounds_would_reach(tmp_path: Path) -> None:
    study = study_of(STUDY.replace("rounds = true", "rounds = false"), tmp_path)
    assert study.in_rounds == ()
    in_one = study.plan(8_000)
    in_rounds = study_of(STUDY, tmp_path).plan(8_000)
    margin = in_rounds.question("hours").half_width
    assert in_one.question("hours").half_width > margin
    assert f"Asked in five rounds (`rounds = true`), the margin of hours would be +- {margin:.3g}." in in_one.advice


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rounds = 5", "neither true nor false"),
        ('rounds = true\nmissing = ["no idea"]', "together with `missing`"),
        ('rounds = true\nby = ["women", "men"]', "together with `by`"),
    ],
)
def test_what_rounds_cannot_do_is_said_with_its_line(line: str, said: str) -> None:
    study, mistakes = parse_study(STUDY.replace("rounds = true", line).encode())
    assert study is None and [one for one in mistakes if said in str(one)]


def test_rounds_are_refused_for_other_questions_and_over_strata(tmp_path: Path) -> None:
    study = study_of(STUDY, tmp_path)
    facts = {"epsilon": 1, "unit": "person", "owner": "I", "contact": "a@b.org", "purpose": "p"}
    with pytest.raises(sv.ParameterError, match="questions of the study for quantiles"):
        sv.Study("sleep", **facts, questions=study.questions, in_rounds=["smokes"])
    strata = "\n[strata.north]\npeople = 10\n\n[strata.south]\npeople = 10\n"
    refused, mistakes = parse_study((STUDY + strata).encode())
    assert refused is None and any("not combined over strata" in str(one) for one in mistakes)
