"""Findings: numbers rounded to their margin, bounded intervals, and verdicts from intervals that hold together."""

from __future__ import annotations

import pytest

import sottovoce as sv
from sottovoce.core.asked import Asked
from sottovoce.study.display.findings import Finding, Verdict
from sottovoce.study.display.numbers import NumberScale, decimals
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.questions import study_question
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.results import QuestionResult

FOOD = ["bread", "rice", "pasta", "soup"]


def found(counts: list[int]) -> Finding:
    """The finding about shares with these numbers of answers."""
    asked = Asked("food", sv.Frequency(sv.Categories(FOOD)))
    mechanism = sv.mechanism("grr", asked.question.domain, epsilon=3)
    answers = [food for food, count in zip(FOOD, counts, strict=True) for _ in range(count)]
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(answers, seed=1)))
    result = QuestionResult(asked, study_question(asked).answered({"food": estimate}))
    return ShownResult(result, 0.95).finding


@pytest.mark.parametrize(
    ("counts", "verdict", "headline"),
    [
        ([3000, 1000, 1000, 1000], Verdict.CLEAR, "“bread” is the most frequent answer"),
        ([2500, 2500, 500, 500], Verdict.CHANCE, "lead, their order is open"),
        ([1500, 1500, 1500, 1500], Verdict.CHANCE, "No answer clearly leads"),
    ],
)
def test_the_verdict_follows_the_simultaneous_intervals(counts, verdict, headline):
    finding = found(counts)
    assert finding.verdict is verdict and headline in finding.headline
    assert finding.key in finding.sentence


@pytest.mark.parametrize(("margin", "places"), [(0.03, 2), (0.5, 1), (1, 0), (11, 0), (120, -1), (2500, -2)])
def test_decimals_are_those_that_a_margin_supports(margin, places):
    assert decimals(margin) == places


def test_shares_are_bounded_and_rare_ones_are_below_their_upper_end():
    scale = NumberScale(0, "%", 100.0, (0.0, 1.0))
    line = scale.bounded(ResultLine("share", "x", -0.02, 0.03, -0.08, 0.04))
    assert (line.value, line.low) == (0, 0) and line.high == pytest.approx(0.06)  # as wide as above the estimate
    assert scale.shown(line) == ("under\u00a06\u00a0%", "")
    assert scale.text(0.314, 0.236, 0.384) == "31\u00a0% (24 to 38)"
    assert scale.difference(0.01, -0.07, 0.09) == "1\u00a0point (\u22127 to 9)"
