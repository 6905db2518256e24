"""Tests of the papers and tests that may be watched: null laws, exact references, refusals."""

from __future__ import annotations

import doctest
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chi2, chi2_contingency, norm

import sottovoce as sv
from sottovoce.core.errors import NoIntervalError, ParameterError
from sottovoce.core.question import half_sets
from sottovoce.estimate.comparison import associations, identity, simple_hypotheses, stated_mean
from sottovoce.estimate.comparison.associations import association, private_groups
from sottovoce.estimate.comparison.identity import identity_test, squares_tail
from sottovoce.estimate.comparison.simple_hypotheses import likelihood_ratio, likelihood_ratio_power
from sottovoce.estimate.comparison.stated_mean import z_test, z_test_power
from sottovoce.estimate.comparison.watched import e_mean, log_e_value, watched_mean
from tests.each import for_each

FOUR = sv.Integers(0, 3)
YES_NO = sv.Categories(["yes", "no"])
SHARES = [0.55, 0.3, 0.14, 0.01]
HOURS = sv.Interval(0, 10)


def counted(mechanism: sv.Mechanism, counts: Any, seed: int) -> sv.Estimate:
    return mechanism.estimate(sv.simulate_counts(mechanism, counts, seed=seed))


def check_null(p_values: Any) -> None:
    """Within 3.4 standard errors of 5 %: a right test fails once in more than 1,000 such checks."""
    rate = float((np.asarray(p_values) < 0.05).mean())
    assert abs(rate - 0.05) < 3.4 * math.sqrt(0.05 * 0.95 / len(p_values)), rate


@pytest.mark.slow
@for_each("module", [associations, half_sets, identity, simple_hypotheses, stated_mean])
def test_examples_of_docstrings_hold(module: Any) -> None:
    assert doctest.testmod(module, extraglobs={"sv": sv}).failed == 0


# --- tails ------------------------------------------------------------------------------------------------
def test_tails_of_weighted_squares_are_those_of_chi_square_for_equal_weights() -> None:
    for degrees in (3, 15, 99):
        for quantile in (0.5, 0.05, 0.01, 1e-6):
            x = 2.5 * float(chi2.isf(quantile, degrees))
            assert squares_tail(np.full(degrees, 2.5), x) == pytest.approx(quantile, rel=0.03)
        assert squares_tail(np.full(degrees, 1.0), float(degrees)) == pytest.approx(chi2.sf(degrees, degrees), abs=0.01)


def test_tails_of_unequal_weights_are_those_of_draws() -> None:
    weights = np.array([5.0, 1.0, 0.5, 0.1])
    draws = np.random.default_rng(1).chisquare(1, (200_000, 4)) @ weights
    for x in (10, 25):
        assert squares_tail(weights, x) == pytest.approx(float((draws >= x).mean()), abs=0.003)


# --- identity and simple hypotheses -----------------------------------------------------------------------
@pytest.mark.slow
@for_each("name", ["grr", "sue", "hadamard"])
def test_the_identity_test_has_its_level_and_sees_large_differences(name: str) -> None:
    m, rng = sv.mechanism(name, FOUR, epsilon=1), np.random.default_rng(2)
    p_values = [
        identity_test(counted(m, rng.multinomial(1_500, SHARES), int(rng.integers(1 << 40))), SHARES).p_value
        for _ in range(600)
    ]
    check_null(p_values)
    assert identity_test(counted(m, [3_000, 3_000, 0, 0], 1), dict(zip(range(4), SHARES, strict=True))).rejects()


def test_the_likelihood_ratio_of_two_answers_is_the_binomial_test() -> None:
    m = sv.mechanism("grr", YES_NO, epsilon=1)
    estimate = counted(m, [1_050, 950], 3)
    test = likelihood_ratio(estimate, [0.5, 0.5], [0.6, 0.4])
    yes = int(estimate.evidence.output_tallies()[0].cells[0])
    exact, without = (float(binom.sf(count, 2_000, 0.5)) for count in (yes - 1, yes))
    assert without <= test.p_value <= exact
    assert "one of the two stated distributions" in test.valid_given and test.law == "log-likelihood ratio"


@pytest.mark.slow
def test_the_likelihood_ratio_has_the_predicted_level_and_power() -> None:
    m, rng, other = sv.mechanism("hadamard", FOUR, epsilon=1), np.random.default_rng(4), [0.45, 0.35, 0.15, 0.05]
    p_values = {
        name: [
            likelihood_ratio(
                counted(m, rng.multinomial(1_500, held), int(rng.integers(1 << 40))), SHARES, other
            ).p_value
            for _ in range(600)
        ]
        for name, held in (("null", SHARES), ("other", other))
    }
    check_null(p_values["null"])
    measured = float((np.asarray(p_values["other"]) < 0.05).mean())
    assert abs(measured - likelihood_ratio_power(m, SHARES, other, 1_500)) < 0.07


