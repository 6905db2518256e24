"""Intervals for a mean: their formulas, the bets behind them, and how often they cover.

Coverage is summed up exactly where there are two outputs. Elsewhere it is simulated, and a promise counts as broken
only where a right interval would do so badly with probability below `ALPHA`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sottovoce as sv
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.mean.betting import Bets, Sides, bets_for, bets_for_ever, log_capitals
from sottovoce.estimate.mean.evidence import MeanEvidence, evidence
from sottovoce.estimate.mean.single import bernstein, hoeffding
from sottovoce.estimate.prior import Prior
from sottovoce.testing.statistics import ALPHA
from sottovoce_experiments.coverage.declared.studies import MEAN_CROWDS, MEAN_KINDS, MEAN_METHODS
from sottovoce_experiments.coverage.draws import add_sums
from sottovoce_experiments.coverage.mean import Judge, cell, coverages, false_alarms, laws, looks, two_outputs, widths

pytestmark = pytest.mark.slow  # the quick part has the contract

MEANS = sv.names(sv.Mean)
METHODS = ("normal", "betting", "hoeffding", "bernstein", "anytime")
# The normal interval is promised for the population and n = 10,000; for the sample it may be too wide, as the answers'
# own spread cannot always be told from the noise.
LOWEST = {("normal", "population"): 0.94, ("normal", "sample"): 0.94}
HIGHEST = {("normal", "population"): 0.96}


def build(name: str, epsilon: float = 1.0) -> sv.Mechanism:
    return sv.mechanism(name, sv.Interval(-1, 1), epsilon=epsilon)


def drawn(mechanism: sv.Mechanism, answers: Any, n: int, seed: int) -> sv.Tally:
    law = laws(mechanism, answers).mean(axis=0)
    return sv.Tally(mechanism, n, np.random.default_rng(seed).multinomial(n, law))


def known(mechanism: sv.Mechanism, answers: Any, n: int, seed: int) -> MeanEvidence:
    return evidence(mechanism, drawn(mechanism, answers, n, seed))


# --- formulas ------------------------------------------------------------------------------------------
def test_hoeffding_has_two_sides() -> None:
    """METHODS, erratum 7: log(2 / beta), not log(1 / beta)."""
    e = math.e
    reach = 2 * (e + 1) / (e - 1)
    m = build("bernoulli")
    low, high = m.estimate(drawn(m, [0.3], 700, 1)).ci(0.9, method="hoeffding")
    assert (high - low)[0] / 2 == pytest.approx(reach * math.sqrt(math.log(2 / 0.1) / (2 * 700)), rel=1e-9)
    assert hoeffding(2.0, 50, 0.95) == pytest.approx(2 * math.sqrt(math.log(40) / 100))


def test_bernstein_is_that_of_maurer_and_pontil() -> None:
    """Theorem 11 with delta = alpha / 2 for each side, stretched from [0, 1] to the range."""
    delta, n, variance, reach = 0.025, 80, 0.3, 7.0
    unit = math.sqrt(2 * variance / reach**2 * math.log(2 / delta) / n) + 7 * math.log(2 / delta) / (3 * (n - 1))
    assert bernstein(reach, variance, n, 0.95) == pytest.approx(reach * unit, rel=1e-12)


def test_normal_is_the_usual_one() -> None:
    m = build("piecewise")
    tally = drawn(m, [0.2, 0.9], 900, 4)
    read = np.repeat(Judge(m, 0.0, 900).numbers, tally.cells)
    low, high = m.estimate(tally).ci(0.95)
    half = stats.norm.ppf(0.975) * read.std(ddof=1) / 30
    assert (low[0], high[0]) == pytest.approx((read.mean() - half, read.mean() + half), rel=1e-9)


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=6), st.floats(-1, 1), st.data())
def test_capital_is_a_product_of_what_bets_pay(numbers: list[float], mean: float, data: st.DataObject) -> None:
    counts = np.array([data.draw(st.integers(1, 5)) for _ in numbers], float)
    bets = Bets(np.array([0.01, 0.1, 0.2]), np.array([0.5, 0.3, 0.2]))
    expected = 0.0
    for size, weight in zip(bets.sizes, bets.weights, strict=True):
        capital = 1.0
        for number, count in zip(numbers, counts, strict=True):
            capital *= (1 + size * (number - mean)) ** count
        expected += weight * capital
    (capital,) = log_capitals(np.array(numbers), counts, bets, np.array([mean]))
    assert capital == pytest.approx(math.log(expected), abs=1e-9)


# --- bets ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["betting", "anytime"])
@pytest.mark.parametrize("name", MEANS)
def test_bets_are_fair(name: str, method: str) -> None:
    """For the true mean a bet's expected capital is one after any number of reports, exactly by the law.

    So the threshold 2 / alpha is exceeded with probability alpha / 2 at most on each side, which is all that the
    intervals need. With answers taken as given it is at most one.
    """
    m, answers = build(name), (-1.0, 0.1, 0.9)
    truth, rows = float(np.mean(answers)), laws(m, (-1.0, 0.1, 0.9))
    for n in (30, 10_000):
        judge = Judge(m, truth, n)
        sides = judge.known.sides(0.95, method)
        for sign, bets in ((1, sides.up), (-1, sides.down)):
            assert bets.weights.sum() == pytest.approx(1) and bets.sizes.min() > 0
            pays = 1 + np.outer(bets.sizes, sign * (judge.numbers - truth))
            assert pays.min() > 0, "nobody loses more than everything"
            # The clamping of noise biases a reading by less than 1e-9 of the range.
            np.testing.assert_allclose(pays @ rows.mean(axis=0), 1, atol=1e-9)
            assert (np.log(pays @ rows.T).sum(axis=1) <= 1e-8).all(), "the sample: a product of unlike means"
            for border in (-1.0, 1.0):  # also for every other mean of the domain
                assert (1 + np.outer(bets.sizes, sign * (judge.numbers - border))).min() > 0


def test_bets_for_ever_know_nothing_of_the_number_of_reports() -> None:
    m = build("piecewise")
    few, many = (known(m, [0.4], n, 1).sides(0.95, "anytime") for n in (10, 100_000))
    np.testing.assert_array_equal(few.up.sizes, many.up.sizes)
    assert bets_for_ever(0.2).sizes[-1] < 1e-7  # small enough for 2**50 reports
    assert bets_for(10_000, 0.05, (1.0, 1.2), 1.0).sizes == pytest.approx(
        math.sqrt(2 * math.log(40) / 10_000) / math.sqrt(1.2), rel=1e-9
    )


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize("method", ["betting", "anytime"])
def test_ends_are_where_the_capital_crosses(name: str, method: str) -> None:
    m = build(name)
    sides: Sides = known(m, [-0.5, 0.3], 3000, 5).sides(0.95, method)
    low, high = sides.interval(0.95)
    threshold, near = math.log(40), 1e-6
    assert sides.above(low) == pytest.approx(threshold, abs=1e-6) or low == -1
    assert sides.below(high) == pytest.approx(threshold, abs=1e-6) or high == 1
    assert sides.covers(low + near, 0.95) and sides.covers(high - near, 0.95)
    assert low == -1 or not sides.covers(low - near, 0.95)
    assert high == 1 or not sides.covers(high + near, 0.95)


def test_an_interval_beyond_the_range_is_its_end() -> None:
    """All reports at the upper end: nothing of the range is left, and its end is the best that can be said."""
    m = build("bernoulli")
    estimate = m.estimate(sv.Tally(m, 5000, np.array([0, 5000])))
    assert estimate.ci(method="betting") == ([1.0], [1.0])


# --- what all methods share ----------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", MEANS)
def test_levels_are_nested_and_the_sample_is_no_wider(name: str, method: str) -> None:
    m = build(name, 2.0)
    estimate = m.estimate(drawn(m, [-0.4, 0.1, 0.6], 40_000, 8))
    wide, narrow = estimate.ci(0.99, method=method), estimate.ci(0.8, method=method)
    assert wide.low[0] < narrow.low[0] < estimate.value < narrow.high[0] < wide.high[0]
    if method != "anytime":
        sample, population = (estimate.ci(method=method, target=t) for t in ("sample", "population"))
        assert (sample.high - sample.low)[0] <= (population.high - population.low)[0] * (1 + 1e-9)
    normal = estimate.ci(0.95)
    same = estimate.ci(0.95, method=method)
    assert (same.high - same.low)[0] >= (normal.high - normal.low)[0] * (1 - 1e-9)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"method": "exact"}, "normal, betting, hoeffding, bernstein, anytime"),
        ({"method": "wilson"}, "method"),
        ({"level": 1.0}, "level"),
        ({"target": "everyone"}, "target"),
        ({"method": "anytime", "target": "sample"}, "moves with every report"),
    ],
)
def test_wrong_requests_get_one_sentence(arguments: dict[str, Any], word: str) -> None:
    m = build("bernoulli")
    with pytest.raises(sv.ParameterError, match=word) as caught:
        m.estimate(sv.Tally(m, 90, np.array([40, 50]))).ci(**arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", MEANS)
def test_normal_warns_where_it_is_poor_and_not_elsewhere(name: str) -> None:
    m = build(name)
    with pytest.warns(sv.PoorIntervalWarning, match="betting interval holds"):
        m.estimate(drawn(m, [0.9], 20, 1)).ci(method="normal")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.estimate(drawn(m, [0.9], 2000, 1)).ci()
        m.estimate(drawn(m, [0.9], 20, 1)).ci(method="betting")


def test_normal_warns_where_rare_reports_are_still_missing() -> None:
    """At large budgets a few far reports make most of the variance."""
    for name in ("bernoulli", "piecewise", "pm-sub"):
        m = build(name, 8.0)
        law = laws(m, [1.0])[0]
        likely = np.where(law > law.max() / 2, law, 0)
        cells = np.random.default_rng(2).multinomial(300, likely / likely.sum())
        with pytest.warns(sv.PoorIntervalWarning):
            m.estimate(sv.Tally(m, 300, cells)).ci(method="normal")


# --- the noise, from the tally alone -------------------------------------------------------------------
PRIORS = [[0.0], [0.9], [-1.0, 1.0], [-0.3, 0.1], [0.0, 0.0, 1.0], list(np.linspace(-1, 1, 21))]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("name", MEANS)
def test_the_noise_is_bounded_from_its_mean_square(name: str, epsilon: float) -> None:
    m = build(name, epsilon)
    judge = Judge(m, 0.0, 100)
    for answers in PRIORS:
        prior = Prior.of(answers)
        square = float(laws(m, answers).mean(axis=0) @ judge.numbers**2)
        bound, true = judge.known.grid.noise(0.0, square), m.average_variance(prior)
        assert bound >= true * (1 - 1e-8)
        population = square - prior.mean**2
        if name in ("piecewise", "pm-sub", "laplace", "scdf", "staircase"):
            # What the bound adds is at most the variance of rounding, a quarter of a squared step.
            rounding = m.channel.rounding
            assert rounding is not None
            assert bound <= true + float(rounding.step) ** 2 / 4 + 1e-6 * true
        elif name == "bernoulli":
            assert min(bound, population) == pytest.approx(population, rel=1e-6)


# --- coverage ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("method", "target"), MEAN_KINDS)
@pytest.mark.parametrize("name", MEANS)
def test_runs_are_judged_as_the_shipped_intervals_do(name: str, method: str, target: str) -> None:
    m, answers, n = build(name), (-1.0, -0.2, 0.9), 400
    level, seen = 0.6, set()  # low, so that both outcomes occur
    for truth in (-0.1, 0.05, 0.2, 0.8):
        judge = Judge(m, truth, n, level)
        for seed in range(4):
            tally = drawn(m, answers, n, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sv.PoorIntervalWarning)
                low, high = m.estimate(tally).ci(level, method=method, target=target)
            covered = bool(judge.covers(judge.sums(tally.cells[None, :]), method, target)[0])
            assert covered == (low[0] <= truth <= high[0])
            seen.add(covered)
    assert True in seen


def test_drawn_sums_have_the_moments_of_the_law(seed: int) -> None:
    law, features = np.array([0.1, 0.0, 0.6, 0.3]), np.array([[1.0, 0.0], [5.0, 1.0], [0.0, 1.0], [2.0, 0.0]])
    out = np.zeros((4000, 2, 2))
    add_sums(law, features, np.array([10, 90]), out, np.random.default_rng(seed))
    mean, covariance = law @ features, np.cov(features.T, aweights=law, ddof=0)
    for step, n in enumerate((10, 100)):
        error = np.sqrt(n * np.diag(covariance) / len(out))
        assert (np.abs(out[:, step].mean(axis=0) - n * mean) < 6 * error).all()
        np.testing.assert_allclose(np.cov(out[:, step].T), n * covariance, rtol=0.15)


def broken(found: dict[str, float], target: str, runs: int, *, normal: bool) -> list[str]:
    """The methods whose coverage refutes its promise; `runs` 0 where it was computed exactly."""
    bad = []
    for method, coverage in found.items():
        if method == "normal" and not normal:
            continue
        low, high = LOWEST.get((method, target), 0.95), HIGHEST.get((method, target), 1.0)
        if runs == 0:
            wrong = not low <= coverage <= high + 1e-9  # sums of probabilities are floats
        else:
            count = round(coverage * runs)
            below = stats.binomtest(count, runs, low, alternative="less").pvalue
            above = stats.binomtest(count, runs, high, alternative="greater").pvalue
            wrong = min(below, above) < ALPHA
        if wrong:
            bad.append(f"{method} {target}: {coverage:.4f}")
    return bad


@pytest.mark.parametrize("crowd", MEAN_CROWDS)
@pytest.mark.parametrize("target", ["population", "sample"])
@pytest.mark.parametrize("name", MEANS)
def test_coverage_of_small_crowds(name: str, target: str, crowd: str, seed: int) -> None:
    m, runs = build(name), 1000
    found = coverages(m, MEAN_CROWDS[crowd], 100, target, MEAN_METHODS, runs=runs, rng=np.random.default_rng(seed))
    assert broken(found, target, 0 if m.cells == 2 else runs, normal=False) == []


@pytest.mark.parametrize(
    ("target", "epsilon"),
    [
        ("population", 0.5),
        ("sample", 4.0),
        pytest.param("population", 4.0, marks=pytest.mark.long),
        pytest.param("sample", 0.5, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("name", MEANS)
def test_coverage_of_large_crowds(name: str, target: str, epsilon: float, seed: int) -> None:
    m, runs, rng = build(name, epsilon), 3000, np.random.default_rng(seed)
    for answers in MEAN_CROWDS.values():
        found = coverages(m, answers, 10_000, target, MEAN_METHODS, runs=runs, rng=rng)
        assert broken(found, target, 0 if m.cells == 2 else runs, normal=True) == []


@pytest.mark.parametrize("target", ["population", "sample"])
def test_wrong_intervals_are_noticed(target: str, seed: int) -> None:
    """The checks have power: a variance 10 % too small, or the quantile of one side, breaks the promise."""
    m, n, answers = build("bernoulli"), 10_000, (0.9,)
    counts, law = two_outputs(laws(m, answers), n, target)
    judge = Judge(m, 0.9, n)
    sums = judge.sums(counts)
    first, second = sums[:, 0] / n, sums[:, 1] / n
    spread = (second - first**2) * n / (n - 1)
    halves = {
        "right": deviate(0.95) * np.sqrt(spread / n),
        "small": deviate(0.95) * np.sqrt(0.9 * spread / n),
        "one-sided": deviate(0.9) * np.sqrt(spread / n),
    }
    exact = {kind: float(law[np.abs(first) <= half].sum()) for kind, half in halves.items()}
    assert exact["right"] == pytest.approx(coverages(m, answers, n, target, ["normal"], runs=0, rng=None)["normal"])  # type: ignore[arg-type]
    for kind, coverage in exact.items():
        assert bool(broken({"normal": coverage}, target, 0, normal=True)) == (kind != "right")
    # A simulation sees the one-sided quantile as well.
    window = build("piecewise")
    low = coverages(
        window, answers, n, target, ["normal"], runs=2000, rng=np.random.default_rng(seed), level=1 - 2 * 0.05
    )
    assert broken(low, target, 2000, normal=True)


@pytest.mark.parametrize("name", ["bernoulli", "laplace", "piecewise", "hybrid"])
def test_nobody_is_fooled_by_looking_often(name: str, seed: int) -> None:
    m, runs = build(name), 300
    alarms = false_alarms(m, (0.9,), runs=runs, stream=10_000, seed=seed)
    assert stats.binomtest(alarms, runs, 0.05, alternative="greater").pvalue > ALPHA


def test_looking_often_at_an_interval_for_one_n_is_noticed(seed: int) -> None:
    """Power of the check above: the normal interval, looked at while reports stream in, is wrong far too often."""
    m, runs = build("piecewise"), 300
    judge, times = Judge(m, 0.9, 1), looks(10_000)
    law, away = laws(m, (0.9,))[0], judge.numbers - 0.9
    out = np.zeros((runs, len(times), 2))
    add_sums(law, np.stack([away, away**2], axis=1), np.diff(times, prepend=0), out, np.random.default_rng(seed))
    first, second = out[:, :, 0] / times, out[:, :, 1] / times
    outside = np.abs(first) > deviate(0.95) * np.sqrt((second - first**2) / times)
    alarms = int(outside[:, times >= 60].any(axis=1).sum())
    assert stats.binomtest(alarms, runs, 0.05, alternative="greater").pvalue < ALPHA


def test_a_cell_has_a_row_for_each_kind_of_interval() -> None:
    for name, made in (("three-output", 50), ("bernoulli", None)):
        rows = cell({"mechanism": name, "n": 100, "crowd": "-1, 1"}, 50, 0)
        assert [(row.method, row.target) for row in rows] == list(MEAN_KINDS) and {row.runs for row in rows} == {made}


def test_widths_are_as_documented() -> None:
    """The page and the default rest on this: betting is about 1.4 times as wide as the normal interval."""
    found = widths("piecewise", 10_000)
    assert found["betting"] / found["normal"] == pytest.approx(math.sqrt(2 * math.log(40)) / deviate(0.95), rel=0.02)
    assert found["normal"] < found["betting"] < found["anytime"] < 2 * found["normal"]
    assert found["betting"] < found["bernstein"] < found["hoeffding"]
