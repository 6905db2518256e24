"""Public half-sets: the contract, the sets, and the tests with more power than those of all shares."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency, ncx2

import sottovoce as sv
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import HalfSets
from sottovoce.core.question.half_sets import most_sets
from sottovoce.estimate.comparison.chi_square import homogeneity
from sottovoce.estimate.comparison.half_sets import half_sets_power, half_sets_scaled
from sottovoce.study.power.overall import best_sets, overall_power
from sottovoce.testing import check_mechanism
from tests.each import for_each

FEW = sv.Categories(["lark", "owl", "neither", "both", "robin", "wren", "crow", "jay"])


def test_the_contract_holds() -> None:
    check_mechanism(sv.mechanism("half-sets", sv.Integers(-3, 4), epsilon=1))


@pytest.mark.slow
@for_each("size,epsilon", [(2, "8"), (3, "0.1"), (65, "1"), (300, "8")])
def test_the_contract_holds_for_all_sizes(size: int, epsilon: str) -> None:
    check_mechanism(sv.mechanism("half-sets", sv.Integers(-3, size - 4), epsilon=epsilon))


@for_each("domain", [sv.Integers(0, 39), sv.Integers(0, 399), FEW])
def test_sets_are_balanced_and_test_different_contrasts(domain: Domain) -> None:
    size, count = domain.size or 0, min(16, most_sets(domain.size or 0))
    members = np.array([[*map(int, row)] for row in HalfSets(domain, count).members()])
    assert (np.abs(members.sum(axis=1) - size / 2) <= size / 10).all()
    signs = 2 * members - 1
    products = np.abs(signs @ signs.T / size - np.eye(count))
    assert products.max() < 0.3  # two sets meet in nearly half of each other


def test_sets_are_the_same_everywhere_and_others_for_another_seed() -> None:
    assert HalfSets(FEW, 2).members() == HalfSets(FEW, 2).members() != HalfSets(FEW, 2, seed=1).members()


def test_equal_shares_are_tested_by_pearsons_statistic_of_each_set() -> None:
    m = sv.mechanism("half-sets", FEW, epsilon=1, count=2)
    a, b = (m.estimate(sv.simulate_counts(m, [300 + 50 * shift] * 8, seed=shift)) for shift in (1, 2))
    counts = [np.stack([one.evidence.counts[place] for one in (a, b)]) for place in (0, 1)]  # type: ignore[attr-defined]
    expected = sum(chi2_contingency(table, correction=False).statistic for table in counts)
    test = homogeneity([a, b])
    assert test.statistic == pytest.approx(expected) and test.degrees == 2
    assert sv.compare(a, b).overall() == test and "half-sets" in test.valid_given


def test_stated_shares_are_tested() -> None:
    m = sv.mechanism("half-sets", FEW, epsilon=1)
    even = m.estimate(sv.simulate_counts(m, [1_000] * 8, seed=1))
    shares = dict.fromkeys(FEW.labels(), 0.125)
    assert sv.goodness_of_fit(even, shares).p_value > 0.01
    assert sv.goodness_of_fit(even, shares) == sv.goodness_of_fit(even, [0.125] * 8)
    uneven = m.estimate(sv.simulate_counts(m, [4_000, 0, 0, 0, 1_000, 1_000, 1_000, 1_000], seed=1))
    assert sv.goodness_of_fit(uneven, shares).p_value < 1e-6
    for wrong in ({"lark": 1}, [0.5] * 8, "even"):
        with pytest.raises(ParameterError, match="'shares' parameter of goodness_of_fit"):
            sv.goodness_of_fit(even, wrong)


def test_samples_of_two_mechanisms_are_refused() -> None:
    estimates = []
    for epsilon in (1, 2):
        m = sv.mechanism("half-sets", FEW, epsilon=epsilon)
        estimates.append(m.estimate(sv.simulate_counts(m, [100] * 8, seed=1)))
    with pytest.raises(ParameterError, match="one mechanism, the same for all samples"):
        homogeneity(estimates)


# --- power ------------------------------------------------------------------------------------------------
@pytest.mark.slow
@for_each("case", [(400, 0.004, 1, 50_000, 0.90), (40, 0.03, 0.5, 10_000, 0.64)])
def test_half_sets_have_the_promised_power(case: tuple[int, float, float, int, float]) -> None:
    """Averaged over sets and differences of random signs, from the law of the statistic; oracles have 0.44, 0.34."""
    size, difference, epsilon, people, promised = case
    count, level = best_sets(size, promised, 0.95), 0.95
    rng = np.random.default_rng(1)
    slope = math.tanh(epsilon / 2)
    powers = []
    for seed in range(60):
        members = np.array([[*map(int, row)] for row in HalfSets(sv.Integers(1, size), count, seed).members()])
        signs = rng.permuted(np.tile(np.repeat([1, -1], size // 2), (40, 1)), axis=1)
        seen = members @ (difference * signs.T)
        strength = people / 2 / count * 4 * slope**2 * (seen**2).sum(axis=0)
        powers.append(ncx2.sf(chi2.isf(1 - level, count), count, np.maximum(strength, 1e-12)))
    measured = float(np.mean(powers))
    m = sv.mechanism("half-sets", sv.Integers(1, size), epsilon=epsilon, count=count)
    assert measured >= promised
    assert abs(measured - overall_power(m, difference, people / 2, level, size - 1)) < 0.04
    oracle = sv.mechanism("subset", sv.Integers(1, size), epsilon=epsilon)
    assert overall_power(oracle, difference, people / 2, level, size - 1) < 0.5


def test_power_and_what_it_needs_are_inverse() -> None:
    for sets in (1, 6, 40):
        assert half_sets_power(half_sets_scaled(0.8, sets, 0.95), sets, 0.95) == pytest.approx(0.8)
        assert half_sets_power(0.0, sets, 0.95) == pytest.approx(0.05)


def test_the_plan_takes_half_sets_for_many_categories_only() -> None:
    def planned(size: int, **given: object) -> sv.Plan:
        test = sv.TestOf(sv.Frequency(sv.Integers(1, size)), difference=given.pop("difference", None), overall=True)
        return sv.plan(test, power=0.9, **given)  # type: ignore[arg-type]

    many = planned(100, epsilon=1, difference=0.01)
    assert many.best.method.startswith("half-sets") and many.best.mechanism.name == "half-sets"
    assert not planned(4, epsilon=1, difference=0.08).best.method.startswith("half-sets")
    back = planned(100, epsilon=1, participants=many.participants)
    assert back.difference == pytest.approx(0.01, rel=1e-3)  # type: ignore[attr-defined]
    assert back.power_of(back.difference) == pytest.approx(0.9)  # type: ignore[attr-defined]
    assert float(planned(100, participants=many.participants, difference=0.01).epsilon) == pytest.approx(1, abs=0.01)
    assert "root mean square" in many.advice


def test_an_overall_test_is_one_of_shares() -> None:
    with pytest.raises(ParameterError, match="overall test"):
        sv.TestOf(sv.Mean(sv.Interval(0, 1)), difference=0.1, overall=True)
    test = sv.TestOf(sv.Frequency(FEW), difference=0.1, overall=True)
    with pytest.raises(ParameterError, match="left out for an overall test"):
        sv.plan(test, epsilon=1, prior=[0.125] * 8)


def test_intervals_are_poor_where_one_side_of_a_half_set_is_rare() -> None:
    """With epsilon 8 nearly every report about a set tells the side of the only answer: the other side is rare."""
    mechanism = sv.mechanism("half-sets", sv.Integers(0, 7), epsilon=8, count=3, seed=4)
    same, mixed = ([3] * 2000, [place % 8 for place in range(2000)])
    poor = [mechanism.estimate(mechanism.tally(mechanism.privatize(one, seed=1))).evidence for one in (same, mixed)]
    assert [one.normal_is_poor().tolist() for one in poor] == [[True] * 3, [False] * 3]
