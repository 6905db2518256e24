"""Plans of every test: sample size, smallest difference and epsilon agree, and known formulas come out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import chi2, ncx2

import sottovoce as sv
from sottovoce.core.domain import Select
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.comparison.null_law import covariance_at
from sottovoce.estimate.group_mean.power import power_of_difference

YES_NO = sv.Frequency(sv.Categories(["yes", "no"]))
TEN = sv.Frequency(sv.Integers(0, 9))
PAIRS = sv.Frequency(Select(sv.Record({"a": sv.Integers(0, 1), "b": sv.Integers(0, 2)}), ["a", "b"]))
GROUPS = sv.GroupMean(sv.Categories(["a", "b", "c"]), sv.Interval(0, 10))
CASES = {
    "equivalence": (sv.TestOf(YES_NO, difference=0.03, test="equivalence"), ["grr"]),
    "stated": (sv.TestOf(sv.Mean(sv.Interval(0, 10)), difference=0.3, test="stated"), ["bernoulli"]),
    "goodness of fit": (sv.TestOf(TEN, difference=0.01, test="stated", overall=True), ["grr", "oue"]),
    "independence": (sv.TestOf(PAIRS, difference=0.02, test="independence"), ["grr", "oue"]),
    "groups": (sv.TestOf(GROUPS, difference=0.5, test="groups"), ["group-bernoulli"]),
}


@pytest.mark.parametrize("name", CASES)
def test_the_three_numbers_of_a_plan_agree(name: str) -> None:
    test, methods = CASES[name]
    people = sv.plan(test, epsilon=2, power=0.85, methods=methods)
    assert people.power_of(people.difference) == pytest.approx(0.85, abs=0.003)
    smallest = sv.plan(
        replace(test, difference=None), epsilon=2, participants=people.participants, power=0.85, methods=methods
    )
    assert smallest.solved_for == "difference" and smallest.difference == pytest.approx(
        float(test.difference), rel=1e-3
    )
    if name != "groups":  # its search takes seconds
        budget = sv.plan(test, participants=people.participants, power=0.85, methods=methods)
        assert float(budget.epsilon) == pytest.approx(2, rel=0.01)
    more = sv.plan(test, epsilon=2, power=0.95, methods=methods)
    assert more.participants > people.participants and "probability 0.95" in more.advice


def test_powers_are_those_of_the_formulas() -> None:
    equal = sv.plan(CASES["equivalence"][0], epsilon=2, methods=["grr"])
    error = equal.best.std_error * 2  # of two halves
    assert equal.power_of(0.03) == pytest.approx(2 * ndtr(0.03 / error - ndtri(0.95)) - 1)
    table = sv.plan(CASES["independence"][0], epsilon=2, methods=["grr"])
    variance = (
        covariance_at(table.best.mechanism, [1 / 6] * 6)[0, 0] - covariance_at(table.best.mechanism, [1 / 6] * 6)[0, 1]
    )
    strength = table.participants * 6 * 0.02**2 / variance
    assert table.power_of(0.02) == pytest.approx(float(ncx2.sf(chi2.isf(0.05, 2), 2, strength)))
    two = sv.GroupMean(sv.Categories(["a", "b"]), sv.Interval(0, 10))
    groups = sv.plan(sv.TestOf(two, difference=0.5, test="groups"), epsilon=2, methods=["group-bernoulli"])
    pair = power_of_difference(groups.best.mechanism, 0.5, n=groups.participants)
    assert groups.power_of(0.5) == pytest.approx(pair, abs=1e-3) and pair >= 0.8


def test_tests_that_a_question_does_not_have_are_refused() -> None:
    for bad, said in (
        (lambda: sv.TestOf(YES_NO, test="identity"), "one of difference, equivalence"),
        (lambda: sv.TestOf(YES_NO, test="independence"), "all pairs of two attributes"),
        (lambda: sv.TestOf(YES_NO, test="groups"), "needs the question GroupMean"),
        (lambda: sv.TestOf(YES_NO, test="equivalence", overall=True), "has no overall form"),
    ):
        with pytest.raises(ParameterError, match=said):
            bad()
