"""Truncated orthogonal series and mixtures of Gaussians: what they tell, what they refuse, and how well they cover."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import HalfSpace, Rounding
from sottovoce.core.domain import Domain
from sottovoce.core.question import Density
from sottovoce.estimate.decoders.gmm import MixtureFit
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce.estimate.distribution.series import SeriesEvidence
from sottovoce.mechanisms.distribution.gaussian import build as gaussian
from sottovoce.mechanisms.distribution.orthogonal_series import waves
from sottovoce.study.planners.distribution import built_for
from sottovoce.tally.tally import Tally
from sottovoce.testing import check_mechanism

RANGE = sv.Interval(0, 1)
NAME = "orthogonal-series"


def rates_of(m: sv.Mechanism, shares: np.ndarray) -> np.ndarray:
    rows = [[float(m.channel.likelihood(y, code)) for y in range(m.cells)] for code in range(len(shares))]
    return np.asarray(shares @ np.array(rows))


def beta(buckets: int) -> np.ndarray:
    return np.diff(stats.beta.cdf(np.linspace(0, 1, buckets + 1), 5, 2))


# --- waves ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("codes", [2, 3, 7, 8, 30])
@pytest.mark.parametrize("basis", ["trigonometric", "cosine"])
def test_waves_are_orthogonal_on_the_buckets_and_enough_for_every_distribution(codes: int, basis: str) -> None:
    heights = np.array([[1.0] * codes, *(list(map(float, wave)) for wave in waves(codes, codes - 1, basis))])
    products = heights @ heights.T
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-8 * codes)
    assert np.diag(products).min() > codes / 2 - 1e-6


def test_a_sign_follows_its_wave_and_uses_the_budget_up() -> None:
    m = sv.mechanism(NAME, RANGE, epsilon=1, functions=3, buckets=16)
    e = math.e
    for place, f in enumerate((lambda x: math.cos(2 * math.pi * x), lambda x: math.sin(2 * math.pi * x))):
        heights = np.array([f((code + 0.5) / 16) for code in range(16)])
        plus = [3 * float(m.channel.likelihood(2 * place + 1, code)) for code in range(16)]
        slope = (e - 1) / (e + 1) / heights.max()
        np.testing.assert_allclose(plus, (1 + slope * heights) / 2, atol=1e-9)
    assert m.epsilon == pytest.approx(1, abs=1e-9) and m.channel.outputs == 6


# --- the projection ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("basis", "functions"), [("trigonometric", 3), ("trigonometric", 4), ("cosine", 5)])
def test_values_and_errors_are_those_of_the_projection(basis: str, functions: int) -> None:
    """Over the law of one report; the projection is computed from the waves themselves."""
    m, d = sv.mechanism(NAME, RANGE, epsilon=1, functions=functions, buckets=10, basis=basis), 10
    heights = np.array([[1.0] * d, *(list(map(float, wave)) for wave in waves(d, functions, basis))])
    projection = np.linalg.pinv(heights) @ heights
    truth = np.random.default_rng(5).dirichlet(np.ones(d))
    rates = rates_of(m, truth)
    each = [m.estimate(Tally(m, 1, one)) for one in np.eye(m.cells, dtype=np.int64)]
    values = np.array([one.values for one in each])
    np.testing.assert_allclose(rates @ values, projection @ truth, atol=1e-9)
    np.testing.assert_allclose(
        m.variance(truth, 1, target="population"), rates @ values**2 - (projection @ truth) ** 2, rtol=1e-9
    )
    between = projection**2 @ truth
    np.testing.assert_allclose(m.variance(truth, 1, target="sample"), rates @ values**2 - between, rtol=1e-9)
    found = each[0].evidence
    assert isinstance(found, SeriesEvidence)
    np.testing.assert_allclose(found.projection, projection, atol=1e-9)
    weights = np.array([[*range(d)], [1.0] * d])
    scores = found.decode.scores(weights)
    np.testing.assert_allclose(scores, weights @ values.T, atol=1e-9)


def test_as_many_waves_as_shares_tell_everything() -> None:
    m = sv.mechanism(NAME, sv.Integers(1, 7), epsilon=1, functions=6)
    found = m.estimate(Tally(m, 1, np.eye(12, dtype=np.int64)[0])).evidence
    assert isinstance(found, OutputsEvidence) and not isinstance(found, SeriesEvidence)
    values = np.array([m.estimate(Tally(m, 1, one)).values for one in np.eye(12, dtype=np.int64)])
    for code, truth in enumerate(np.eye(7)):
        np.testing.assert_allclose(rates_of(m, truth) @ values, truth, atol=1e-9)
        assert m.channel.likelihood(0, code) + m.channel.likelihood(1, code) == pytest.approx(1 / 6)


@pytest.mark.slow
@pytest.mark.parametrize("crowd", ["smooth", "spiky"])
def test_intervals_and_bands_cover_the_projection(crowd: str, seed: int) -> None:
    """A thin version of `sottovoce reproduce coverage-series`: within four of its standard errors."""
    m, d, n, runs = sv.mechanism(NAME, RANGE, epsilon=1), 64, 100_000, 100
    truth = beta(d) if crowd == "smooth" else np.full(d, 0.3 / d) + 0.7 * np.eye(d)[[12, 31, 48]].mean(axis=0)
    rates, rng = rates_of(m, truth), np.random.default_rng(seed)
    share, band = 0, 0
    for _ in range(runs):
        found = m.estimate(Tally(m, n, rng.multinomial(n, rates)))
        projected = found.evidence.projection @ truth  # type: ignore[attr-defined]
        low, high = found.cdf([0.5]).ci()
        heights = np.cumsum(projected)
        share += low[0] <= heights[31] <= high[0]
        whole = found.band()
        band += bool(((whole.low[1:-1] <= heights[:-1]) & (heights[:-1] <= whole.high[1:-1])).all())
    slack = 4 * math.sqrt(0.05 * 0.95 / runs)
    assert abs(share / runs - 0.95) < slack and abs(band / runs - 0.95) < slack


def test_the_direction_of_a_circle_is_in_its_first_two_waves() -> None:
    m = sv.mechanism(NAME, sv.Circle(24), epsilon=1, functions=2)
    found = m.estimate(Tally(m, 4, np.ones(4, np.int64))).evidence
    assert isinstance(found, SeriesEvidence)
    weights = np.array(found.buckets.directions())
    np.testing.assert_allclose(weights @ found.projection, weights, atol=1e-8)


def test_answers_say_that_they_are_those_of_a_projection() -> None:
    m = sv.mechanism(NAME, RANGE, epsilon=1, functions=5)
    answers = np.random.default_rng(1).beta(5, 2, 20_000)
    found = m.estimate(m.tally(m.privatize(answers, seed=2)))
    about = "unbiased for the projection of the distribution onto the 5 functions that were asked about"
    for one in (found, found.cdf([0.5]), found.mean(), found.range(0.2, 0.4), found.answer(Density(RANGE))):
        assert one.quality == about and about in one.explain()
    for ask in (found.variance, found.iqr, lambda: found.quantile("0.5")):
        with pytest.raises(sv.ParameterError, match=r"A truncated series tells shares, .* which a projection need not"):
            ask()
    low, high = found.evidence.limits
    assert low.min() < 0 < high.max() < 1
    projected = found.project("simplex")
    assert projected.values.min() >= 0 and projected.values.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.covariance(target="sample"), found.covariance())
    np.testing.assert_allclose(np.diag(found.covariance()), found.std_errors**2)
    spread = found.evidence.spreads(np.eye(64))  # type: ignore[attr-defined]
    np.testing.assert_allclose(spread, found.std_errors**2)


def test_a_planner_does_not_compare_what_leaves_something_out() -> None:
    question = sv.Distribution(RANGE)
    names = {one.name for one in built_for(question, Decimal(1), (NAME, "haar"))}
    assert names == {"haar"}


# --- how many waves, and the published form ---------------------------------------------------------------------------
def test_the_number_of_waves_follows_reports_and_smoothness() -> None:
    def waves_of(**options: object) -> int:
        return sv.mechanism(NAME, RANGE, **{"epsilon": 1, **options}).channel.outputs // 2  # type: ignore[arg-type]

    assert [waves_of(participants=10**k) for k in (2, 4, 6, 8)] == [2, 5, 10, 21]
    assert [waves_of(smoothness=s) for s in (1, 2, 4, 8)] == [17, 7, 3, 2]
    assert waves_of(functions=1) == 1 and waves_of(functions=64, buckets=65) == 64
    assert waves_of(epsilon="0.01") == 1


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_one_sign_about_one_wave_beats_signs_about_all_of_them(epsilon: str) -> None:
    """The published hypercube, exactly, at a coefficient of zero: up to twice the variance, and near pi / 2 times."""
    e = odds(Decimal(epsilon))
    contrast = ((e + 1) / (e - 1)) ** 2
    ratios = []
    for k in range(1, 65):
        cube = HalfSpace.of_ratio([Rounding(-1, 1, 1)] * k, e)
        ((_, origin, slope),) = cube.part_scales()
        square = (Fraction(1, 2) * ((1 - origin) ** 2 + origin**2)) / slope**2 - Fraction(1, 4)
        ratios.append(float(4 * square / (k * contrast)))
    assert min(ratios) > 0.999999 and max(ratios) < 2
    assert 1.55 < ratios[62] < math.pi / 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"basis": "wavelet"}, "'basis' parameter of orthogonal-series must be one of trigonometric, cosine"),
        ({"functions": 64}, "'functions' parameter of orthogonal-series must be an integer in"),
        ({"smoothness": 0}, "'smoothness' parameter of orthogonal-series must be an integer in"),
        ({"participants": 0}, "'participants' parameter of orthogonal-series must be an integer in"),
        ({"buckets": 4096}, "'buckets' parameter of orthogonal-series must be an integer in"),
    ],
)
def test_parameters_of_a_series_are_checked(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(sv.ParameterError, match=sentence):
        sv.mechanism(NAME, RANGE, epsilon=1, **options)
    with pytest.raises(sv.ParameterError, match="must be trigonometric on a circle"):
        sv.mechanism(NAME, sv.Circle(24), epsilon=1, basis="cosine")


# --- Gaussian noise ---------------------------------------------------------------------------------------------------
GAUSSIAN = [
    (sv.Integers(18, 24), "4", "0.01"),
    (sv.Interval(-1, 3), "1", "0.000001"),
    (sv.Categories(["never", "rarely", "often", "always"]), "0.5", "0.001"),
]


@pytest.mark.parametrize(
    ("domain", "epsilon", "delta"), [GAUSSIAN[0], *(pytest.param(*one, marks=pytest.mark.slow) for one in GAUSSIAN[1:])]
)
def test_gaussian_noise_keeps_the_contract(domain: Domain, epsilon: str, delta: str) -> None:
    m = gaussian(domain, epsilon=epsilon, delta=delta)
    check_mechanism(m)
    assert str(m.guarantee) == f"approximate({delta})"
    with pytest.raises(sv.PrivacyError, match="accepts pure guarantees only"):
        sv.Client(m, limit=20)
    assert sv.Client(m, limit=20, accept=("approximate",))


def test_gaussian_noise_refuses_circles_and_many_buckets() -> None:
    with pytest.raises(sv.ParameterError, match="must not be a circle"):
        gaussian(sv.Circle(24), epsilon=1, delta="0.001")
    with pytest.raises(sv.ParameterError, match="'buckets' parameter of gaussian-distribution must be an integer in"):
        gaussian(RANGE, epsilon=1, delta="0.001", buckets=33)
    assert gaussian(sv.Integers(0, 99), epsilon=4, delta="0.01").channel.inputs == 8


def test_errors_of_gaussian_noise_allow_for_outputs_that_are_rare(seed: int) -> None:
    """Unbiased shares use outputs that only some buckets send: without those the counts show too small an error."""
    m, n, runs = gaussian(RANGE, epsilon=4, delta="0.0001"), 10_000, 100
    truth = beta(8)
    rates, rng = rates_of(m, truth), np.random.default_rng(seed)
    exact = np.sqrt(m.variance(truth, n, target="population"))
    held, errors = 0, []
    for _ in range(runs):
        found = m.estimate(Tally(m, n, rng.multinomial(n, rates / rates.sum())))
        low, high = found.ci()
        held += int(((low <= truth) & (truth <= high)).sum())
        errors.append(found.std_errors)
    assert held / (8 * runs) > 0.93
    assert (np.abs(np.log(np.mean(errors, axis=0) / exact)) < np.log(1.5)).all()


# --- mixtures of Gaussians --------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def two_bumps() -> np.ndarray:
    rng = np.random.default_rng(1)
    drawn = np.concatenate([rng.normal(3, 0.8, 60_000), rng.normal(7, 0.5, 40_000)])
    return drawn[(drawn >= 0) & (drawn <= 10)]


def test_a_mixture_is_found_through_a_channel(two_bumps: np.ndarray) -> None:
    m = sv.mechanism("square-wave", sv.Interval(0, 10), epsilon=2, buckets=128)
    tally = m.tally(m.privatize(two_bumps, seed=3))
    found = m.estimate(tally, decoder="gmm")
    assert isinstance(found.fit, MixtureFit)
    (first, left, narrow), (second, right, narrower) = found.fit.components
    np.testing.assert_allclose([first, second], [0.6, 0.4], atol=0.02)
    np.testing.assert_allclose([left, narrow, right, narrower], [3, 0.8, 7, 0.5], atol=0.12)
    truth = sv.metrics.histogram(found, two_bumps)
    errors = {name: sv.metrics.wasserstein(m.estimate(tally, decoder=name), truth) for name in ("gmm", "em", "ems")}
    assert errors["gmm"] < min(errors["em"], errors["ems"])
    assert (
        "The fitted mixture is 60% N(2.983, 0.781**2), 40% N(7.001, 0.525**2)." in found.explain()
        and found.quality == "those of a mixture of 2 Gaussians (gmm)"
    )
    np.testing.assert_array_equal(m.estimate(tally, decoder="gmm").values, found.values)


def test_updates_never_lower_the_likelihood_and_one_component_has_the_moments() -> None:
    m = sv.mechanism("square-wave", RANGE, epsilon=8, buckets=64)
    tally = m.tally(m.privatize(np.random.default_rng(4).beta(5, 2, 50_000), seed=5))
    evidence, values = m.estimate(tally).evidence, []
    for most in (1, 2, 4, 8, 40):
        shares = sv.decoder("gmm", components=3, max_iterations=most).decode(evidence).values
        values.append(evidence.likelihood().slope(shares).value)
        assert shares.min() >= 0 and shares.sum() == pytest.approx(1)
    assert values == sorted(values)
    single = m.estimate(tally, decoder=sv.decoder("gmm", components=1, stop=1e-9))
    centres = evidence.buckets.centres  # type: ignore[attr-defined]
    mean = float(centres @ single.values)
    assert mean == pytest.approx(5 / 7, abs=0.01)
    assert float((centres - mean) ** 2 @ single.values) == pytest.approx(10 / 392, rel=0.1)


def test_a_mixture_that_reports_do_not_tell_from_a_simpler_one_is_refused() -> None:
    """Two clear modes behind Gaussian noise would need 10**11 reports; through the square wave they are found."""
    modes = np.concatenate(
        [np.random.default_rng(1).normal(0.25, 0.05, 10_000), np.random.default_rng(2).normal(0.75, 0.05, 10_000)]
    )
    noisy = gaussian(RANGE, epsilon=1, delta="0.000001")
    with pytest.raises(sv.ParameterError, match="do not tell a mixture of 2 Gaussians from one of 1"):
        noisy.estimate(noisy.tally(noisy.privatize(modes.clip(0, 1), seed=3)), decoder="gmm")
    wave = sv.mechanism("square-wave", RANGE, epsilon=1, buckets=64)
    counted = wave.tally(wave.privatize(modes.clip(0, 1), seed=3))
    found = wave.estimate(counted, decoder="gmm").fit
    assert isinstance(found, MixtureFit)
    np.testing.assert_allclose([centre for _, centre, _ in found.components], [0.25, 0.75], atol=0.05)


@pytest.mark.slow  # the test above refuses a second component, in a tenth of the time
def test_a_third_component_of_two_modes_is_refused() -> None:
    modes = np.concatenate([np.random.default_rng(seed).normal(seed / 4, 0.05, 10_000) for seed in (1, 3)])
    wave = sv.mechanism("square-wave", RANGE, epsilon=1, buckets=64)
    counted = wave.tally(wave.privatize(modes.clip(0, 1), seed=3))
    with pytest.raises(sv.ParameterError, match="3 Gaussians from one of 2"):
        wave.estimate(counted, decoder=sv.decoder("gmm", components=3))


def test_a_mixture_needs_a_line_and_sound_parameters() -> None:
    m = sv.mechanism("square-wave", sv.Circle(24), epsilon=1, buckets=16)
    with pytest.raises(sv.ParameterError, match="fitted to a distribution of numbers or ordered categories"):
        m.estimate(m.tally(m.privatize([1.0] * 50, seed=1)), decoder="gmm")
    for wrong in ({"components": 0}, {"components": 17}, {"stop": 0}, {"stop": True}, {"max_iterations": 0}):
        with pytest.raises(sv.ParameterError, match="parameter of gmm must be"):
            sv.decoder("gmm", **wrong)


def test_a_flat_component_is_said_to_be_flat() -> None:
    m = sv.mechanism("square-wave-discrete", sv.Integers(1, 8), epsilon=8)
    found = m.estimate(m.tally(m.privatize(list(range(1, 9)) * 500, seed=1)), decoder=sv.decoder("gmm", components=1))
    assert isinstance(found.fit, MixtureFit)
    ((weight, centre, spread),) = found.fit.components
    assert weight == 1 and spread > 5 and np.ptp(found.values) < 0.02 and math.isfinite(centre)
