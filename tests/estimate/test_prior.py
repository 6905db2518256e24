"""Priors: masses, moments and the law after rounding, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import sottovoce as sv
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.distribution.expected import shares_of
from sottovoce.estimate.prior import Prior
from tests.each import for_each

LAWS = {
    "uniform": (Prior.uniform(2, 5), stats.uniform(2, 3), 2, 5),
    "normal": (Prior.normal(0, "0.1", -1, 1), stats.norm(0, 0.1), -1, 1),
    "cut normal": (Prior.normal(1, 2, 0, 3), stats.norm(1, 2), 0, 3),
    "far normal": (Prior.normal(-20, 1, 0, 1), stats.norm(-20, 1), 0, 1),
    "exponential": (Prior.exponential(6, -1, 1), stats.expon(-1, 1 / 6), -1, 1),
    "beta": (Prior.beta(2, "3.5", 0, 10), stats.beta(2, 3.5, 0, 10), 0, 10),
}


@pytest.mark.parametrize("name", LAWS)
def test_moments_are_those_of_the_law_kept_to_its_range(name):
    prior, law, low, high = LAWS[name]
    # The density relative to its largest value, as a far tail underflows in an integral.
    peak = max(law.logpdf(np.linspace(low, high, 101)[1:-1]))

    def moment(power: int) -> float:
        value, _ = integrate.quad(lambda x: x**power * math.exp(law.logpdf(x) - peak), low, high, epsabs=1e-12)
        return value

    total = moment(0)
    size = max(abs(low), abs(high))
    assert prior.mean == pytest.approx(moment(1) / total, abs=1e-7 * size)
    assert prior.second_moment == pytest.approx(moment(2) / total, abs=1e-7 * size**2)
    assert prior.variance == pytest.approx(prior.second_moment - prior.mean**2, abs=1e-9 * size**2)
    assert sum(prior.weights) == pytest.approx(1, abs=1e-12)


def test_a_density_that_is_infinite_at_the_ends_is_cut_well():
    prior = Prior.beta(0.5, 0.5, -1, 1)
    assert prior.mean == pytest.approx(0, abs=1e-12)
    assert prior.second_moment == pytest.approx(0.5, abs=1e-7)


def test_data_and_histograms():
    prior = Prior.of([3, 1, 1, 5])
    assert prior.values == (1, 3, 5)
    assert prior.weights == (0.5, 0.25, 0.25)
    assert prior == Prior.of(np.array([1, 1, 3, 5]))
    bins = Prior.histogram([1, 3], [0, 1, 3])
    assert bins.mean == pytest.approx(0.25 * 0.5 + 0.75 * 2)
    assert bins.second_moment == pytest.approx(0.25 / 3 + 0.75 * (27 - 1) / 6, rel=1e-7)


@given(st.lists(st.floats(-1, 1, allow_subnormal=False), min_size=1, max_size=8), st.integers(1, 40))
def test_rounding_keeps_the_mean_and_adds_its_variance(values, steps):
    prior = Prior.of(values)
    weights = prior.rounded(-1, 1, steps)
    grid = np.linspace(-1, 1, steps + 1)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert weights @ grid == pytest.approx(prior.mean, abs=1e-12)
    place = (np.array(prior.values) + 1) * steps / 2
    up = place - np.floor(place)
    added = np.array(prior.weights) @ (up * (1 - up)) * (2 / steps) ** 2
    assert weights @ grid**2 - prior.second_moment == pytest.approx(added, abs=1e-12)


def test_rounding_to_a_grid_that_holds_the_values_changes_nothing():
    assert Prior([0, 5, 10], [1, 2, 1]).rounded(0, 10, 2).tolist() == [0.25, 0.5, 0.25]
    assert Prior.of([10]).rounded(0, 10, 4).tolist() == [0, 0, 0, 0, 1]


@for_each(
    "make,words",
    [
        (lambda: Prior([], []), "list of finite numbers"),
        (lambda: Prior([1, math.nan], [1, 1]), "list of finite numbers"),
        (lambda: Prior(["a"], [1]), "list of finite numbers"),
        (lambda: Prior([1], [True]), "list of finite numbers"),
        (lambda: Prior(3, [1]), "list of finite numbers"),
        (lambda: Prior([1, 2], [1]), "one weight per value"),
        (lambda: Prior([1, 2], [1, -1]), "non-negative"),
        (lambda: Prior([1, 2], [0, 0]), "positive sum"),
        (lambda: Prior.uniform(1, 1), "above low"),
        (lambda: Prior.uniform(0, math.inf), "finite"),
        (lambda: Prior.normal(0, 0, -1, 1), "positive"),
        (lambda: Prior.normal(0, 1e-3, 5, 6), "no weight"),
        (lambda: Prior.exponential(-1, 0, 1), "positive"),
        (lambda: Prior.beta(1, 0, 0, 1), "positive"),
        (lambda: Prior.histogram([1, 2], [0, 1]), "3 rising numbers"),
        (lambda: Prior.histogram([1, 2], [0, 2, 1]), "3 rising numbers"),
        (lambda: Prior.histogram([0, 0], [0, 1, 2]), "positive sum"),
        (lambda: Prior.of([2]).rounded(0, 1, 4), "outside the range"),
        (lambda: Prior.of([0]).rounded(0, 1, 0), "integer in"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(ParameterError, match=words) as caught:
        make()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_narrow_laws_have_their_moments() -> None:
    assert Prior.normal("0.00003", "0.000001", -1, 1).mean == pytest.approx(3e-5, rel=1e-3)
    assert Prior.exponential(100_000, 0, 1).mean == pytest.approx(1e-5, rel=0.01)
    assert Prior.exponential(1000, 0, 1).variance == pytest.approx(1e-6, rel=0.01)


@for_each("shares", [[1.5, -0.5, 0, 0], [0.5, 0.5], [0.25, 0.25, 0.25, 0.3], [float("nan"), 0.5, 0.25, 0.25]])
def test_expected_shares_of_buckets_are_shares(shares: list[float]) -> None:
    mechanism = sv.mechanism("hierarchy", sv.Integers(0, 3), epsilon=1)
    evidence = mechanism.estimate(sv.simulate_counts(mechanism, [5, 5, 5, 5], seed=1)).evidence
    with pytest.raises(ParameterError, match="4 numbers that sum to 1"):
        shares_of(evidence.buckets, np.array(shares))  # type: ignore[attr-defined]
    assert shares_of(evidence.buckets, np.full(4, 0.25)).tolist() == [0.25] * 4  # type: ignore[attr-defined]
