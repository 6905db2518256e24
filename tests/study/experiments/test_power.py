"""Plans of every test: sample size, smallest difference and epsilon agree, and known formulas come out."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import chi2, ncx2

import sottovoce as sv
from sottovoce.core.domain import Select
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.attributes.evidence import part_mechanisms
from sottovoce.estimate.comparison.identity import squares_tail
from sottovoce.estimate.comparison.null_law import covariance_at
from sottovoce.estimate.comparison.watched import log_e_value
from sottovoce.estimate.group_mean.power import power_of_difference
from sottovoce.study.power.watched import WatchedLaw, bets_of

YES_NO = sv.Frequency(sv.Categories(["yes", "no"]))
TEN = sv.Frequency(sv.Integers(0, 9))
PAIRS = sv.Frequency(Select(sv.Record({"a": sv.Integers(0, 1), "b": sv.Integers(0, 2)}), ["a", "b"]))
PEOPLE = sv.Record({"a": sv.Integers(0, 1), "b": sv.Integers(0, 2), "c": sv.Integers(0, 1)})
GROUPS = sv.GroupMean(sv.Categories(["a", "b", "c"]), sv.Interval(0, 10))
CASES = {
    "equivalence": (sv.TestOf(YES_NO, difference=0.03, test="equivalence"), ["grr"]),
    "stated": (sv.TestOf(sv.Mean(sv.Interval(0, 10)), difference=0.3, test="stated"), ["bernoulli"]),
    "goodness of fit": (sv.TestOf(TEN, difference=0.01, test="stated", overall=True), ["grr", "oue"]),
    "independence": (sv.TestOf(PAIRS, difference=0.02, test="independence"), ["grr", "oue"]),
    "identity": (sv.TestOf(TEN, difference=0.01, test="identity"), ["grr", "oue"]),
    "association": (sv.TestOf(PAIRS, difference=0.03, test="association"), None),
    "public category": (sv.TestOf(PAIRS, difference=0.01, test="public value"), None),
    "public number": (sv.TestOf(TEN, difference=0.4, test="public value"), None),
    "watched": (sv.TestOf(YES_NO, difference=0.1, watched=True), ["grr"]),
    "watched mean": (
        sv.TestOf(sv.Mean(sv.Interval(0, 10)), difference=0.3, test="stated", watched=True),
        ["bernoulli"],
    ),
    "tables": (sv.TestOf(sv.Joint(PEOPLE), difference=0.2, test="independence"), None),
    "groups": (sv.TestOf(GROUPS, difference=0.5, test="groups"), ["group-bernoulli"]),
}


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.slow) if "watched" in one else one for one in CASES]
)
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
    if name not in ("groups", "watched mean"):  # its search takes seconds
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


def test_powers_of_associations_are_those_of_the_formulas() -> None:
    table = sv.plan(CASES["association"][0], epsilon=2)
    first, second = part_mechanisms(table.best.mechanism)
    assert (first.epsilon, second.epsilon) == pytest.approx((1, 1))
    noise = 1.0
    for one, size in ((first, 2), (second, 3)):
        covariance = covariance_at(one, np.full(size, 1 / size))
        noise *= covariance[0, 0] - covariance[0, 1]  # of a unit contrast
    strength = table.participants * 6 * 0.03**2 / noise
    assert table.power_of(0.03) == pytest.approx(float(ncx2.sf(chi2.isf(0.05, 2), 2, strength)))
    # Two groups and a number: the z-score of the slope of the number on the scores of randomized response.
    two = sv.plan(sv.TestOf(YES_NO, difference=0.5, test="public value"), epsilon=1, prior=[0.3, 0.7])
    keep = math.e / (1 + math.e)
    rate = 0.3 * keep + 0.7 * (1 - keep)
    score = rate * (1 - rate) / (2 * keep - 1) ** 2  # variance of the score of one report
    strength = two.participants * (0.5 * 0.3 * 0.7) ** 2 / score / (1 + 0.3 * 0.7 * 0.5**2)
    assert two.power_of(0.5) == pytest.approx(float(ncx2.sf(chi2.isf(0.05, 1), 1, strength)), rel=1e-6)
    assert "0.5 standard deviations" in two.advice


def test_tables_see_the_association_that_one_report_about_their_cells_sees() -> None:
    """Of one table Cramer's V is k D / root(min - 1), for a root mean square difference D of its k cells."""
    one = sv.Joint(PEOPLE, tables=[("a", "b")])
    table = sv.plan(sv.TestOf(one, difference=0.2, test="independence"), epsilon=2, methods=["table-views"])
    cells = sv.TestOf(sv.Frequency(Select(PEOPLE, ["a", "b"])), difference=0.2 / 6, test="independence")
    assert table.participants == sv.plan(cells, epsilon=2, methods=["subset"]).participants
    assert "sees a Cramer's V of 0.2 with probability 0.8. A Cramer's V of 0.1" in table.advice
    # Three tables: people are divided, and the pair that needs the largest V decides.
    three = sv.TestOf(sv.Joint(PEOPLE), difference=0.2, test="independence")
    apart = sv.plan(three, epsilon=2, methods=["table-views"])
    together = sv.plan(replace(three, comparisons=3), epsilon=2, methods=["table-views"])
    assert table.participants < apart.participants < together.participants
    # Bits: each parity of two is told by a third of the views of two, by all blocks of all three.
    bits = sv.Joint(sv.Record({name: sv.Integers(0, 1) for name in "abc"}))
    seen = {}
    for method in ("table-views", "parity-blocks", "inp-ht"):
        seen[method] = sv.plan(sv.TestOf(bits, test="independence"), epsilon=1, participants=9_000, methods=[method])
    odds = math.exp(1)
    kept = ((odds - 1) / (odds + 1)) ** 2 / 6  # InpHT: a coefficient of six, by randomized response
    strength = float(brentq(lambda one: ncx2.sf(chi2.isf(0.05, 1), 1, one) - 0.8, 1, 20))
    assert seen["inp-ht"].difference == pytest.approx(math.sqrt(strength / 9_000 / kept))
    assert seen["parity-blocks"].difference < seen["inp-ht"].difference
    with pytest.raises(ParameterError, match="sees no difference that is possible"):
        sv.plan(sv.TestOf(bits, test="independence"), epsilon=8, participants=100)


