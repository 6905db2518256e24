"""Tests and comparisons: null laws, consistency of p-values and intervals, power, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2_contingency, chisquare

import sottovoce as sv
from sottovoce.core.domain import Select
from sottovoce.core.errors import NoCovarianceError, ParameterError
from sottovoce.estimate.comparison.chi_square import _TwoWay, homogeneity
from sottovoce.estimate.comparison.compare import Comparison
from sottovoce.estimate.comparison.multiple import adjust
from sottovoce.estimate.comparison.null_law import covariance_at
from sottovoce.estimate.comparison.permutation import permutation_test
from sottovoce.estimate.comparison.tails import Cumulants, upper_tail
from tests.each import for_each

pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
SHARES = np.array([0.55, 0.3, 0.14, 0.01])  # one is rare
FOUR = sv.Integers(0, 3)
HOURS = sv.Interval(0, 14)
RECORD = sv.Record({"sex": sv.Categories(["f", "m"]), "smoker": sv.Categories(["no", "ex", "yes"])})
RUNS = 1000


def counted(mechanism: sv.Mechanism, counts: Any, seed: int) -> sv.Estimate:
    return mechanism.estimate(sv.simulate_counts(mechanism, counts, seed=seed))


def hashed(counts: list[int], seed: int) -> sv.Estimate:
    """Shares from hashed reports, whose joint law is not known."""
    mechanism = sv.mechanism("olh", FOUR, epsilon=1)
    return mechanism.estimate(mechanism.tally(mechanism.privatize(np.repeat(np.arange(4), counts), seed=seed)))


def rejections(p_values: Any, alpha: float = 0.05) -> float:
    return float((np.asarray(p_values) < alpha).mean())


def check_null(p_values: Any) -> None:
    """Within 3.4 standard errors of 5 %: a right test fails once in more than 1,000 such checks."""
    assert abs(rejections(p_values) - 0.05) < 3.4 * math.sqrt(0.05 * 0.95 / len(p_values)), rejections(p_values)


# --- null laws --------------------------------------------------------------------------------------------
@for_each("name", ["grr", "oue", "hadamard"])
def test_the_covariance_at_stated_shares_is_that_of_the_law(name: str) -> None:
    mechanism = sv.mechanism(name, FOUR, epsilon=1)
    covariance = covariance_at(mechanism, SHARES)
    assert np.allclose(np.diag(covariance), mechanism.variance(SHARES, 1), rtol=1e-6)
    rng = np.random.default_rng(3)
    values = np.array(
        [counted(mechanism, rng.multinomial(400, SHARES), int(rng.integers(1 << 40))).values for _ in range(RUNS)]
    )
    measured = np.cov(values.T) * 400
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs((measured - covariance) / scale).max() < 5 / math.sqrt(RUNS)


@pytest.mark.slow
@for_each("name", ["grr", "oue"])
def test_true_hypotheses_are_rejected_as_often_as_stated(name: str) -> None:
    """Goodness of fit, and equal shares in samples of unequal size, at few reports and with a rare category."""
    mechanism, rng = sv.mechanism(name, FOUR, epsilon=1), np.random.default_rng(11)
    fits, equal = [], []
    for _ in range(RUNS):
        seeds = rng.integers(1 << 40, size=2)
        a = counted(mechanism, rng.multinomial(1500, SHARES), int(seeds[0]))
        b = counted(mechanism, rng.multinomial(500, SHARES), int(seeds[1]))
        fits.append(sv.goodness_of_fit(a, SHARES).p_value)
        equal.append(homogeneity([a, b]).p_value)
    check_null(fits)
    check_null(equal)


@pytest.mark.slow
def test_comparisons_of_shares_and_means_hold_their_level() -> None:
    rng = np.random.default_rng(12)
    grr, mean = sv.mechanism("grr", FOUR, epsilon=2), sv.mechanism("pm-sub", HOURS, epsilon=1)
    answers = np.repeat([0.0, 6.5, 7.0, 8.0, 14.0], [500, 300, 900, 700, 100])  # heaped, and at both ends
    shares, means = [], []
    for _ in range(RUNS):
        seeds = [int(one) for one in rng.integers(1 << 40, size=4)]
        samples = [counted(grr, rng.multinomial(n, SHARES), seed) for n, seed in zip((1500, 600), seeds, strict=False)]
        shares.append(sv.compare(*samples).p_values)
        a, b = (
            mean.estimate(mean.tally(mean.privatize(rng.choice(answers, n), seed=seed)))
            for n, seed in zip((900, 500), seeds[2:], strict=True)
        )
        means.append(sv.compare(a, b).p_value)
    check_null(np.array(shares)[:, 0])
    assert rejections(np.array(shares)[:, 3]) < 0.066  # of the rare one at most
    check_null(means)


@pytest.mark.slow
def test_independence_is_rejected_as_often_as_stated_and_association_is_seen() -> None:
    mechanism, rng = sv.mechanism("grr", Select(RECORD, ["sex", "smoker"]), epsilon=2), np.random.default_rng(13)
    table = np.outer([0.6, 0.4], [0.7, 0.2, 0.1]).ravel()
    p_values = [
        sv.independence(counted(mechanism, rng.multinomial(2000, table), int(rng.integers(1 << 40)))).p_value
        for _ in range(RUNS)
    ]
    check_null(p_values)
    seen = sv.independence(counted(mechanism, [900, 100, 200, 300, 300, 200], 1), "sex", "smoker")
    assert seen.p_value < 1e-6 and seen.degrees == 2 and seen.effect is not None and seen.effect.value > 0.2


def test_without_noise_the_statistics_are_pearsons() -> None:
    """At a budget of 20 reports are answers, so that textbooks know the numbers."""
    mechanism = sv.mechanism("grr", FOUR, epsilon=20)
    one, other = [520, 310, 150, 20], [480, 340, 140, 40]
    a, b = (counted(mechanism, counts, 1) for counts in (one, other))
    fit, known = sv.goodness_of_fit(a, SHARES), chisquare(one, 1000 * SHARES)
    assert fit.statistic == pytest.approx(known.statistic, rel=1e-4)
    assert fit.p_value == pytest.approx(known.pvalue, rel=1e-3)
    equal, known = homogeneity([a, b]), chi2_contingency([one, other], correction=False)
    assert equal.statistic == pytest.approx(known.statistic, rel=1e-4) and equal.degrees == known.dof
    pairs = sv.mechanism("grr", Select(RECORD, ["sex", "smoker"]), epsilon=20)
    table = [300, 120, 80, 260, 100, 140]
    tested = sv.independence(counted(pairs, table, 1))
    known = chi2_contingency(np.reshape(table, (2, 3)), correction=False)
    assert tested.statistic == pytest.approx(known.statistic, rel=0.02) and tested.degrees == known.dof


# --- comparisons ------------------------------------------------------------------------------------------
def two(epsilon: float = 1.0) -> Comparison:
    mechanism = sv.mechanism("grr", FOUR, epsilon=epsilon)
    return sv.compare(counted(mechanism, [900, 500, 400, 200], 1), counted(mechanism, [500, 700, 500, 300], 2))


def test_p_values_and_intervals_agree() -> None:
    comparison = two()
    p_values = comparison.p_values
    for level in (0.5, 0.8, 0.95, 0.99, 0.999):
        low, high = comparison.ci(level)
        clear = np.abs(p_values - (1 - level)) > 0.02 * (1 - level)
        assert (((low > 0) | (high < 0)) == (p_values < 1 - level))[clear].all()
    wide, narrow = comparison.ci(0.95, simultaneous=True), comparison.ci(0.95)
    assert (wide.low < narrow.low).all() and (wide.high > narrow.high).all()
    with pytest.raises(ParameterError, match="4 differences"):
        _ = comparison.value


def test_a_difference_has_the_variance_of_both() -> None:
    comparison = two()
    a, b = comparison.a, comparison.b
    assert np.allclose(comparison.std_errors**2, a.std_errors**2 + b.std_errors**2)
    assert np.allclose(comparison.values, a.values - b.values)
    reverse = sv.compare(b, a)
    assert np.allclose(reverse.p_values, comparison.p_values, rtol=1e-6)
    assert np.allclose(reverse.ci().low, -comparison.ci().high)


def test_ratios_are_unbounded_where_the_second_may_be_zero() -> None:
    comparison = two()
    ratio, (low, high) = comparison.ratio()
    assert ((low <= ratio) & (ratio <= high)).all() and (low >= 0).all() and np.isfinite(high[0])
    change, limits = comparison.change()
    assert np.allclose(change, 100 * (ratio - 1)) and np.allclose(limits.low, 100 * (low - 1))
    mechanism = sv.mechanism("grr", FOUR, epsilon=1)
    rare = sv.compare(counted(mechanism, [900, 500, 400, 20], 1), counted(mechanism, [900, 500, 400, 1], 2))
    assert np.isinf(rare.ratio()[1].high[3])


def test_equivalence_needs_the_interval_inside_the_margin() -> None:
    comparison = two(epsilon=4)
    for margin in (0.02, 0.1, 0.4):
        p_values = comparison.equivalence(margin)
        low, high = comparison.ci(0.9)
        inside = (low > -margin) & (high < margin)
        assert ((p_values < 0.05) == inside).all()
    with pytest.raises(ParameterError, match="positive"):
        comparison.equivalence(0)


def test_many_comparisons_are_adjusted() -> None:
    p_values = np.array([0.01, 0.04, 0.03, 0.005])
    assert np.allclose(adjust(p_values, "fdr"), [0.02, 0.04, 0.04, 0.02])  # by hand
    assert (adjust(p_values, "fdr") <= adjust(p_values, "holm")).all()
    with pytest.raises(ParameterError, match="one of holm, bonferroni, fdr"):
        adjust(p_values, "none")


def test_comparisons_are_shown() -> None:
    comparison = two()
    frame = comparison.to_frame()
    assert list(frame.columns) == [
        *("value", "a", "b", "difference", "std_error", "low", "high", "p_value", "adjusted", "simulation")
    ]
    assert "nobody is in both samples" in comparison.explain() and comparison.explain().startswith("This is a sim")
    test = comparison.tests()[0]
    assert test.n == 4000 and test.p_value == pytest.approx(comparison.p_values[0]) and test.simulated
    assert "share of 0" in test.explain() and test.to_dict()["effect"]["name"] == "difference"
    assert comparison.overall().degrees == 3 and "4 differences" in repr(comparison)
    apart = sv.compare(hashed([900, 500, 400, 200], 1), hashed([500, 700, 500, 300], 2))
    assert apart.overall().law == "z"  # the smallest p-value counts
    assert apart.overall().p_value == pytest.approx(min(1, 4 * apart.p_values.min()))


def test_every_kind_of_question_is_compared_or_refused_in_a_sentence() -> None:
    wave = sv.mechanism("square-wave-discrete", sv.Integers(0, 9), epsilon=2, buckets=10)
    first, second = (wave.estimate(wave.tally(wave.privatize([2, 3, 7] * 400, seed=seed))) for seed in (1, 2))
    domain = wave.domain
    for question in (
        *(sv.Mean(domain), sv.Variance(domain), sv.Quantile(domain, ("0.5",)), sv.Range(domain, 2, 3)),
        sv.Cdf(domain, (3, 5)),
    ):
        comparison = sv.compare(first.answer(question), second.answer(question))
        low, high = comparison.ci()
        assert ((low <= comparison.values) & (comparison.values <= high)).all(), question.kind
        assert ((comparison.p_values > 0) & (comparison.p_values <= 1)).all()
    clock = sv.mechanism("square-wave", sv.Circle(24), epsilon=2, buckets=24)
    circular = clock.estimate(clock.tally(clock.privatize([3, 4] * 300, seed=1))).answer(sv.CircularMean(sv.Circle(24)))
    with pytest.raises(ParameterError, match="cannot be subtracted"):
        sv.compare(circular, circular)
    with pytest.raises(ParameterError, match="same question"):
        sv.compare(first, first.answer(sv.Mean(domain)))
    with pytest.raises(ParameterError, match="same people"):
        sv.compare(first, second, people="same")
    with pytest.raises(ParameterError, match="two estimates"):
        sv.compare(first, 3)  # type: ignore[arg-type]


def test_tests_refuse_what_they_cannot_answer() -> None:
    grr = counted(sv.mechanism("grr", FOUR, epsilon=1), [5, 5, 5, 5], 1)
    with pytest.raises(NoCovarianceError, match="one value at a time"):
        sv.goodness_of_fit(hashed([5, 5, 5, 5], 1), SHARES)
    with pytest.raises(ParameterError, match="4 shares from 0 to 1"):
        sv.goodness_of_fit(grr, [0.5, 0.5])
    with pytest.raises(ParameterError, match="each category once"):
        sv.goodness_of_fit(grr, {0: 1.0})
    with pytest.raises(ParameterError, match="two attributes"):
        sv.independence(grr)
    with pytest.raises(ParameterError, match="at least two"):
        homogeneity([grr])


# --- permutation ------------------------------------------------------------------------------------------
def test_a_permutation_test_is_exact_and_agrees_with_chi_square() -> None:
    mechanism, rng = sv.mechanism("grr", FOUR, epsilon=2), np.random.default_rng(17)
    p_values = []
    for _ in range(400):
        seeds = rng.integers(1 << 40, size=2)
        a, b = (counted(mechanism, rng.multinomial(40, SHARES), int(seed)) for seed in seeds)
        p_values.append(permutation_test(a, b, 199, seed=int(seeds[0])).p_value)
    check_null(np.asarray(p_values) - 1e-9)
    a, b = counted(mechanism, [500, 300, 140, 60], 1), counted(mechanism, [450, 350, 150, 50], 2)
    assert permutation_test(a, b, 20_000, seed=1).p_value == pytest.approx(homogeneity([a, b]).p_value, abs=0.02)
    with pytest.raises(ParameterError, match="counts each report"):
        permutation_test(*(hashed([9, 9, 9, 9], seed) for seed in (1, 2)))


# --- power ------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_planned_test_has_its_power() -> None:
    """Over 400 studies with the planned number of participants; the standard error is 2 points."""
    question = sv.Frequency(FOUR)
    planned = sv.plan(sv.TestOf(question, difference=0.1), epsilon=1, power=0.8)
    mechanism, rng = planned.best.mechanism, np.random.default_rng(19)
    n, shares = planned.participants // 2, np.full(4, 0.25)
    other = shares + [0.1, -0.1, 0, 0]
    seen = [
        sv.compare(
            *(counted(mechanism, rng.multinomial(n, law), int(rng.integers(1 << 40))) for law in (shares, other))
        ).p_values[0]
        for _ in range(400)
    ]
    assert abs(rejections(seen) - 0.8) < 0.07
    assert planned.power_of(0.1) == pytest.approx(0.8, abs=0.002)


def test_plans_of_tests_find_the_third_number() -> None:
    mean = sv.Mean(sv.Interval(0, 10))
    people = sv.plan(sv.TestOf(mean, difference=0.5), epsilon=1)
    smallest = sv.plan(sv.TestOf(mean), epsilon=1, participants=people.participants)
    assert smallest.solved_for == "difference" and smallest.difference == pytest.approx(0.5, rel=1e-3)
    budget = sv.plan(sv.TestOf(mean, difference=0.5), participants=people.participants)
    assert budget.solved_for == "epsilon" and float(budget.epsilon) == pytest.approx(1, rel=0.02)
    uneven = sv.plan(sv.TestOf(mean, difference=0.5, first=0.1), epsilon=1)
    assert uneven.participants == pytest.approx(people.participants * 0.25 / 0.09, rel=0.01)
    many = sv.plan(sv.TestOf(mean, difference=0.5, comparisons=10), epsilon=1)
    assert many.participants > 1.4 * people.participants and "10 comparisons" in many.advice
    for bad in (
        lambda: sv.plan(sv.TestOf(mean), epsilon=1),
        lambda: sv.plan(sv.TestOf(mean, difference=0.5), epsilon=1, power=0.3),
        lambda: sv.plan(sv.TestOf(mean, difference=0.5), epsilon=1, std_error=1),
        lambda: sv.plan(mean, epsilon=1, participants=100, power=0.8),
        lambda: sv.TestOf(mean, difference=-1),
        lambda: sv.TestOf(sv.CircularMean(sv.Circle(24))),
    ):
        with pytest.raises(ParameterError):
            bad()


def test_the_nearest_independent_table_is_nearer_than_its_neighbours() -> None:
    """In the measure of correlated errors, where one pass over rows and columns does not end at it."""
    generator = np.random.default_rng(5)
    table = _TwoWay(("a", "b"), 3, 4)
    shares = generator.dirichlet(np.ones(12))
    spread = generator.normal(size=(12, 12)) @ (np.eye(12) - 1 / 12)
    covariance = spread.T @ spread / 1000
    precision = np.linalg.pinv(covariance)
    fit, distance = table.nearest_independent(shares, covariance)
    assert distance == pytest.approx((shares - fit) @ precision @ (shares - fit), rel=1e-6)
    rows, columns = (fit.reshape(3, 4).sum(axis=axis) for axis in (1, 0))
    np.testing.assert_allclose(np.outer(rows, columns).ravel(), fit, atol=1e-12)
    for _ in range(100):
        step = [0.001 * (own - own.mean()) for own in (generator.normal(size=3), generator.normal(size=4))]
        other = np.outer(rows + step[0], columns + step[1]).ravel()
        assert (shares - other) @ precision @ (shares - other) >= distance - 1e-7 * distance


def test_no_sum_is_larger_than_the_largest_or_smaller_than_the_least() -> None:
    """Four fair coins: the saddlepoint of a sum beyond 0 to 4 does not exist, and its tail is 0 or 1."""

    def coins(t: float) -> Cumulants:
        return Cumulants(
            4 * float(np.logaddexp(0, t) - np.log(2)), 4 * float(expit(t)), 4 * float(expit(t) * expit(-t))
        )

    ends = (-700.0, 700.0)
    assert [upper_tail(coins, x, 0.0, ends) for x in (4.5, -0.5)] == [0.0, 1.0]
    assert upper_tail(coins, 3.5, 0.0, ends) == pytest.approx(1 / 16, rel=0.3)
    assert upper_tail(coins, 2.0, 0.0, ends) == 0.5
