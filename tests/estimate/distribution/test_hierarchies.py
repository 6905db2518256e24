"""Bins, hierarchies and Haar coefficients: exact laws, unbiased scores, errors near the best linear ones."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from math import exp

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binomtest

import sottovoce as sv
from sottovoce.core.channel import Mix, NodeSets, PoolSets
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.distribution.readings.decode import linear_decode
from sottovoce.estimate.distribution.readings.levels import HaarTransform, LeastSquares
from sottovoce.estimate.distribution.readings.linear import DenseDecode
from sottovoce.estimate.distribution.readings.transition import DenseTransition, transition_of
from sottovoce.mechanisms.distribution.binned import best_bins, bias_of_curve, bin_variance, noise_of_curve
from sottovoce.mechanisms.distribution.tree_common import block, node_block, share_variance
from sottovoce.tally.counts import simulate_cells, simulate_counts
from sottovoce.testing.statistics import ALPHA
from tests.each import for_each

UNIT_RANGE = sv.Interval(0, 1)
# Name, buckets, epsilon, options. Levels of randomized response, of pools of 2, 3, 4 and 8 values, and ragged trees.
CASES = {
    "haar, 16": ("haar", 16, 1, {}),
    "haar, 11": ("haar", 11, 1, {}),
    "haar, 2": ("haar", 2, 2, {}),
    "binary, tiny epsilon": ("hierarchy", 16, "0.1", {"branching": 2}),
    "fours": ("hierarchy", 16, 1, {}),
    "fours, epsilon 0.5, ragged": ("hierarchy", 21, "0.5", {}),
    "fives, epsilon 2": ("hierarchy", 27, 2, {"branching": 5}),
    "fours, epsilon 4": ("hierarchy", 16, 4, {}),
    "bins by response": ("binned", 5, 2, {}),
    "bins by a pool": ("binned", 16, 1, {}),
}
BEST = (
    "haar, 16",
    "haar, 11",
    "haar, 2",
    "fours, epsilon 4",
    "bins by response",
)  # whose scores are the best linear ones


@lru_cache
def made(case: str) -> sv.Mechanism:
    name, buckets, epsilon, options = CASES[case]
    return sv.mechanism(name, UNIT_RANGE, epsilon=epsilon, buckets=buckets, **options)  # type: ignore[arg-type]


@lru_cache
def law_of(case: str) -> NDArray[np.float64]:
    """One row for each bucket, from the exact likelihoods."""
    channel = made(case).channel
    return np.array([[float(channel.likelihood(y, c)) for y in range(made(case).cells)] for c in channel.codes()])


@pytest.mark.parametrize("case", CASES)
def test_scores_are_unbiased_and_the_fast_products_are_those_of_the_law(case: str) -> None:
    mechanism, law = made(case), law_of(case)
    rng, buckets = np.random.default_rng(2), len(law)
    transition = transition_of(mechanism.channel, buckets)
    decode = (HaarTransform if mechanism.name == "haar" else LeastSquares)(transition.branches)  # type: ignore[attr-defined]
    shares, ratios = rng.dirichlet(np.ones(buckets)), rng.random(mechanism.cells)
    assert np.allclose(transition.forward(shares), shares @ law, rtol=1e-12, atol=1e-15)
    assert np.allclose(transition.backward(ratios), law @ ratios, rtol=1e-12)
    weights = np.vstack([np.tri(buckets), np.eye(buckets), rng.normal(size=(2, buckets))])
    scores = decode.scores(weights)
    assert np.allclose(scores @ law.T, weights, atol=1e-11)
    assert np.allclose(decode._scores(weights), scores, atol=1e-11)
    rates = rng.dirichlet(np.ones(mechanism.cells))
    assert np.allclose(decode.values(rates), decode.scores(np.eye(buckets)) @ rates, atol=1e-11)
    assert np.allclose(decode.squares(rates), decode.scores(np.eye(buckets)) ** 2 @ rates, rtol=1e-11)
    assert np.allclose(decode._products(weights, rates), (scores * rates) @ scores.T, rtol=1e-9, atol=1e-11)


@for_each("case", CASES)
def test_errors_are_near_the_least_that_a_linear_decoder_can_have(case: str) -> None:
    law = law_of(case)
    rates, cumulative = law.mean(axis=0), np.tri(len(law))[:-1]
    best = DenseDecode(DenseTransition(law.T)).scores(cumulative) ** 2 @ rates
    ours = linear_decode(made(case).channel, len(law)).scores(cumulative) ** 2 @ rates
    ratio = float(ours.mean() / best.mean())
    assert 1 - 1e-9 < ratio < (1 + 1e-9 if case in BEST else 1.02)


@pytest.mark.parametrize("case", ["haar, 11", "fours", "bins by response"])
def test_variances_of_functionals_are_those_of_the_law(case: str) -> None:
    """Cells that are exactly n times the law of some shares: then estimated variances are the true ones."""
    mechanism, law = made(case), law_of(case)
    shares = np.random.default_rng(4).dirichlet(np.full(len(law), 2.0))
    cells = np.rint(1e12 * (shares @ law)).astype(np.int64)
    found = from_cells(mechanism, int(cells.sum()), cells)
    weights = np.vstack([np.tri(len(law))[2], found.buckets.centres])
    answer = found.functional(weights)
    scores = linear_decode(mechanism.channel, len(law)).scores(weights)
    mean = scores @ (shares @ law)
    second = (scores * (shares @ law)) @ scores.T
    assert np.allclose(answer.values, weights @ shares, rtol=1e-6)
    assert np.allclose(answer.values, mean, rtol=1e-6)
    assert np.allclose(answer.covariance * found.n, second - np.outer(mean, mean), rtol=1e-6)
    assert np.allclose(answer.covariance, weights @ found.covariance("population") @ weights.T, rtol=1e-6)
    predicted = mechanism.variance(shares, found.n)
    assert np.allclose(predicted, found.variances("population"), rtol=1e-6)


def test_levels_are_answered_by_equal_parts_and_by_the_oracle_of_least_variance() -> None:
    channel = sv.mechanism("hierarchy", UNIT_RANGE, epsilon=2, buckets=1024).channel
    assert isinstance(channel, Mix)
    assert max(channel.weights) - min(channel.weights) <= 1
    sets = [part.sets for part in channel.channels]  # type: ignore[attr-defined]
    assert [one.width for one in sets] == [256, 64, 16, 4, 1]
    assert [type(one) for one in sets] == [NodeSets, NodeSets, PoolSets, PoolSets, PoolSets]
    assert [getattr(one, "g", None) for one in sets[2:]] == [8, 8, 8]
    assert sv.mechanism("hierarchy", UNIT_RANGE, epsilon="0.1", buckets=1024).channel.channels[4].sets.g == 2  # type: ignore[attr-defined]
    e = Fraction(exp(2))
    chosen = node_block(e, 64, 1)
    others = [NodeSets(64, 1), PoolSets(64, 1, 2, 6), PoolSets(64, 1, 7, 3), PoolSets(64, 1, 11, 2)]
    assert all(share_variance(chosen) < share_variance(block(e, one)) for one in others)


def test_the_variance_by_which_oracles_are_chosen_is_exact() -> None:
    for buckets, epsilon in ((5, 2), (16, 1)):
        mechanism = sv.mechanism("binned", UNIT_RANGE, epsilon=epsilon, buckets=buckets)
        sets, channel = mechanism.channel.sets, mechanism.channel  # type: ignore[attr-defined]
        own, other = (float(rate) for rate in channel.rates())  # type: ignore[attr-defined]
        rate = np.mean([[float(channel.likelihood(y, c)) for y in range(sets.outputs)] for c in range(buckets)], axis=0)
        support = sum(rate[y] for y in range(sets.outputs) if sets.member(0, y))
        assert share_variance(channel) == pytest.approx(support * (1 - support) / (own - other) ** 2, rel=1e-12)  # type: ignore[arg-type]


# --- how many bins ------------------------------------------------------------------------------------------------
def test_the_noise_of_the_curve_is_that_of_the_decoder() -> None:
    for bins, epsilon in ((5, 2), (4, 1)):  # randomized response, whose shares always sum to one
        mechanism = sv.mechanism("binned", UNIT_RANGE, epsilon=epsilon, buckets=bins)
        points = (np.arange(4000) + 0.5) / 4000
        weights = np.clip(points[:, None] * bins - np.arange(bins), 0, 1)
        law = np.array([[float(mechanism.channel.likelihood(y, c)) for y in range(bins)] for c in range(bins)])
        scores, rates = linear_decode(mechanism.channel, bins).scores(weights), law.mean(axis=0)
        exact = np.mean(scores**2 @ rates - (scores @ rates) ** 2)
        assert noise_of_curve(bin_variance(Fraction(exp(epsilon)), bins), bins) == pytest.approx(exact, rel=1e-5)


def test_the_bias_of_the_curve_is_its_distance_from_the_reference() -> None:
    points = (np.arange(20_000) + 0.5) / 20_000
    for bins, close in ((3, 3e-3), (11, 1e-6), (40, 1e-8)):
        edges = np.arange(bins + 1) / bins
        lines = np.interp(points, edges, ndtr(6 * (edges - 0.5)))
        assert bias_of_curve(bins) == pytest.approx(np.mean((lines - ndtr(6 * (points - 0.5))) ** 2), rel=close)


def test_the_number_of_bins_has_the_least_predicted_error() -> None:
    e, found = Fraction(exp(1)), []
    for people in (10**3, 10**5, 10**7):
        errors = {
            bins: noise_of_curve(bin_variance(e, bins), bins) / people + bias_of_curve(bins) for bins in range(2, 80)
        }
        found.append(min(errors, key=errors.__getitem__))
        assert best_bins(partial(bin_variance, e), people, 1024) == found[-1]
    assert found == sorted(found) and len({*found}) == 3
    assert sv.mechanism("binned", UNIT_RANGE, epsilon=1).domain.size == found[1]
    assert sv.mechanism("binned", sv.Integers(0, 5), epsilon=1, participants=10**9).domain == sv.Integers(0, 5)
    assert sv.mechanism("binned", sv.Categories(["low", "middle", "high"]), epsilon=1).domain.size == 3


# --- decoders and answers -------------------------------------------------------------------------------------------
def beta(n: int, buckets: int, seed: int = 1) -> NDArray[np.int64]:
    return np.histogram(np.random.default_rng(seed).beta(5, 2, n), buckets, (0, 1))[0]


def test_admm_gives_consistent_shares_and_beats_the_unbiased_curve() -> None:
    mechanism, held = sv.mechanism("hierarchy", UNIT_RANGE, epsilon=1, buckets=64), beta(20_000, 64)
    errors: dict[str, list[float]] = {"linear": [], "admm": []}
    for seed in range(8):
        tally = simulate_counts(mechanism, held, seed=seed)
        for decoder in errors:
            found = mechanism.estimate(tally, decoder=decoder)
            errors[decoder].append(float(np.abs(np.cumsum(found.values - held / held.sum())).mean()))
        assert found.values.min() >= 0
        assert found.values.sum() == pytest.approx(1, abs=1e-12)
        assert found.fit is not None and found.fit.gap <= 1e-10
    assert np.mean(errors["admm"]) < 0.9 * np.mean(errors["linear"])
    plain = mechanism.estimate(tally, decoder=sv.decoder("admm", weighted=False)).values
    assert 1e-4 < np.abs(plain - found.values).max() < 0.02


def test_admm_needs_levels() -> None:
    mechanism = sv.mechanism("haar", UNIT_RANGE, epsilon=1, buckets=8)
    with pytest.raises(ParameterError, match="admm needs estimates of several levels of a hierarchy"):
        mechanism.estimate(simulate_counts(mechanism, [5] * 8, seed=1), decoder="admm")


@pytest.mark.parametrize("decoder", ["em", "norm-sub"])
@pytest.mark.parametrize("case", ["haar, 11", "fours"])
def test_other_decoders_read_hierarchies_too(case: str, decoder: str) -> None:
    mechanism = made(case)
    held = beta(50_000, mechanism.channel.inputs)
    found = mechanism.estimate(simulate_counts(mechanism, held, seed=3), decoder=decoder)
    assert found.values.min() >= 0
    assert found.values.sum() == pytest.approx(1, abs=1e-9)
    assert np.abs(np.cumsum(found.values - held / held.sum())).mean() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("case", ["haar, 16", "fours", "bins by a pool"])
def test_intervals_of_functionals_cover(case: str) -> None:
    """Of 1000 crowds; a coverage of 93 % would be noticed, and 95 % passes but for the false-alarm rate."""
    mechanism = made(case)
    truth = beta(10**6, mechanism.channel.inputs) / 10**6
    rng, runs, n = np.random.default_rng(11), 1000, 5000
    weights = np.vstack([np.tri(len(truth))[len(truth) // 2], (np.arange(len(truth)) + 0.5) / len(truth)])
    scores = linear_decode(mechanism.channel, len(truth)).scores(weights)
    inside = np.zeros(2, int)
    for run in range(runs):
        held = rng.multinomial(n, truth)
        (cells,) = simulate_cells(mechanism, held, runs=1, seed=run)
        found = from_cells(mechanism, n, cells).functional(weights)
        assert np.allclose(found.values, scores @ (cells / n))
        inside += np.abs(found.values - weights @ truth) <= 1.959964 * found.errors
    for count in inside:
        assert binomtest(int(count), runs, 0.95).pvalue > ALPHA
        assert binomtest(int(count), runs, 0.93, alternative="greater").pvalue < 0.2


def test_numbers_categories_and_circles_are_leaves() -> None:
    ages = sv.mechanism("hierarchy", sv.Integers(18, 100), epsilon=1)
    assert ages.domain == sv.Integers(18, 100)
    found = ages.estimate(ages.tally(ages.privatize(np.arange(18, 101).repeat(100), seed=1)))
    assert found.cdf(100).value == pytest.approx(1, abs=1e-9)
    assert abs(found.mean().value - 59) < 5 * found.mean().std_errors[0]
    around = sv.mechanism("haar", sv.Circle(24), epsilon=2, buckets=24)
    night = around.estimate(around.tally(around.privatize(np.arange(24_000) % 24.0, seed=2))).range(22, 4)
    assert abs(night.value - 0.25) < 5 * night.std_errors[0] + 1e-9
    with pytest.raises(ParameterError, match="The 'branching' parameter of hierarchy must be"):
        sv.mechanism("hierarchy", UNIT_RANGE, epsilon=1, branching=1)
    with pytest.raises(ParameterError, match="The 'buckets' parameter of haar must be"):
        sv.mechanism("haar", UNIT_RANGE, epsilon=1, buckets=1)
