"""Estimates of distributions: transitions, linear decoders, EM and EMS, and everything that is read from them."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.special import ndtr

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import ArcSets, Block, Rounding, Table, Then, Window
from sottovoce.core.domain import Bins, Domain
from sottovoce.core.errors import TooLargeError
from sottovoce.core.question import Density, question_from_spec
from sottovoce.estimate.distribution.buckets import coded_buckets, even_buckets
from sottovoce.estimate.distribution.evidence import buckets_of, from_cells, near_root
from sottovoce.estimate.distribution.iterate import accelerated, iterate, smoothed
from sottovoce.estimate.distribution.moments import square_readings
from sottovoce.estimate.distribution.readings.linear import ChainDecode, DenseDecode
from sottovoce.estimate.distribution.readings.transition import WaveTransition, transition_of
from sottovoce.estimate.evidence import slack_deviate
from sottovoce.estimate.frequency.maximise import certificate, em_step
from sottovoce.tally.laws import law_row
from sottovoce.testing.statistics import ALPHA
from tests.each import for_each

pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")

Floats = NDArray[np.float64]
RANGE = sv.Interval(0, 1)
AGES = sv.Integers(18, 24)
WORDS = sv.Categories(["never", "rarely", "often", "always"])
INSIDE = 3 * UNIT // 4
WAVES = {
    "discrete": (Window(12, 1, 5, INSIDE), 12),
    "grouped": (Window(12, 1, 5, INSIDE), 4),
    "strides": (Window(6, 3, 4, INSIDE), 6),
    "wide": (Window(3, 1, 9, 7 * UNIT // 8), 3),
    "rounded": (Then(Rounding(0, 1, 12), Window(13, 1, 5, INSIDE)), 4),
    "ramps": (Then(Rounding(0, 1, 12), Window(13, 1, 6, INSIDE)), 12),
    "circle": (Block(ArcSets(12, 12, 5), INSIDE), 12),
    "rounded circle": (Then(Rounding(0, 1, 12), Block(ArcSets(13, 12, 5), INSIDE)), 6),
}


def dense(channel: Any, buckets: int) -> Floats:
    """The law of each bucket from the likelihoods of the codes, exactly, and only then as floats."""
    codes = list(channel.codes())
    rows = [[channel.likelihood(y, code) for y in range(channel.outputs)] for code in codes]
    if isinstance(channel, Then):
        rows = [[(a + b) / 2 for a, b in zip(*pair, strict=True)] for pair in pairwise(rows)]
    each = len(rows) // buckets
    parts = [rows[start : start + each] for start in range(0, len(rows), each)]
    return np.array([[float(sum(column) / each) for column in zip(*part, strict=True)] for part in parts]).T


# --- transitions ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", WAVES)
def test_fast_products_are_those_of_the_matrix(name: str) -> None:
    channel, buckets = WAVES[name]
    found, matrix = transition_of(channel, buckets), dense(channel, buckets)
    assert isinstance(found, WaveTransition)
    rng = np.random.default_rng(1)
    shares, ratios = rng.dirichlet(np.ones(buckets)), rng.uniform(0, 3, found.outputs)
    np.testing.assert_allclose(found.forward(shares), matrix @ shares, rtol=1e-13)
    np.testing.assert_allclose(found.backward(ratios), ratios @ matrix, rtol=1e-13)
    np.testing.assert_allclose(found.matrix, matrix, rtol=1e-13)
    np.testing.assert_allclose(found.matrix.sum(axis=0), 1, rtol=1e-13)


def test_edges_of_buckets_make_ramps() -> None:
    """Erratum 16: the law of the continuous wave by the integral of the piecewise linear cumulative distribution."""
    channel, d = WAVES["ramps"]
    window = channel.second  # type: ignore[union-attr]
    shares = np.random.default_rng(2).dirichlet(np.ones(d))
    b, low = window.width / (2 * d), float((1 - Fraction(INSIDE, UNIT)) / (window.outputs - window.width)) * d
    high = float(Fraction(INSIDE, UNIT)) / window.width * d
    heights = np.concatenate([[0.0], np.cumsum(shares)])

    def integral(x: float) -> float:
        """Of the cumulative distribution, from 0 on."""
        if x <= 0:
            return 0.0
        inner = np.concatenate([np.arange(0, min(x, 1), 1 / d), [min(x, 1.0)]])
        return float(np.trapezoid(np.interp(inner, np.linspace(0, 1, d + 1), heights), inner)) + max(0.0, x - 1)

    edges = -b + np.arange(window.outputs + 1) / d
    parts = [
        low / d + (high - low) * (integral(z + b) - integral(z - b) - integral(y + b) + integral(y - b))
        for y, z in pairwise(edges)
    ]
    np.testing.assert_allclose(transition_of(channel, d).forward(shares), parts, atol=1e-12)


def test_other_channels_have_a_matrix() -> None:
    rows = [[UNIT // 2, UNIT // 4, UNIT // 4], [UNIT // 4, UNIT // 4, UNIT // 2], [UNIT // 4, UNIT // 2, UNIT // 4]]
    found = transition_of(Table(rows), 3)
    np.testing.assert_allclose(found.forward(np.array([1.0, 0, 0])), [0.5, 0.25, 0.25])
    np.testing.assert_allclose(found.backward(np.array([1.0, 0, 0])), [0.5, 0.25, 0.25])
    with pytest.raises(sv.ParameterError, match="cannot be cut into 2 equal buckets"):
        transition_of(Table(rows), 2)
    rounded = Then(Rounding(0, 1, 2), Table(rows))  # a bucket goes to both of its ends, half of it each on average
    for buckets in (1, 2):
        matrix = np.column_stack([transition_of(rounded, buckets).forward(one) for one in np.eye(buckets)])
        np.testing.assert_allclose(matrix, dense(rounded, buckets), atol=1e-15)


# --- linear decoders --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("codes", "epsilon"), [(2, "1"), (3, "0.1"), (7, "1"), (20, "12"), (40, "1")])
def test_chains_are_the_decoder_of_least_variance(codes: int, epsilon: str) -> None:
    transition = transition_of(
        sv.mechanism("square-wave-discrete", sv.Integers(1, codes), epsilon=epsilon).channel, codes
    )
    assert isinstance(transition, WaveTransition)
    chain, matrix = ChainDecode(transition), DenseDecode(transition)
    rates, every = np.random.default_rng(3).dirichlet(np.ones(transition.outputs)), np.eye(codes)
    scale = float(np.abs(matrix.matrix).max())
    np.testing.assert_allclose(chain.scores(every), matrix.scores(every), atol=1e-10 * scale)
    np.testing.assert_allclose(chain.values(rates), matrix.values(rates), atol=1e-10 * scale)
    np.testing.assert_allclose(chain.squares(rates), matrix.squares(rates), atol=1e-10 * scale**2)


@pytest.mark.parametrize(("width", "per_bucket"), [(7, 2), (7, 3), (1, 2), (2, 2), (40, 4)])
def test_chains_of_rounded_numbers_are_unbiased_and_near_the_least_variance(width: int, per_bucket: int) -> None:
    """Their squares are those of their scores, also where neighbouring points share a chain."""
    buckets = 12
    channel = Then(Rounding(0, 1, buckets * per_bucket), Window(buckets * per_bucket + 1, 1, width, UNIT * 3 // 4))
    transition = transition_of(channel, buckets)
    assert isinstance(transition, WaveTransition) and transition.moves_by_one
    chain, matrix = ChainDecode(transition), DenseDecode(transition)
    rates = np.random.default_rng(3).dirichlet(np.ones(transition.outputs))
    scores = chain.scores(np.eye(buckets))
    np.testing.assert_allclose(scores @ dense(channel, buckets), np.eye(buckets), atol=1e-12)
    np.testing.assert_allclose(chain.values(rates), scores @ rates, atol=1e-12)
    np.testing.assert_allclose(chain.squares(rates), scores**2 @ rates)
    even = transition.forward(np.full(buckets, 1 / buckets))
    if width >= 2 * per_bucket:  # else chains that cross each other tell one height several times
        assert (chain.squares(even) < 2 * matrix.squares(even)).all()


@pytest.mark.parametrize(
    ("buckets", "epsilon"),
    [(2048, "0.1"), *(pytest.param(65536, one, marks=pytest.mark.slow) for one in ("0.1", "20"))],
)
def test_thousands_of_buckets_are_decoded_at_any_budget(buckets: int, epsilon: str) -> None:
    m = sv.mechanism("square-wave", RANGE, epsilon=epsilon, buckets=buckets)
    grid = m.channel.first.steps  # type: ignore[attr-defined]
    assert grid >= 2 * buckets
    low, high = float(RANGE.low), float(RANGE.high)
    answers = low + (high - low) * np.random.default_rng(1).beta(5, 2, 2000)
    tally = m.tally(m.privatize(answers, seed=1))
    found = m.estimate(tally)
    assert len(found.values) == buckets and abs(found.values.sum() - 1) < 1e-6
    middle = found.quantile("0.5").ci()
    assert middle.low[0] <= np.quantile(answers, 0.5) <= middle.high[0]
    if buckets > 2048:
        with pytest.raises(TooLargeError, match="A band over 65536 buckets needs too large a matrix"):
            found.band()
    smooth = m.estimate(tally, decoder=sv.decoder("ems", max_iterations=3))
    assert smooth.values.min() >= 0 and abs(smooth.values.sum() - 1) < 1e-9


def test_dense_decoders_have_the_least_variance_and_refuse_what_is_not_determined() -> None:
    """Any other unbiased decoder differs by rows that no law sees; these only add variance."""
    channel, buckets = WAVES["rounded"]
    transition = transition_of(channel, buckets)
    found, rates = DenseDecode(transition).matrix, transition.matrix.mean(axis=1)
    null = np.linalg.svd(transition.matrix.T)[2][buckets:]
    for unseen in null:
        for step in (0.1, -0.1):
            other = found + step * unseen
            np.testing.assert_allclose(other @ transition.matrix, np.eye(buckets), atol=1e-9)
            assert ((other**2 @ rates) > (found**2 @ rates)).all()
    with pytest.raises(sv.ParameterError, match="do not determine the shares of 12 buckets"):
        DenseDecode(transition_of(Block(ArcSets(12, 12, 6), INSIDE), 12))


def test_linear_answers_are_unbiased_and_their_variance_is_that_of_the_law() -> None:
    """Over all reports of one participant: cumulative shares, a range and the mean, for each age."""
    m = sv.mechanism("square-wave", AGES, epsilon=1)
    questions = [sv.Cdf(AGES, (19, 22)), sv.Range(AGES, 20, 23), sv.Mean(AGES)]
    truths = [
        lambda x: [x <= 19, x <= 22],
        lambda x: [20 <= x <= 23],
        lambda x: [x],
    ]
    singles = [m.estimate(sv.Tally(m, 1, one)) for one in np.eye(m.cells, dtype=np.int64)]
    for question, truth in zip(questions, truths, strict=True):
        read = np.array([one.answer(question).values for one in singles])
        for age in range(18, 25):
            law = law_row(m.channel, age - 18)
            np.testing.assert_allclose(law @ read, np.array(truth(age), float), atol=1e-9)
    cells = np.random.default_rng(4).multinomial(500, np.full(m.cells, 1 / m.cells))
    found = m.estimate(sv.Tally(m, 500, cells))
    scores = np.array([one.answer(questions[0]).values for one in singles]).T
    # Errors are those of four more reports, from ages that are equally common.
    more = 4 * np.mean([law_row(m.channel, code) for code in range(7)], axis=0)
    rates = (cells + more) / 504
    expected = (scores * rates) @ scores.T - np.outer(*[scores @ rates] * 2)
    np.testing.assert_allclose(found.answer(questions[0]).covariance(), expected / 500, rtol=1e-9)
    np.testing.assert_allclose(found.covariance().diagonal(), found.std_errors**2, rtol=1e-9)


@pytest.mark.parametrize("name", ["binned", "square-wave-discrete", "hierarchy", "designed-distribution", "coded-wave"])
def test_reports_that_all_say_the_same_are_no_certainty(name: str) -> None:
    """At epsilon 10 nobody of 200 contradicts a share of one; if three in a hundred had another answer, that would have
    a chance of 0.97**200, about two in a thousand, so the interval must reach nearly as far, and never be a point."""
    m = sv.mechanism(name, sv.Interval(0, 1), epsilon=10, buckets=16)
    for n, least in ((1, 0.5), (50, 0.03), (200, 0.01)):
        found = m.estimate(m.tally(m.privatize([0.3] * n, seed=3)))
        (low,), (high,) = found.cdf(0.5).quiet_ci()
        assert low <= 1 - least
        assert high >= 1
        low, high = (float(one[0]) for one in found.range(0.28, 0.9).quiet_ci())  # both ends inside buckets
        assert low <= found.range(0.28, 0.9).value <= high
        if n > 1:
            band = found.band()
            assert (band.half[1:-1] > 0).all()


# --- mean and variance without buckets --------------------------------------------------------------------------------
@pytest.mark.parametrize(("low", "high", "epsilon"), [(0, 1, 1), (-3, 10, "0.5"), (0, 1, 8)])
def test_reports_are_read_as_numbers_and_squares_without_bias(low: int, high: int, epsilon: Any) -> None:
    m = sv.mechanism("square-wave", sv.Interval(low, high), epsilon=epsilon)
    steps, centre = m.channel.inputs - 1, (low + high) / 2 + 0.25
    number, square = square_readings(m, centre)
    for point in (0, 1, steps // 3, steps // 2, steps):
        away = low + (high - low) * point / steps - centre
        law = law_row(m.channel, point)
        assert law @ number == pytest.approx(away, abs=1e-9) and law @ square == pytest.approx(away**2, abs=1e-8)


@pytest.mark.slow
def test_mean_and_variance_cover_for_answers_at_the_worst_places(seed: int) -> None:
    """Spikes inside buckets, where shares of buckets would be biased; few buckets and many reports."""
    m = sv.mechanism("square-wave", RANGE, epsilon=4, buckets=8)
    spikes, runs, n = np.array([0.03, 0.26, 0.51, 0.99]), 150, 20_000
    held = {"mean": 0, "variance": 0}
    rng = np.random.default_rng(seed)
    for run in range(runs):
        answers = rng.choice(spikes, n)
        found = m.estimate(m.tally(m.privatize(answers, seed=int(rng.integers(1 << 60)))))
        for name, one, truth in (("mean", found.mean(), spikes.mean()), ("variance", found.variance(), spikes.var())):
            (low,), (high,) = one.ci(0.95)
            held[name] += bool(low <= truth <= high)
        assert run or isinstance(found.variance().answer(sv.Mean(RANGE)).value, float)
    for name, hits in held.items():
        assert stats.binom.ppf(ALPHA, runs, 0.95) <= hits <= stats.binom.isf(ALPHA, runs, 0.95), name


# --- EM and EMS -------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def tally() -> sv.Tally:
    m = sv.mechanism("square-wave", RANGE, epsilon=1, buckets=128)
    return m.tally(m.privatize(np.random.default_rng(5).beta(5, 2, 50_000), seed=6))


def test_smoothing_has_the_weights_of_the_paper_and_no_border_on_a_circle() -> None:
    spike = np.array([0.0, 0, 0, 1, 0, 0])
    np.testing.assert_allclose(smoothed(spike, False), [0, 0, 0.25, 0.5, 0.25, 0])
    first = smoothed(np.array([1.0, 0, 0, 0]), False)
    np.testing.assert_allclose(first, np.array([2 / 3, 1 / 4, 0, 0]) / (2 / 3 + 1 / 4))  # (2/3, 1/3), renormalised
    np.testing.assert_allclose(smoothed(np.array([1.0, 0, 0, 0]), True), [0.5, 0.25, 0, 0.25])
    np.testing.assert_allclose(smoothed(np.full(5, 0.2), False), 0.2)


def test_em_ends_at_the_stop_of_the_paper(tally: sv.Tally) -> None:
    mixture = from_cells(tally.mechanism, tally.n, tally.cells).likelihood()
    for decoder, stop, smooth in (("em", 1e-3 * math.e, False), ("ems", 1e-3, True)):
        found = tally.mechanism.estimate(tally, decoder=decoder)
        assert found.fit is not None
        shares, values = np.full(128, 1 / 128), []
        for _ in range(found.fit.iterations):
            slope = mixture.slope(shares)
            values.append(slope.value * tally.n)
            shares = smoothed(shares * slope.gradient, False) if smooth else em_step(shares, slope)
        values.append(mixture.value(shares) * tally.n)
        changes = np.abs(np.diff(values))
        assert changes[-1] < stop * (1 + 1e-6) and (changes[:-1] >= stop * (1 - 1e-6)).all()
        np.testing.assert_allclose(found.values, shares, atol=1e-12)
        if not smooth:
            assert (np.diff(values) > 0).all()


def test_acceleration_reaches_the_likelihood_of_em_with_a_tenth_of_its_updates(tally: sv.Tally) -> None:
    mixture = from_cells(tally.mechanism, tally.n, tally.cells).likelihood()
    plain, fit = iterate(mixture, stop=1e-300, smooth=False, max_iterations=3000)
    goal, calls = mixture.value(plain), 0
    slope = type(mixture).slope

    class Counted(type(mixture)):  # type: ignore[misc]
        def slope(self, shares: Floats) -> Any:
            nonlocal calls
            calls += 1
            return slope(self, shares)

    mixture.__class__ = Counted
    shares, found = accelerated(mixture, tolerance=fit.gap / 2, max_iterations=10_000)
    assert mixture.value(shares) > goal and calls < 300 and fit.iterations == 3000
    assert found.gap < fit.gap


def test_the_certificate_bounds_what_is_left(tally: sv.Tally) -> None:
    mixture = from_cells(tally.mechanism, tally.n, tally.cells).likelihood()
    best, fit = accelerated(mixture, tolerance=1e-5, max_iterations=20_000)
    top = mixture.value(best)
    assert fit.gap < 1e-5
    for stop in (10.0, 0.1):
        shares, _ = iterate(mixture, stop=stop, smooth=False, max_iterations=10_000)
        slope = mixture.slope(shares)
        assert 0 <= top - slope.value <= certificate(slope)
    decoded = tally.mechanism.estimate(tally, decoder=sv.decoder("em", tolerance=1e-4))
    assert decoded.fit is not None and decoded.fit.gap < 1e-4
    with pytest.raises(sv.ParameterError, match="The 'stop' parameter of a likelihood decoder"):
        sv.decoder("em", tolerance=1e-4, stop=1)


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "bar"), [(0.5, 1.0e-2), (1.0, 5.4e-3), (2.0, 2.5e-3)])
def test_the_square_wave_with_ems_is_as_near_as_it_was_measured(epsilon: float, bar: float, seed: int) -> None:
    """A thin version of `sottovoce reproduce sw-beta`, which takes the mean of 200 runs."""
    m, runs = sv.mechanism("square-wave", RANGE, epsilon=epsilon, buckets=256), 16
    rng, found = np.random.default_rng(seed), []
    for _ in range(runs):
        answers = rng.beta(5, 2, 100_000)
        estimate = m.estimate(m.tally(m.privatize(answers, seed=int(rng.integers(1 << 60)))), decoder="ems")
        found.append(sv.metrics.wasserstein(estimate, sv.metrics.histogram(estimate, answers)))
    error = np.std(found) / math.sqrt(runs)
    assert np.mean(found) < bar + 3 * error < 1.35 * bar


# --- buckets ----------------------------------------------------------------------------------------------------------
def test_the_number_of_buckets_is_near_the_root_of_the_reports() -> None:
    assert [near_root(n, 1024) for n in (1, 100, 10**4, 10**5, 10**6, 10**9)] == [8, 8, 128, 256, 1024, 1024]
    assert near_root(10**5, 96) == 32 and near_root(10**5, 3) == 3
    m = sv.mechanism("square-wave", RANGE, epsilon=1)
    assert len(buckets_of(m, 10**4)) == 128
    assert len(buckets_of(m, 10**7)) == 512  # of 1024 steps: in as many buckets, shares that alternate hardly show
    assert len(buckets_of(sv.mechanism("square-wave", RANGE, epsilon=1, buckets=100), 10**4)) == 100
    assert len(buckets_of(sv.mechanism("square-wave", AGES, epsilon=1), 10**4)) == 7


def test_buckets_of_whole_numbers_and_categories_by_hand() -> None:
    ages = coded_buckets(AGES)
    shares = np.array([0.1, 0.2, 0.0, 0.3, 0.1, 0.1, 0.2])
    assert list(ages.labels()) == [18, 19, 20, 21, 22, 23, 24]
    assert ages.between(None, 19) @ shares == pytest.approx(0.3) == pytest.approx(ages.between(None, 19.7) @ shares)
    assert ages.between(19, 21) @ shares == pytest.approx(0.5) and ages.between(18.5, 21.5) @ shares == pytest.approx(
        0.5
    )
    numbers = np.arange(18, 25)
    assert ages.numbers() @ shares == pytest.approx(numbers @ shares)
    assert ages.squares(20) @ shares == pytest.approx((numbers - 20) ** 2 @ shares)
    assert [ages.quantile(shares, q) for q in (0.05, 0.1, 0.100001, 0.3, 0.300001, 0.99)] == [18, 18, 19, 19, 21, 24]
    wide = coded_buckets(Bins(sv.Integers(0, 9), [3, 7]))
    assert list(wide.labels()) == ["0 to 2", "3 to 6", "7 to 9"] and list(wide.edges) == [-0.5, 2.5, 6.5, 9.5]
    inside = np.array([0.3, 0.4, 0.3])
    assert wide.between(None, 4) @ inside == pytest.approx(0.5) and wide.between(4, 4) @ inside == pytest.approx(0.1)
    assert wide.squares(4.5) @ inside == pytest.approx(np.mean((np.arange(10) - 4.5) ** 2))
    words = coded_buckets(WORDS)
    assert words.between(None, "rarely") @ np.array([0.1, 0.2, 0.3, 0.4]) == pytest.approx(0.3)
    assert words.quantile(np.array([0.1, 0.2, 0.3, 0.4]), 0.5) == 2
    with pytest.raises(sv.ParameterError, match="categories have no mean"):
        words.numbers()


def test_buckets_of_numbers_and_circles_by_hand() -> None:
    parts = even_buckets(sv.Interval(0, 8), 4)
    shares = np.array([0.1, 0.4, 0.3, 0.2])
    assert parts.between(None, 3) @ shares == pytest.approx(0.3) and parts.between(1, 5) @ shares == pytest.approx(0.6)
    assert parts.quantile(shares, 0.3) == pytest.approx(3) and parts.quantile(shares, 0.0) == 0
    assert parts.numbers() @ shares == pytest.approx(4.2)
    spread = [np.mean((np.linspace(a, a + 2, 20001) - 1) ** 2) for a in (0, 2, 4, 6)]
    np.testing.assert_allclose(parts.squares(1), spread, rtol=1e-4)
    np.testing.assert_allclose(parts.powers(1, 2), parts.squares(1))
    day = even_buckets(sv.Circle(24), 4)
    assert day.between(21, 3) @ shares == pytest.approx(0.1 + 0.05) and day.circular
    assert day.between(3, 21) @ shares == pytest.approx(1 - 0.15)
    cosine, sine = day.directions()
    hours = np.linspace(0, 6, 20001) * 2 * np.pi / 24
    assert cosine[0] == pytest.approx(np.cos(hours).mean(), rel=1e-4)
    assert sine[1] == pytest.approx(cosine[0]) and cosine[1] == pytest.approx(-cosine[0])


# --- what an estimate answers -----------------------------------------------------------------------------------------
def test_an_estimate_answers_with_intervals(tally: sv.Tally) -> None:
    truth = stats.beta(5, 2)
    for decoder in (None, "em", "ems"):
        found = tally.mechanism.estimate(tally, decoder=decoder)
        answers = {
            "cdf": (found.cdf([0.5, 0.8]), truth.cdf([0.5, 0.8])),
            "median": (found.median(), [truth.median()]),
            "quantile": (found.quantile([0.25, 0.75]), truth.ppf([0.25, 0.75])),
            "iqr": (found.iqr(), [np.diff(truth.ppf([0.25, 0.75]))[0]]),
            "mean": (found.mean(), [truth.mean()]),
            "variance": (found.variance(), [truth.var()]),
            "range": (found.range(0.4, 0.6), [truth.cdf(0.6) - truth.cdf(0.4)]),
        }
        for name, (one, true) in answers.items():
            low, high = one.ci(0.999)
            assert ((low <= true) & (true <= high)).all(), (decoder, name)
            assert ((low <= one.values) & (one.values <= high)).all() and (one.std_errors > 0).all()
            assert one.n == 50_000 and one.explain() and len(one.to_frame()) == len(true)
        if decoder is not None:
            assert found.cdf(0.5).value == pytest.approx(found.values[:64].sum())
            assert found.mean().value == pytest.approx(found.values @ (np.arange(128) + 0.5) / 128)
            assert found.density().values.sum() / 128 == pytest.approx(1) and found.quality != "unbiased"
        drawn = found.sample(20_000, seed=1)
        assert drawn.min() >= 0 and drawn.max() <= 1 and abs(drawn.mean() - truth.mean()) < 0.1
        np.testing.assert_array_equal(drawn, found.sample(20_000, seed=1))
        frame = found.to_frame()
        assert list(frame.columns[:3]) == ["value", "from", "to"] and frame["to"].iloc[-1] == 1


@pytest.mark.parametrize("domain", [WORDS, sv.Integers(3, 6)])
def test_drawn_answers_are_values_of_the_domain_with_their_shares(domain: Domain) -> None:
    """Of 16,000 draws with shares 0.1 to 0.4, each count lies within six of its standard deviations."""
    m = sv.mechanism("grr", domain, epsilon=5)
    shares, size = np.array([0.1, 0.2, 0.3, 0.4]), 16_000
    found = m.estimate(sv.Tally(m, 10_000, np.array([1000, 2000, 3000, 4000]))).answer(sv.Distribution(domain))
    drawn = found.sample(size, seed=2).tolist()
    counts = np.array([drawn.count(label) for label in domain.labels()])
    assert counts.sum() == size and (np.abs(counts - size * found.values) < 6 * np.sqrt(size * shares)).all()


def test_quantiles_of_decoded_shares_are_inside_and_rise(tally: sv.Tally) -> None:
    found = tally.mechanism.estimate(tally, decoder="ems")
    values = found.quantile(np.arange(1, 10) / 10).values
    assert (np.diff(values) > 0).all()
    np.testing.assert_allclose(found.cdf(values).values, np.arange(1, 10) / 10, atol=1e-9)


@pytest.mark.slow
def test_a_band_holds_the_whole_curve_and_is_the_same_each_time(tally: sv.Tally) -> None:
    found = tally.mechanism.estimate(tally)
    band = found.band(0.95)
    truth = stats.beta(5, 2).cdf(band.points)
    assert ((band.low <= truth) & (truth <= band.high)).all()
    assert (np.diff(band.low) >= 0).all() and (np.diff(band.high) >= 0).all() and band.low[0] == 0 == 1 - band.high[-1]
    np.testing.assert_array_equal(band.high, found.band(0.95).high)
    assert (found.band(0.5).half[1:-1] < band.half[1:-1]).all()
    assert (band.half[1:-1] > 1.96 * found.cdf(list(band.points[1:-1])).std_errors).all()
    assert list(band.to_frame().columns) == ["value", "estimate", "low", "high"]


def test_a_band_is_the_estimate_with_one_margin_cut_at_its_borders() -> None:
    """Its ends rise and stay inside; between the borders it reaches equally far up and down."""
    m = sv.mechanism("grr", WORDS, epsilon=3)
    found = m.estimate(sv.Tally(m, 10_000, np.array([6000, 2500, 1050, 450]))).answer(sv.Distribution(WORDS))
    band, shares = found.band(0.9), np.cumsum(found.values)[:-1]
    reach = band.half[1:-1]
    errors = np.sqrt(found._distribution.functional(np.tri(3, 4), "population").covariance.diagonal())
    factor = reach / errors  # of the largest of three: above the quantile of one, at most that of Bonferroni
    np.testing.assert_allclose(factor, factor[0])
    assert stats.norm.isf(0.05) < factor[0] < stats.norm.isf(0.05 / 3)
    assert (shares + reach).max() > 1 and (shares - reach).min() > 0
    np.testing.assert_allclose(band.low[1:-1], np.maximum.accumulate(shares - reach))
    np.testing.assert_allclose(band.high[1:-1], np.minimum.accumulate(np.minimum(shares + reach, 1)[::-1])[::-1])
    assert band.low[[0, -1]].tolist() == band.high[[0, -1]].tolist() == [0, 1]


def test_circles_answer_arcs_and_directions_and_refuse_an_order() -> None:
    hours = sv.Circle(24)
    rng = np.random.default_rng(8)
    answers = rng.normal(23, 1.5, 40_000) % 24
    for name, options in (("square-wave", {}), ("square-wave-discrete", {"buckets": 24})):
        m = sv.mechanism(name, hours, epsilon=2, **options)
        found = m.estimate(m.tally(m.privatize(answers, seed=9)))
        night = found.range(21, 3)
        true = np.mean((answers >= 21) | (answers <= 3))
        (low,), (high,) = night.ci(0.999, target="sample")
        assert low <= true <= high and night.value + found.range(3, 21).value == pytest.approx(1)
        (low,), (high,) = found.mean().ci(0.999)
        assert low <= 23 <= high and high - low < 4
        smooth = m.estimate(m.tally(m.privatize(answers, seed=9)), decoder="ems")
        assert smooth.mean().value == pytest.approx(23, abs=0.6)
        for refused in (lambda e: e.cdf(3), lambda e: e.median(), lambda e: e.iqr(), lambda e: e.band()):
            with pytest.raises(sv.ParameterError, match="Values on a circle have no order"):
                refused(found)
        with pytest.raises(sv.ParameterError, match="domain of numbers"):
            found.variance()


def test_frequency_oracles_answer_for_distributions() -> None:
    m = sv.mechanism("grr", AGES, epsilon=2)
    answers = np.random.default_rng(10).integers(18, 25, 20_000)
    found = m.estimate(m.tally(m.privatize(answers, seed=11)))
    whole = found.answer(sv.Distribution(AGES))
    assert whole.cdf(20).value == pytest.approx(found.values[:3].sum())
    assert whole.cdf(20).value == found.answer(sv.Cdf(AGES, (20,))).value
    errors = np.array([1, 1, 1, 0, 0, 0, 0]) @ found.covariance() @ [1, 1, 1, 0, 0, 0, 0]
    assert whole.cdf(20).std_errors[0] == pytest.approx(math.sqrt(errors))
    assert whole.median().value in (20, 21, 22) and whole.mean().value == pytest.approx(21, abs=0.2)
    assert m.estimate(m.tally(m.privatize(answers, seed=11)), sv.Distribution(AGES)).decoded("ems").values.sum() == (
        pytest.approx(1)
    )
    with pytest.raises(sv.ParameterError, match="not of a distribution"):
        found.cdf(20)
    with pytest.raises(sv.ParameterError, match="do not answer this question"):
        found.answer(sv.Distribution(sv.Integers(0, 6)))


@pytest.mark.slow
def test_cumulative_shares_and_quantiles_cover(seed: int) -> None:
    """Counts drawn from their law; with spikes, and with little between them."""
    m = sv.mechanism("square-wave-discrete", sv.Integers(0, 11), epsilon=2)
    shares = np.array([0.3, 0, 0, 0.02, 0, 0.03, 0.3, 0, 0.05, 0, 0, 0.3])
    law = transition_of(m.channel, 12).forward(shares)
    rng, n, runs = np.random.default_rng(seed), 4000, 400
    hits = {"cdf": 0, "quantile": 0}
    for _ in range(runs):
        found = m.estimate(sv.Tally(m, n, rng.multinomial(n, law / law.sum())))
        (low,), (high,) = found.cdf(5).ci(0.95)
        hits["cdf"] += bool(low <= 0.35 <= high)
        (low,), (high,) = found.quantile("0.4").ci(0.95)
        hits["quantile"] += bool(low <= 6 <= high)
    least = stats.binom.ppf(ALPHA, runs, 0.95)
    assert least <= hits["cdf"] <= stats.binom.isf(ALPHA, runs, 0.95) and hits["quantile"] >= least, hits


# --- questions --------------------------------------------------------------------------------------------------------
def test_questions_have_specifications() -> None:
    questions = [
        sv.Distribution(RANGE, "ranges", 64),
        sv.Cdf(RANGE, (0.25, "0.5")),
        sv.Cdf(WORDS, ("rarely",)),
        sv.Range(sv.Circle(24), 22, 2),
        sv.Cdf(AGES, (18, 19.5, 24.5)),  # all are at most the last of these
        sv.Quantile(AGES, (0.5,)),
        Density(AGES),
        sv.CircularMean(sv.Circle(24)),
    ]
    for question in questions:
        assert question_from_spec(question.spec()) == question
    m = sv.mechanism("square-wave-discrete", RANGE, epsilon=1, buckets=16, workload="quantiles")
    assert sv.Mechanism.from_spec(m.spec()) == m and m.question == sv.Distribution(RANGE, "quantiles", 16)
    assert questions[1].points == (Decimal("0.25"), Decimal("0.5"))  # type: ignore[attr-defined]


@for_each(
    "make,said",
    [
        (lambda: sv.Distribution(sv.Box(0, 1, 2)), "must be an Interval, Integers, Categories"),
        (lambda: sv.Distribution(RANGE, buckets=1), "The 'buckets' parameter of distribution must be an integer"),
        (lambda: sv.Distribution(AGES, buckets=8), r"an integer in \[2, 7\]"),
        (lambda: sv.Cdf(RANGE, (2,)), r"must hold values of the domain: a number in \[0, 1\]"),
        (lambda: sv.Cdf(RANGE, ()), "a list of at least one"),
        (lambda: sv.Cdf(AGES, (17.5,)), "must hold values of the domain"),
        (lambda: sv.Cdf(AGES, (25,)), "must hold values of the domain"),
        (lambda: sv.Cdf(WORDS, ("once",)), "must hold values of the domain"),
        (lambda: sv.Range(AGES, 22, 20), "a value that is not before low"),
        (lambda: sv.Range(WORDS, "often", "never"), "a value that is not before low"),
        (lambda: sv.Quantile(RANGE, (1,)), r"numbers in \(0, 1\)"),
        (lambda: sv.CircularMean(RANGE), "must be a Circle"),
    ],
)
def test_wrong_questions_are_refused_in_one_sentence(make: Any, said: str) -> None:
    with pytest.raises(sv.ParameterError, match=said):
        make()


# --- metrics ----------------------------------------------------------------------------------------------------------
def test_metrics_by_hand() -> None:
    found, truth = [0.1, 0.7, 0.1, 0.1], [0.7, 0.1, 0.1, 0.1]
    assert sv.metrics.wasserstein(found, truth) == pytest.approx(0.6 / 4)
    assert sv.metrics.wasserstein([0.1, 0.1, 0.1, 0.7], truth) == pytest.approx(
        1.8 / 4
    )  # farther away, as it should be
    assert sv.metrics.kolmogorov_smirnov(found, truth) == pytest.approx(0.6)
    assert sv.metrics.range_error(found, truth, 0.25) == pytest.approx((0.6 + 0.6 + 0 + 0) / 4)
    assert sv.metrics.range_error(found, truth, 0.5) == pytest.approx((0 + 0.6 + 0) / 3)
    assert sv.metrics.mean_error(found, truth) == pytest.approx(0.6 / 4)
    centres = np.array([0.125, 0.375, 0.625, 0.875])
    variances = [np.dot(p, centres**2) - np.dot(p, centres) ** 2 for p in (found, truth)]
    assert sv.metrics.variance_error(found, truth) == pytest.approx(abs(variances[0] - variances[1]))
    parts = ((0.25 + 0.4 / 0.7 / 4) - 0.5 / 0.7 / 4,)
    assert sv.metrics.quantile_error(found, truth, (0.5,)) == pytest.approx(abs(parts[0]))
    with pytest.raises(sv.ParameterError, match="shares of the same buckets"):
        sv.metrics.wasserstein(found, truth[:3])


def test_metrics_of_estimates_are_in_the_units_of_the_domain() -> None:
    m = sv.mechanism("square-wave-discrete", AGES, epsilon=8)
    answers = np.array([18, 18, 20, 24] * 500)
    found = m.estimate(m.tally(m.privatize(answers, seed=3)))
    truth = sv.metrics.histogram(found, answers)
    np.testing.assert_allclose(truth, [0.5, 0, 0.25, 0, 0, 0, 0.25])
    shifted = np.roll(truth, 1)
    assert sv.metrics.mean_error(shifted, found) == pytest.approx(abs(found.values @ np.arange(18, 25) - 19.25))
    assert sv.metrics.wasserstein(found, truth) < 0.05
    words = sv.mechanism("square-wave", WORDS, epsilon=8)
    said = words.estimate(words.tally(words.privatize(["often"] * 100, seed=1)))
    np.testing.assert_allclose(sv.metrics.histogram(said, ["often", "never"]), [0.5, 0, 0.5, 0])
    with pytest.raises(sv.ParameterError, match="inside the domain"):
        sv.metrics.histogram(found, [17])


# --- what lies inside a bucket ---------------------------------------------------------------------------------------
def test_intervals_of_waves_that_do_not_put_answers_into_buckets_warn() -> None:
    wave = sv.mechanism("square-wave", RANGE, epsilon=1, buckets=8)
    found = wave.estimate(wave.tally(wave.privatize([0.5] * 200, seed=1)))
    bucketed = sv.mechanism("square-wave-discrete", RANGE, epsilon=1, buckets=8)
    other = bucketed.estimate(bucketed.tally(bucketed.privatize([0.5] * 200, seed=1)))
    for ask in (
        lambda e: e.cdf(0.5).ci(),
        lambda e: e.median().ci(),
        lambda e: e.range(0.1, 0.4).ci(),
        lambda e: e.band(),
    ):
        with pytest.warns(sv.PoorIntervalWarning, match="spread evenly"):
            ask(found)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ask(other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found.mean().ci()  # which needs no buckets


def test_intervals_allow_for_answers_anywhere_inside_a_bucket() -> None:
    """Everyone holds 0.26, in the bucket from 0.25 to 0.375: without noise to speak of the truth must be inside."""
    m = sv.mechanism("square-wave-discrete", RANGE, epsilon=8, buckets=8)
    found = m.estimate(m.tally(m.privatize(np.full(400_000, 0.26), seed=2)))
    for one, true in (
        (found.mean(), 0.26),
        (found.variance(), 0.0),
        (found.cdf(0.27), 1.0),
        (found.cdf(0.2599), 0.0),
        (found.range(0.2, 0.3), 1.0),
        (found.median(), 0.26),
    ):
        (low,), (high,) = one.ci(0.95)
        assert low <= true <= high, one.question
    low, high = found.quantile(["0.1", "0.9"]).ci()
    assert low.tolist() == [0.25, 0.25]
    assert high.tolist() == [0.375, 0.375]
    (low,), (high,) = found.cdf(0.375).ci()  # an edge: nothing is open
    assert high - low < 0.01


def test_the_quantile_that_allows_for_slack() -> None:
    """P(|Z + t| <= c) is the level; without slack it is the usual quantile, with much of it the one-sided one."""
    errors = np.array([2.0, 0.5, 0.01, 0.0])
    half = slack_deviate(0.95, 1.0, errors)
    for width, error in zip(half[:3], errors[:3], strict=True):
        at = 1 / error
        assert ndtr(width / error - at) - ndtr(-width / error - at) == pytest.approx(0.95, abs=1e-9)
    assert half[3] == 1.0
    assert half[2] == pytest.approx(1 + 1.6448536 * 0.01, abs=1e-6)
    assert slack_deviate(0.95, 1e-12, errors[:1])[0] == pytest.approx(2 * 1.959964, abs=1e-5)