def test_identity_of_even_shares_has_the_power_of_goodness_of_fit() -> None:
    fit = sv.plan(sv.TestOf(TEN, difference=0.01, test="stated", overall=True), epsilon=1, methods=["subset"])
    identity = sv.plan(sv.TestOf(TEN, difference=0.01, test="identity"), epsilon=1, methods=["subset"])
    assert identity.participants == pytest.approx(fit.participants, rel=2e-3)  # the same test but for its law's tail
    weights, shifts = np.full(9, 0.7), np.linspace(0, 2, 9)
    for x in (7.0, 12.0, 20.0):
        expected = float(ncx2.sf(x / 0.7, 9, shifts.sum()))
        assert squares_tail(weights, x, shifts) == pytest.approx(expected, rel=0.005)


def test_watched_tests_reach_their_bounds_where_e_values_do() -> None:
    """The bound of a look, from the normal law, is where the e-value of such counts reaches 20."""
    mechanism = sv.mechanism("grr", YES_NO.domain, epsilon=1)
    sides = bets_of(mechanism)
    assert sides is not None
    deviation = math.sqrt(2_000 * mechanism.variance([0.5, 0.5], 2_000)[0])
    law = WatchedLaw(sides, deviation, 0.5, 0.05)
    (z,) = law.bounds(np.array([4_000.0]))
    half = z * law.error(4_000) / 2
    low, high = sides.numbers if len(sides.numbers) == 2 else (0.0, 1.0)
    counts = [
        np.array([1 - rate, rate]) * 2_000
        for rate in ((0.5 + half - low) / (high - low), (0.5 - half - low) / (high - low))
    ]
    assert log_e_value(*(replace(sides, counts=one) for one in counts)) == pytest.approx(math.log(20), abs=0.1)
    assert law.power(0.0, 4_000) < 0.05 < 0.4 < law.power(float(z), 4_000) < 0.7  # the last look alone has one half


def test_tests_that_a_question_does_not_have_are_refused() -> None:
    for bad, said in (
        (lambda: sv.TestOf(YES_NO, test="anything"), "one of difference, equivalence"),
        (lambda: sv.TestOf(GROUPS, test="identity"), "needs a Frequency"),
        (lambda: sv.TestOf(YES_NO, test="association"), "A test of association needs the shares of all pairs"),
        (lambda: sv.TestOf(YES_NO, overall=True, watched=True), "may be watched"),
        (lambda: sv.plan(sv.TestOf(PAIRS, 0.1, test="association"), epsilon=1, prior=[0.5]), "left out for a test"),
        (lambda: sv.TestOf(YES_NO, test="independence"), "all pairs of two attributes"),
        (lambda: sv.TestOf(YES_NO, test="groups"), "needs the question GroupMean"),
        (lambda: sv.TestOf(YES_NO, test="equivalence", overall=True), "has no overall form"),
    ):
        with pytest.raises(ParameterError, match=said):
            bad()