def test_likelihood_ratios_need_counts_of_reports() -> None:
    oue = sv.mechanism("oue", FOUR, epsilon=1)
    with pytest.raises(ParameterError, match="grr or hadamard"):
        likelihood_ratio(counted(oue, [10] * 4, 1), SHARES, [0.25] * 4)
    with pytest.raises(ParameterError, match="such as grr"):
        likelihood_ratio_power(oue, SHARES, [0.25] * 4, 100)


# --- one number -------------------------------------------------------------------------------------------
def test_the_z_test_agrees_with_the_interval() -> None:
    m = sv.mechanism("bernoulli", HOURS, epsilon=1)
    estimate = m.estimate(m.tally(m.privatize([4, 5, 9] * 1_000, seed=1)))
    low, high = (float(end[0]) for end in estimate.ci(0.95))
    for end, inside in ((low, 1e-4), (high, -1e-4)):
        assert z_test(estimate, round(end, 9)).p_value == pytest.approx(0.05, abs=1e-6)
        assert not z_test(estimate, end + inside).rejects() and z_test(estimate, end - inside).rejects()
    z = (estimate.value - 5) / float(estimate.std_errors[0])
    assert z_test(estimate, 5).statistic == pytest.approx(z, rel=1e-4)
    assert z_test_power(1.96, 1.0) == pytest.approx(0.5, abs=0.001) == 1 - norm.cdf(0)


def test_gaussian_means_have_z_tests_of_one_and_two_samples() -> None:
    draw = random.Random(1)

    def measured(mean: float, seed: int) -> sv.Estimate:
        protocol = sv.GaussianMeanKnownSigma(sv.Interval(-1000, 1000), sigma=2, epsilon=2, participants=3000)
        return sv.simulate(protocol, [draw.gauss(mean, 2) for _ in range(3000)], seed=seed)["mean"]

    one, other = measured(170, 1), measured(170.6, 2)
    assert not z_test(one, 170).rejects(0.999) and z_test(one, 171).rejects(0.999)
    (two,) = sv.compare(one, other).tests()
    assert two.rejects(0.99) and two.law == "z"


def test_z_tests_are_about_one_number() -> None:
    with pytest.raises(ParameterError, match="one number"):
        z_test(counted(sv.mechanism("grr", FOUR, epsilon=1), [10] * 4, 1), 0.5)


# --- associations -----------------------------------------------------------------------------------------
def test_two_reports_of_each_person_have_pearsons_statistic_for_grr() -> None:
    m, rng = sv.mechanism("grr", FOUR, epsilon=2), np.random.default_rng(5)
    held = rng.choice(4, 2_000, p=SHARES)
    first, second = m.privatize(held, seed=1), m.privatize(np.maximum(held, rng.choice(4, 2_000)), seed=2)
    pairs = np.zeros((4, 4))
    np.add.at(pairs, (first.payload, second.payload), 1)
    expected = chi2_contingency(pairs, correction=False)
    test = association(first, second)
    assert test.statistic == pytest.approx(expected.statistic * 1_999 / 2_000) and test.degrees == 9
    assert test.rejects(0.999) and 0.2 < test.effect.value < 1  # type: ignore[union-attr]
    independent = association(first, m.privatize(rng.choice(4, 2_000), seed=3))
    assert not independent.rejects(0.999) and independent.n == 4_000
    both = sv.mechanism("split-attributes", sv.Record({"a": FOUR, "b": FOUR}), epsilon=4, shares="grr")
    people = [{"a": one, "b": other} for one, other in ((0, 0), (1, 1), (2, 2), (0, 3))] * 200
    together = both.privatize(people, seed=1)
    assert association(together).degrees == 9 and association(together).rejects(0.999)
    with pytest.raises(ParameterError, match="split-attributes about two answers"):
        association(first)


@pytest.mark.slow
@for_each("name", ["grr", "hadamard"])
def test_associations_and_private_groups_have_their_level(name: str) -> None:
    m, rng = sv.mechanism(name, FOUR, epsilon=1), np.random.default_rng(6)
    p_values: dict[str, list[float]] = {"two": [], "number": [], "text": []}
    for run in range(300):
        groups, values = rng.choice(4, 1_500, p=SHARES), rng.lognormal(0, 1.5, 1_500).round(1)
        reports = m.privatize(groups, seed=run)
        p_values["two"].append(association(reports, m.privatize(rng.choice(4, 1_500), seed=run + 5_000)).p_value)
        p_values["number"].append(private_groups(reports, values).p_value)
        p_values["text"].append(private_groups(reports, np.where(values > 3, "high", "low")).p_value)
    for rates in p_values.values():
        check_null(rates)


def test_a_public_value_that_depends_on_the_group_is_seen() -> None:
    m = sv.mechanism("grr", YES_NO, epsilon=1)
    reports = m.privatize(["yes", "no"] * 1_500, seed=1)
    number = private_groups(reports, [3, 2] * 1_500)
    assert number.rejects(0.999) and number.effect.value == pytest.approx(1, abs=0.3)  # type: ignore[union-attr]
    assert private_groups(reports, ["a", "b"] * 1_500).rejects(0.999)


