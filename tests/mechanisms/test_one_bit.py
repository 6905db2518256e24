"""One randomized bit about two stated distributions: the contract, the set, the test and its plan."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sottovoce as sv
from sottovoce.core.domain import Select
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.exact import law
from sottovoce.core.question import HalfSets
from sottovoce.estimate.comparison.simple_hypotheses import likelihood_ratio, likelihood_ratio_power
from sottovoce.testing import check_mechanism
from tests.each import for_each

DRINKS = sv.Categories(["tea", "coffee", "water", "other"])
USUAL, SUSPECTED = [0.4, 0.3, 0.2, 0.1], [0.2, 0.35, 0.2, 0.25]


def asked(epsilon: Any = 1) -> sv.Mechanism:
    return sv.mechanism("one-bit", DRINKS, epsilon=epsilon, shares=USUAL, other=SUSPECTED)


def test_the_contract_holds() -> None:
    check_mechanism(asked())


def test_the_set_holds_what_is_likelier_under_the_second_distribution() -> None:
    m: Any = asked()
    assert m.question.members() == ("0101",) and m.cells == 2
    assert sv.mechanism("one-bit", sv.Integers(0, 4), epsilon=1).question.members() == ("11000",)  # type: ignore[attr-defined]
    spec = json.loads(json.dumps(m.spec()))
    assert spec["question"]["sets"] == ["0101"] and sv.Mechanism.from_spec(spec) == m


def test_no_set_tells_two_distributions_better_apart() -> None:
    """The difference of the rates of a bit is the total variation distance times 2 p - 1, the most of all sets."""
    m = asked()
    rates = [{report: float(p) for (_, report), p in law(m.channel, code).items()} for code in range(4)]
    gap = np.subtract(SUSPECTED, USUAL)
    told = abs(sum(change * rate[0] for change, rate in zip(gap, rates, strict=True)))
    slope = math.tanh(0.5)  # 2 p - 1 at epsilon 1
    every = [abs(float(gap @ np.array(inside))) for inside in product((0, 1), repeat=4)]
    assert told == pytest.approx(slope * max(every)) == pytest.approx(slope * np.abs(gap).sum() / 2)


def test_the_p_value_is_that_of_a_binomial_test_of_the_bits() -> None:
    m = asked()
    estimate = m.estimate(sv.simulate_counts(m, [240, 330, 200, 230], seed=3))
    test = likelihood_ratio(estimate, USUAL, SUSPECTED)
    yes = int(estimate.evidence.counts[0, 0])  # type: ignore[attr-defined]
    keep = math.e / (math.e + 1)
    rate = 0.4 * keep + 0.6 * (1 - keep)  # 0.3 + 0.1 of the answers are in the set
    exact, next_one = binom.sf(yes - 1, 1_000, rate), binom.sf(yes, 1_000, rate)
    assert next_one < test.p_value < exact  # a continuous approximation lies between both
    assert likelihood_ratio(estimate, dict(zip(DRINKS.labels(), USUAL, strict=True)), SUSPECTED) == test
    assert "stated set" in estimate.explain()


def test_the_test_has_the_planned_power_and_level() -> None:
    test = sv.TestOf(sv.Frequency(DRINKS), 0.1, test="two distributions", other=SUSPECTED)
    plan = sv.plan(test, epsilon=1, power=0.8, prior=USUAL)
    m = plan.best.mechanism
    assert plan.best.method == "one-bit" and m == asked()
    between = 0.5 * (np.array(USUAL) + SUSPECTED)  # half the way: their distance is 0.2
    assert likelihood_ratio_power(m, USUAL, between, plan.participants) == pytest.approx(0.8, abs=2e-4)
    rng, seen, false, runs = np.random.default_rng(5), 0, 0, 400
    for _ in range(runs):
        for truth in (USUAL, between):
            counts = rng.multinomial(plan.participants, truth)
            estimate = m.estimate(sv.simulate_counts(m, counts, seed=int(rng.integers(1 << 62))))
            found = likelihood_ratio(estimate, USUAL, between).p_value < 0.05
            seen, false = seen + (found and truth is not USUAL), false + (found and truth is USUAL)
    assert abs(seen / runs - 0.8) < 3.4 * math.sqrt(0.16 / runs)
    assert abs(false / runs - 0.05) < 3.4 * math.sqrt(0.0475 / runs)


def test_one_bit_needs_far_fewer_people_than_oracles_where_answers_are_many() -> None:
    size = 40
    other = (1 + 0.5 * np.linspace(1, -1, size)) / size
    test = sv.TestOf(sv.Frequency(sv.Integers(1, size)), 0.05, test="two distributions", other=other)
    needed = {name: sv.plan(test, epsilon=1, methods=[name]).participants for name in ("one-bit", "grr", "hadamard")}
    assert 5 * needed["one-bit"] < min(needed["grr"], needed["hadamard"])
    found = sv.plan(sv.TestOf(test.question, test=test.test, other=other), epsilon=1, participants=needed["one-bit"])
    assert found.difference == pytest.approx(0.05, rel=1e-3) and found.power_of(0.0) == pytest.approx(0.05)  # type: ignore[attr-defined]


@for_each(
    "options,said",
    [
        ({"other": [0.5, 0.5]}, "'other' parameter of one-bit must be a list of 4 shares"),
        ({"shares": "tea", "other": USUAL}, "'shares' parameter of one-bit must be a list of 4 shares"),
        ({"shares": USUAL, "other": USUAL}, "are the same"),
    ],
)
def test_other_hypotheses_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        sv.mechanism("one-bit", DRINKS, epsilon=1, **options)


@for_each("sets", [["0000"], ["01"], ["0101", "0101"], "0101", [1], 7, ["01x1"]])
def test_sets_that_tell_nothing_are_refused(sets: Any) -> None:
    with pytest.raises(ParameterError, match="'sets' parameter of half-sets"):
        HalfSets(DRINKS, sets=sets)
    for fields in ({"sets": ["0101"], "count": 1}, {"sets": ["0101"], "seed": 0}, {"count": 1}):
        with pytest.raises(SpecError):
            HalfSets.about(DRINKS, fields)


@for_each(
    "test,least,said",
    [
        # Perfect association of a and b in a table of 2 x 4 equally common answers: 1/4 in one cell of each column.
        (("association", (2, 4)), math.sqrt(4 * (0.25**2) - 8 * (1 / 8) ** 2) / math.sqrt(8), "differ by more than"),
        (("independence", (2, 2)), math.sqrt(4 * 0.25**2) / math.sqrt(4), "differ by more than"),
        (("difference", (3,)), 1.0, "differ by more than 1"),
        (("equivalence", (3,)), 1.0, "differ by more than 1"),
    ],
)
def test_plans_of_impossible_differences_are_refused(test: tuple[str, Any], least: float, said: str) -> None:
    name, sizes = test
    fields = {f"q{place}": sv.Integers(1, size) for place, size in enumerate(sizes)}
    domain = Select(sv.Record(fields), [*fields]) if len(sizes) == 2 else sv.Integers(1, sizes[0])
    question = sv.Frequency(domain)
    with pytest.raises(ParameterError, match=said):
        sv.plan(sv.TestOf(question, least * 1.01, test=name), epsilon=1)
    assert sv.plan(sv.TestOf(question, least * 0.99, test=name), epsilon=1).participants > 10
    with pytest.raises(ParameterError, match=r"With 20 participants this test sees no difference that is possible"):
        sv.plan(sv.TestOf(question, test=name), epsilon="0.1", participants=20)


def test_no_stated_share_is_negative() -> None:
    for given in (
        {"shares": [0.25] * 4, "other": [0.5, 0.75, -0.25, 0]},
        {"shares": [1.5, -0.5, 0, 0], "other": [0.25] * 4},
    ):
        with pytest.raises(sv.ParameterError, match="4 shares from 0 to 1"):
            sv.mechanism("one-bit", sv.Integers(0, 3), epsilon=1, **given)
