"""Distributions at their limits: many buckets, few reports, seeds that are none, domains that floats do not resolve."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.errors import TooLargeError
from sottovoce.estimate.distribution.readings.branches import branches_of
from sottovoce.estimate.distribution.readings.levels import HaarTransform, LevelsDecode

UNIT_RANGE = sv.Interval(0, 1)


def estimated(name: str, n: int, **options: object) -> sv.Estimate:
    m = sv.mechanism(name, UNIT_RANGE, epsilon=1, **options)
    return m.estimate(m.tally(m.privatize(np.random.default_rng(3).beta(5, 2, size=n), seed=1)))


@pytest.mark.parametrize("leaves", [2, 3, 5, 8, 11, 16, 21])
def test_haar_errors_in_linear_time_are_those_of_all_scores(leaves: int) -> None:
    m = sv.mechanism("haar", sv.Integers(0, leaves - 1), epsilon=1)
    decode = HaarTransform(branches_of(m.channel))
    rates = np.random.default_rng(leaves).dirichlet(np.ones(decode.outputs))
    np.testing.assert_allclose(decode.squares(rates), LevelsDecode.squares(decode, rates), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "buckets"), [("haar", 3_000), ("square-wave-discrete", 1 << 16)])
def test_many_buckets(name: str, buckets: int) -> None:
    """Everything that is asked of single values works; what needs all covariances is refused in a sentence."""
    found = estimated(name, 500, buckets=buckets)
    shares = found.ci()
    np.testing.assert_allclose(found.density().ci().low, shares.low * buckets)
    for one in (found.cdf(0.5), found.quantile("0.5"), found.mean(), found.variance(), found.range("0.2", "0.3")):
        assert np.isfinite(one.ci()).all()
    for refused in (found.band, found.covariance, found.evidence.contributions, found.density().covariance):
        with pytest.raises(TooLargeError, match=f"over {buckets} buckets needs too large a matrix; 2048 are"):
            refused()


def test_the_density_is_the_share_for_a_unit() -> None:
    found = estimated("hierarchy", 500, buckets=8)
    whole, parts = found.density(), found.values * 8
    np.testing.assert_allclose(whole.values, parts)
    np.testing.assert_allclose(whole.covariance(), found.covariance() * 64)
    np.testing.assert_allclose(np.sqrt(np.diag(whole.covariance())), whole.std_errors)
    np.testing.assert_allclose(whole.evidence.contributions().most, found.evidence.contributions().most * 8)
    decoded = found.decoded("em")
    np.testing.assert_allclose(decoded.density().values, decoded.values * 8)


@pytest.mark.parametrize("method", ["normal", "compatible"])
def test_bands_of_few_reports_warn_as_intervals_do(method: str) -> None:
    few, many = estimated("square-wave-discrete", 29, buckets=8), estimated("square-wave-discrete", 300, buckets=8)
    with pytest.warns(sv.PoorIntervalWarning, match="poor for 29 reports"):
        few.band(method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many.band(method=method)


@pytest.mark.parametrize("seed", [-1, "a", 0.5, True])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    found = estimated("binned", 50, buckets=4)
    with pytest.raises(sv.ParameterError, match="'seed' parameter of band must be an integer"):
        found.band(seed=seed)
    with pytest.raises(sv.ParameterError, match="'seed' parameter of sample must be an integer"):
        found.sample(3, seed=seed)
    assert len(found.sample(3)) == 3


@pytest.mark.parametrize("name", ["square-wave", "square-wave-discrete", "binned", "haar"])
@pytest.mark.parametrize("low", [10**16, -(10**16) - 2])
def test_a_domain_whose_buckets_floats_do_not_tell_apart_is_refused(name: str, low: int) -> None:
    with pytest.raises(sv.ParameterError, match="numbers of 53 bits do not tell its buckets apart"):
        sv.mechanism(name, sv.Interval(low, low + 2), epsilon=1)
    sv.mechanism(name, sv.Interval(10**9, 10**9 + 1), epsilon=1)  # an hour of times in seconds is fine, too


def test_numbers_of_buckets_that_are_refused_are_shown() -> None:
    with pytest.raises(sv.ParameterError, match=r"must be an integer in \[2, 2048\]. Got 4096."):
        sv.mechanism("hierarchy", UNIT_RANGE, epsilon=1, buckets=4096)
    with pytest.raises(sv.ParameterError, match="Got 4096, the number of values of the domain"):
        sv.mechanism("hierarchy", sv.Integers(1, 4096), epsilon=1)


def test_a_mechanism_is_no_protocol() -> None:
    with pytest.raises(sv.ParameterError, match="drawn by its privatize"):
        sv.simulate(sv.mechanism("binned", UNIT_RANGE, epsilon=1), [0.5], seed=1)