def test_reports_that_do_not_fit_are_refused() -> None:
    m, oue = sv.mechanism("grr", YES_NO, epsilon=1), sv.mechanism("oue", YES_NO, epsilon=1)
    reports = m.privatize(["yes", "no"], seed=1)
    for wrong, sentence in (
        (lambda: association(reports, m.privatize(["yes"], seed=1)), "Got 2 and 1 reports"),
        (lambda: association(reports, oue.privatize(["yes", "no"], seed=1)), "numbered"),
        (lambda: private_groups([1, 2], [1, 2]), "reports of each person"),  # type: ignore[arg-type]
        (lambda: private_groups(reports, [1]), "One value for each report"),
        (lambda: private_groups(reports, [1, 1]), "all the same"),
        (lambda: private_groups(reports, [1, math.nan]), "finite"),
    ):
        with pytest.raises(ParameterError, match=sentence):
            wrong()


# --- tests that may be watched ----------------------------------------------------------------------------
def test_an_e_value_is_a_bound_and_close_to_the_smallest_product() -> None:
    m = sv.mechanism("grr", YES_NO, epsilon=1)
    one, other = (counted(m, counts, 1).evidence.watched()[0] for counts in ([600, 400], [500, 500]))
    products = [
        np.logaddexp(one.above(mean) + other.below(mean), one.below(mean) + other.above(mean)) - math.log(2)
        for mean in np.linspace(0.3, 0.8, 501)
    ]
    found = log_e_value(one, other)
    assert min(products) - 0.05 <= found <= min(products) + 1e-9


@pytest.mark.slow
def test_the_expected_e_value_is_at_most_one_over_the_law() -> None:
    """Exact, over all counts of two small samples with the same share."""
    m, n, share = sv.mechanism("grr", YES_NO, epsilon=2), 6, 0.3
    rate = float(np.array([share, 1 - share]) @ np.array([m.channel.likelihood(0, code) for code in (0, 1)], float))
    evidence: Any = counted(m, [n, 0], 1).evidence
    sides = [replace(evidence, counts=np.array([k, n - k])).watched()[0] for k in range(n + 1)]
    weights = binom.pmf(np.arange(n + 1), n, rate)
    mean = sum(
        weights[i] * weights[j] * math.exp(log_e_value(sides[i], sides[j])) for i in range(n + 1) for j in range(n + 1)
    )
    assert 0.05 < mean <= 1


def test_watched_tests_say_so_and_see_differences() -> None:
    m = sv.mechanism("grr", YES_NO, epsilon=1)
    tests = sv.compare(counted(m, [6_000, 4_000], 1), counted(m, [5_000, 5_000], 2)).watched()
    assert len(tests) == 2 and tests[0].e_value == tests[0].statistic > 1_000
    assert tests[0].p_value == pytest.approx(1 / tests[0].statistic)
    assert (
        "ever occur with a probability of at most" in tests[0].explain() and "end the experiment" in tests[0].explain()
    )
    assert e_mean(tests).statistic == pytest.approx(np.mean([one.statistic for one in tests]))
    same = sv.compare(counted(m, [5_000, 5_000], 1), counted(m, [5_000, 5_000], 2)).watched()
    assert same[0].p_value == 1.0
    mean = sv.mechanism("piecewise", HOURS, epsilon=1)
    estimate = mean.estimate(mean.tally(mean.privatize([4, 5, 9] * 3_000, seed=1)))
    assert watched_mean(estimate, 5).rejects() and not watched_mean(estimate, 6).rejects()


def test_what_cannot_be_watched_is_refused() -> None:
    wave = sv.mechanism("haar", sv.Integers(0, 7), epsilon=1)
    estimates = [wave.estimate(wave.tally(wave.privatize(np.arange(8).repeat(50), seed=seed))) for seed in (1, 2)]
    with pytest.raises(NoIntervalError, match="may be watched"):
        sv.compare(*estimates).watched()
    m = sv.mechanism("grr", FOUR, epsilon=1)
    with pytest.raises(ParameterError, match="one value"):
        watched_mean(counted(m, [10] * 4, 1), 0.5)
    with pytest.raises(ParameterError, match="may be watched"):
        e_mean(sv.compare(counted(m, [10] * 4, 1), counted(m, [10] * 4, 2)).tests())


def test_joint_shares_of_very_large_tables_are_near_those_of_largest_likelihood(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mechanism = sv.mechanism("grr", sv.Integers(0, 2), epsilon=3)
    one = associations._scored(mechanism, np.array([50, 30, 20]))
    pairs = np.array([[60, 20, 5], [10, 70, 8], [4, 6, 90]])
    likeliest = associations._joint_shares(one, one, pairs)
    monkeypatch.setattr(associations, "MOST_EM", 0)
    nearest = associations._joint_shares(one, one, pairs)
    assert nearest.sum() == pytest.approx(1) and np.abs(nearest - likeliest).max() < 0.02
