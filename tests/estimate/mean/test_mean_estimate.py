"""Means from tallies: exact moments, exact sums, and how an estimate of one number shows itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Mix, Rounding, Subset, Then, Window
from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.facets import readings
from sottovoce.core.domain import Square
from sottovoce.estimate.mean import moments
from sottovoce.estimate.mean.moments import average_variance, variance_at, variances_at
from sottovoce.estimate.prior import Prior
from sottovoce_experiments.coverage.mean import laws

pytestmark = pytest.mark.slow  # the quick part has the contract

MEANS = sv.names(sv.Mean)
ANSWERS = (-1.0, -0.7321, 0.0, 0.2, 0.9, 1.0)


def build(name: str, domain: Any = None, epsilon: float = 1.0) -> sv.Mechanism:
    return sv.mechanism(name, domain or sv.Interval(-1, 1), epsilon=epsilon)


def numbers(mechanism: sv.Mechanism) -> list[Fraction]:
    """What each output is read as, by the definition."""
    scales, domain = mechanism.channel.scales(), mechanism.domain.numbers
    assert scales is not None and domain is not None and mechanism.channel.outputs is not None
    return [read + domain.origin for read in readings(scales, mechanism.channel.outputs)]


# --- the variance of one report ------------------------------------------------------------------------
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", MEANS)
def test_the_variance_is_that_of_the_law(name: str, epsilon: float) -> None:
    m = build(name, sv.Interval(2, 12), epsilon)
    read = np.array([float(number) for number in numbers(m)])
    answers = [7 + 5 * x for x in ANSWERS]
    for answer, law in zip(answers, laws(m, answers), strict=True):
        assert law @ read == pytest.approx(answer, abs=1e-8)
        expected = law @ (read - answer) ** 2
        assert float(variance_at(m, answer)) == pytest.approx(expected, rel=1e-8)
        assert m.variance(answer, 10) == pytest.approx(expected / 10, rel=1e-8)
    exact = [float(variance_at(m, answer)) for answer in answers]
    np.testing.assert_allclose(variances_at(m, answers), exact, rtol=1e-9)
    np.testing.assert_allclose(m.variance(answers, 4), np.array(exact) / 4, rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", MEANS)
def test_the_worst_case_is_reached_and_never_exceeded(name: str, epsilon: float) -> None:
    m = build(name, epsilon=epsilon)
    worst, rounding = m.worst_case_variance(), m.channel.rounding
    assert rounding is not None
    everywhere = variances_at(m, np.linspace(-1, 1, 64 * min(rounding.steps, 2048) + 1))
    assert everywhere.max() <= worst * (1 + 1e-12)
    assert everywhere.max() == pytest.approx(worst, rel=1e-4)
    assert all(variance_at(m, answer) <= Fraction(worst) for answer in ANSWERS)


@pytest.mark.parametrize(("name", "value"), [("bernoulli", 4.682694), ("piecewise", 5.2238), ("hybrid", 4.2890)])
def test_published_worst_cases(name: str, value: float) -> None:
    """(e + 1)**2 / (e - 1)**2 for one bit; the formulas of Wang et al. (ICDE 2019) for the other two."""
    assert build(name).worst_case_variance() == pytest.approx(value, rel=1e-3)


SMALL = st.builds(
    lambda k, stride, width, extra: Window(k, stride, width, UNIT * width // ((k - 1) * stride + width) + extra),
    st.sampled_from([2, 3, 4, 5, 6, 9, 17]),
    st.integers(1, 3),
    st.integers(1, 20),
    st.integers(UNIT // 100, UNIT // 30),
)


@settings(max_examples=30)
@given(SMALL, st.integers(1, UNIT - 1), st.integers(1, 9))
def test_a_parabola_of_grid_points_has_the_worst_step_among_few(window: Window, share: int, length: int) -> None:
    """The shortcut for windows, randomized response and mixtures, against all steps one by one."""
    bit = Then(Rounding(0, window.k - 1, 1), Subset(2, 1, UNIT // 2 + UNIT // 5))
    seconds: list[Channel] = [window, Mix((share, UNIT - share), (window, bit)), Subset(window.k, 1, UNIT - UNIT // 50)]
    for second in seconds:
        channel = Then(Rounding(0, length, window.k - 1), second)
        exact = moments._listed(channel)
        assert moments._worst(channel) == max(moments._peak(left, right) for left, right in pairwise(exact))
        found = moments.profile(channel)
        np.testing.assert_allclose(found.variances, [float(v) for _, v in exact], rtol=1e-11)
        np.testing.assert_allclose(found.means, [float(mean) for mean, _ in exact], atol=1e-12)


@pytest.mark.parametrize("name", MEANS)
def test_variances_are_in_the_units_of_the_domain(name: str) -> None:
    unit, wide = build(name), build(name, sv.Interval(0, 10))
    assert wide.worst_case_variance() == pytest.approx(25 * unit.worst_case_variance(), rel=1e-10)
    assert variance_at(wide, 5 + 5 * Fraction(1, 4)) == 25 * variance_at(unit, Fraction(1, 4))


def test_whole_numbers_are_answers_and_nothing_between_them() -> None:
    """One bit varies most in the middle of the range, which is no answer where answers are 0 and 1."""
    e = np.e
    ends = ((e + 1) ** 2 / (e - 1) ** 2 - 1) / 4
    assert build("bernoulli", sv.Integers(0, 1)).worst_case_variance() == pytest.approx(ends, rel=1e-9)
    assert build("bernoulli", sv.Integers(0, 2)).worst_case_variance() == pytest.approx(4 * (ends + 0.25), rel=1e-9)
    many = build("bernoulli", sv.Integers(0, 9999)).worst_case_variance()
    assert many == pytest.approx(9999**2 * (ends + 0.25), rel=1e-7)


@pytest.mark.parametrize("name", MEANS)
def test_averages_over_priors_and_answers(name: str, seed: int) -> None:
    m = build(name, sv.Interval(0, 4))
    answers = np.random.default_rng(seed).uniform(0, 4, 300)
    prior = Prior.of(answers)
    assert m.average_variance(answers) == pytest.approx(variances_at(m, answers).mean(), rel=1e-10)
    assert average_variance(m, prior) == pytest.approx(m.average_variance(answers), rel=1e-12)
    assert m.average_variance(prior) <= m.worst_case_variance()
    noise, everything = (m.variance(prior, 50, target=target) for target in ("sample", "population"))
    assert noise == pytest.approx(m.average_variance(prior) / 50)
    assert everything - noise == pytest.approx(answers.var() / 50)


@pytest.mark.parametrize("epsilon", [8.0, 20.0])
@pytest.mark.parametrize("name", ["piecewise", "hybrid", "nprr"])
def test_fine_grids_are_not_walked_through(name: str, epsilon: float) -> None:
    """The answer is within a second even where the grid has tens of thousands of points."""
    m = build(name, epsilon=epsilon)
    assert 0 < m.worst_case_variance() < 1
    assert m.average_variance([0.1, 0.2]) <= m.worst_case_variance()


@pytest.mark.parametrize("ask", ["worst_case_variance", "average_variance"])
def test_frequencies_have_no_such_variance(ask: str) -> None:
    m = sv.mechanism("grr", sv.Integers(0, 3), epsilon=1)
    with pytest.raises(sv.ParameterError, match="asks for frequencies") as caught:
        getattr(m, ask)(*([[0.1]] if ask == "average_variance" else []))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("truth", [1.5, -2, float("nan"), float("inf"), "high", None, True, [0.5, 2.0], ["a"], [None]])
def test_a_truth_outside_the_domain_is_refused_in_one_sentence(truth: Any) -> None:
    with pytest.raises(sv.ParameterError, match="'truth' parameter of variance") as caught:
        build("piecewise").variance(truth, 10)
    assert "\n" not in str(caught.value)


# --- estimates -----------------------------------------------------------------------------------------
def drawn(mechanism: sv.Mechanism, answers: list[float], n: int, seed: int = 3) -> sv.Tally:
    law = laws(mechanism, answers).mean(axis=0)
    return sv.Tally(mechanism, n, np.random.default_rng(seed).multinomial(n, law))


@pytest.mark.parametrize("domain", [sv.Interval(-3, 5), sv.Integers(5, 25), Square(sv.Interval(-2, 2))])
@pytest.mark.parametrize("name", MEANS)
def test_estimates_are_in_the_numbers_of_the_domain(name: str, domain: sv.Interval) -> None:
    m, n = build(name, domain), 50_000
    scale = domain.numbers
    assert scale is not None
    low, high = float(scale.low + scale.origin), float(scale.high + scale.origin)
    answers = [low, low + (high - low) / 4, high]
    estimate = m.estimate(drawn(m, answers, n))
    assert abs(estimate.value - np.mean(answers)) < 6 * estimate.std_errors[0]
    expected = m.variance(Prior.of(answers), n)
    assert estimate.std_errors[0] ** 2 == pytest.approx(expected, rel=0.05)
    assert estimate.covariance().shape == (1, 1)
    assert estimate.covariance()[0, 0] == pytest.approx(estimate.std_errors[0] ** 2)
    assert estimate.covariance(target="sample")[0, 0] <= estimate.covariance()[0, 0]


@pytest.mark.parametrize("name", ["laplace", "hybrid", "three-output"])
def test_sums_are_exact_whatever_the_counts(name: str, seed: int) -> None:
    """Counts of up to 2**40 at each end of a long range: floats would lose the small ones."""
    m = build(name, sv.Interval(0, 3))
    cells = np.random.default_rng(seed).integers(0, 1 << 40, m.cells)
    cells[::3] = 1
    n = sum(map(int, cells))
    pairs = list(zip(map(int, cells), numbers(m), strict=True))
    mean = sum(count * number for count, number in pairs) / n
    variance = sum(count * (number - mean) ** 2 for count, number in pairs) / (n - 1)
    found = m.estimate(sv.Tally(m, n, cells))
    assert found.evidence.readings.sums == (n, mean, variance)
    assert found.value == float(mean)
    assert found.std_errors[0] == pytest.approx(float(variance / n) ** 0.5, rel=1e-12)


def test_one_report_is_an_estimate_of_which_nothing_is_known() -> None:
    m = build("piecewise")
    estimate = m.estimate(sv.Tally(m, 1, np.eye(1, m.cells, 7, dtype=int)[0]))
    for target in ("population", "sample"):
        with pytest.warns(sv.PoorIntervalWarning):
            low, high = estimate.ci(method="normal", target=target)
        assert high[0] - low[0] > 2
        assert estimate.ci(target=target) == estimate.ci(method="betting", target=target) == ([-1], [1])
    for method in ("hoeffding", "bernstein"):
        low, high = estimate.ci(method=method)
        assert low[0] < -1 and high[0] > 1


def test_tables_pictures_and_words() -> None:
    import matplotlib

    matplotlib.use("Agg")
    m = build("piecewise", sv.Interval(0, 10))
    estimate = m.estimate(drawn(m, [2.0, 8.0, 9.0], 20_000))
    frame = estimate.to_frame(method="betting", target="sample")
    assert list(frame.columns) == ["value", "estimate", "std_error", "low", "high"] and list(frame["value"]) == ["mean"]
    assert frame["low"][0] < estimate.value < frame["high"][0]
    axes = estimate.plot()
    assert axes.get_xlabel() == "mean, from 0 to 10" and "piecewise" in axes.get_title()
    text = estimate.explain()
    assert "their mean is unbiased" in text and "from 0 to 10" in text and "normal interval" in text
    assert list(estimate.labels) == ["mean"] and "1 values" in repr(estimate)


def test_a_projection_moves_the_mean_into_the_range_and_says_so() -> None:
    m = build("laplace", sv.Interval(0, 1), epsilon=0.5)
    tally = next(t for t in (drawn(m, [0.0], 500, seed) for seed in range(20)) if m.estimate(t).value < 0)
    estimate = m.estimate(tally)
    projected = estimate.project("range")
    assert estimate.value < 0 == projected.value and projected.decoder.name == "range"
    low, high = projected.ci()
    assert low[0] == 0 and high[0] == estimate.ci().high[0] and estimate.ci().low[0] < 0
    assert projected.std_errors[0] == estimate.std_errors[0]
    assert "projected (range)" in projected.explain()
    with pytest.raises(sv.ParameterError, match="Known here: linear, range"):
        estimate.project("simplex")


def test_only_single_values_are_a_value() -> None:
    m = sv.mechanism("grr", sv.Integers(0, 2), epsilon=1)
    with pytest.raises(sv.ParameterError, match="3 values"):
        _ = m.estimate(sv.Tally(m, 3, np.array([1, 1, 1]))).value


def test_wrong_tallies_are_refused() -> None:
    m = build("bernoulli")
    with pytest.raises(sv.ParameterError, match="at least one report"):
        m.estimate(sv.Tally.empty(m))
    with pytest.raises(sv.ParameterError, match="needs a tally"):
        m.estimate(np.array([3, 4]))
    with pytest.raises(sv.MismatchError, match="estimate from the tally"):
        m.estimate(sv.Tally(build("bernoulli", epsilon=2), 3, np.array([1, 2])))


@pytest.mark.parametrize("name", MEANS)
def test_from_answers_to_the_mean(name: str, seed: int) -> None:
    """The whole way: answers, reports, tally, estimate."""
    m = build(name, sv.Interval(0, 14), epsilon=2.0)
    answers = np.random.default_rng(seed).normal(7, 1.2, 20_000).clip(0, 14)
    estimate = m.estimate(m.tally(m.privatize(answers, seed=seed)))
    noise = m.average_variance(answers) / len(answers)
    assert abs(estimate.value - answers.mean()) < 6 * noise**0.5
