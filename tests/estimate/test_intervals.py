"""Intervals against independent computations: SciPy's Clopper-Pearson and Wilson, brute force over integers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import sottovoce as sv
from sottovoce.core.errors import NoCovarianceError, NoIntervalError
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.frequency.contrasts import ContrastsEvidence
from sottovoce.estimate.frequency.intervals.binomials import exact_held, lower_tail
from sottovoce.estimate.frequency.intervals.misses import normal_score_excess, score_excess
from sottovoce.estimate.frequency.supports import SupportsEvidence, clopper_pearson
from sottovoce.estimate.request import IntervalRequest, PoorIntervalWarning

ORACLES = [name for name in sv.names(sv.Frequency) if name != "rr"]  # which takes two categories only


def sum_of_binomials(n: int, held: int, p: float, q: float) -> np.ndarray:
    return np.convolve(
        stats.binom.pmf(np.arange(held + 1), held, p), stats.binom.pmf(np.arange(n - held + 1), n - held, q)
    )


@given(
    n=st.integers(1, 200),
    share=st.floats(0, 1),
    p=st.floats(0.05, 0.99),
    q=st.just(0.0) | st.floats(1e-9, 0.9),  # SciPy's own law overflows at the least floats
)
def test_tails_of_two_binomials(n: int, share: float, p: float, q: float) -> None:
    held = round(n * share)
    expected = np.cumsum(sum_of_binomials(n, held, p, q))
    found = [lower_tail(count, held, n, p, q) for count in range(n + 1)]
    np.testing.assert_allclose(found, expected, atol=1e-11)
    assert found[n] == 1 and lower_tail(n + 1, held, n, p, q) == 1 and lower_tail(-1, held, n, p, q) == 0


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.27), (0.9, 0.1), (0.06, 0.004), (0.75, 0.5), (0.6, 0.0)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_sample_limits_are_those_of_all_integers_tried(p: float, q: float, level: float) -> None:
    n = 60
    alpha = (1 - level) / 2
    laws = [sum_of_binomials(n, held, p, q) for held in range(n + 1)]
    counts = np.arange(n + 1)
    low, high = exact_held(counts, np.full(n + 1, n), p, q, level)
    for count in counts:
        kept_low = [h for h in range(n + 1) if laws[h][count:].sum() > alpha]
        kept_high = [h for h in range(n + 1) if laws[h][: count + 1].sum() > alpha]
        if kept_low and kept_high and min(kept_low) <= max(kept_high):
            assert (low[count], high[count]) == (min(kept_low), max(kept_high))
        else:
            assert low[count] == high[count]


def test_limits_rise_with_the_count() -> None:
    counts = np.arange(0, 3001)
    low, high = exact_held(counts, np.full(len(counts), 3000), 0.5, 0.2, 0.95)
    assert (np.diff(low) >= 0).all() and (np.diff(high) >= 0).all()


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_population_limits_are_clopper_pearson_and_wilson(level: float) -> None:
    n, own, other = 61, 0.7, 0.3
    counts = np.arange(n + 1)
    evidence = SupportsEvidence(counts, n, own, other)
    for method, ends in (("exact", evidence.exact(level, "population")), ("wilson", evidence.wilson(level))):
        for count in counts:
            expected = stats.binomtest(int(count), n).proportion_ci(level, method=method)
            found = np.array([ends.low[count], ends.high[count]]) * (own - other) + other
            assert found == pytest.approx([expected.low, expected.high], abs=1e-9)


def test_no_trials_no_knowledge() -> None:
    low, high = clopper_pearson(np.array([0]), np.array([0]), 0.95)
    assert (low[0], high[0]) == (0, 1)


def test_contrast_without_hits_has_no_knowledge_beyond_the_hit_rate() -> None:
    evidence = ContrastsEvidence(np.array([0]), np.array([0]), 500, 0.6, 0.57)
    for target in ("population", "sample"):
        low, high = evidence.exact(0.95, target)
        assert low[0] <= 0 <= high[0] < 0.1


def test_the_doubt_about_an_interval_of_contrasts_is_that_of_its_method() -> None:
    evidence = ContrastsEvidence(np.array([5, 20]), np.array([9, 24]), 40, 0.6, 0.57)
    for method, miss_rate in (("wilson", score_excess), ("normal", normal_score_excess)):
        expected = [miss_rate(40, rate, (evidence.hit_own, evidence.hit_other), 0.95) for rate in (9 / 40, 24 / 40)]
        assert evidence.excess(IntervalRequest(0.95, method)).tolist() == expected
    assert expected[0] > 1.4 * score_excess(40, 9 / 40, (evidence.hit_own, evidence.hit_other), 0.95)


def _estimate(name: str = "oue", n: int = 4000, epsilon: float = 1.0) -> sv.Estimate:
    m = sv.mechanism(name, sv.Integers(0, 9), epsilon=epsilon)
    return m.estimate(m.tally(m.privatize(np.arange(n) % 10, seed=5)))


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_sample_is_narrower_than_population_and_levels_are_nested(name: str, epsilon: float) -> None:
    estimate = _estimate(name, epsilon=epsilon)
    wide, narrow = estimate.ci(0.99), estimate.ci(0.9)
    assert (wide.low <= narrow.low).all() and (narrow.high <= wide.high).all()
    everyone = estimate.ci(0.95, simultaneous=True)
    assert (everyone.high - everyone.low > estimate.ci(0.95).high - estimate.ci(0.95).low).all()
    sample, population = (estimate.ci(0.95, target=t) for t in ("sample", "population"))
    assert (sample.high - sample.low <= population.high - population.low + 2 / estimate.n).all()
    assert (estimate.values >= estimate.ci(0.95).low).all() and (estimate.values <= estimate.ci(0.95).high).all()


def test_normal_warns_where_it_is_poor_and_not_elsewhere() -> None:
    with pytest.warns(PoorIntervalWarning, match="exact interval holds"):
        _estimate("grr", n=200, epsilon=5.0).ci(method="normal")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _estimate("oue").ci(method="normal")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"level": 1.0}, "level"),
        ({"level": 0}, "level"),
        ({"level": True}, "level"),
        ({"method": "bayes"}, "method"),
        ({"target": "everyone"}, "target"),
        ({"method": "wilson", "target": "sample"}, "Wilson"),
    ],
)
def test_wrong_requests_get_one_sentence(arguments: dict[str, object], word: str) -> None:
    with pytest.raises(sv.ParameterError, match=word) as caught:
        _estimate(n=50).ci(**arguments)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_projection_is_by_name_and_keeps_the_honest_interval() -> None:
    estimate = _estimate("olh", n=300)
    projected = estimate.project("simplex")
    assert projected.values.sum() == pytest.approx(1) and projected.values.min() >= 0
    assert (estimate.values != projected.values).any() and estimate.decoder.name == "linear"
    np.testing.assert_array_equal(projected.ci().low, np.clip(estimate.ci().low, 0, 1))
    with pytest.raises(sv.ParameterError, match="simplex"):
        estimate.project("round")


@given(st.lists(st.floats(-2, 2), min_size=1, max_size=8))
def test_simplex_projection_is_the_nearest_point(values: list[float]) -> None:
    from sottovoce.estimate.decoders.simplex import simplex

    start = np.array(values)
    nearest = simplex(start)
    assert nearest.min() >= 0 and nearest.sum() == pytest.approx(1)
    # The nearest point of a convex set makes an obtuse angle with every corner of it.
    for corner in np.eye(len(start)):
        assert (start - nearest) @ (corner - nearest) <= 1e-9


@pytest.mark.parametrize("name", ["grr", "subset", "sue", "oue", "hadamard", "flh", "hrr"])
@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("target", ["sample", "population"])
def test_covariance_is_that_of_repeated_tallies(name: str, epsilon: float, target: str, seed: int) -> None:
    from sottovoce.tally.counts import simulate_cells

    m = sv.mechanism(name, sv.Integers(0, 5), epsilon=epsilon)
    shares = np.array([0.35, 0.25, 0.2, 0.1, 0.1, 0.0])
    n, runs = 4000, 2500
    rng = np.random.default_rng(seed)
    if target == "sample":
        cells = simulate_cells(m, (shares * n).astype(int), runs=runs, seed=seed)
    else:
        crowds = rng.multinomial(n, shares, runs)
        cells = np.concatenate([simulate_cells(m, c, runs=1, seed=seed + i) for i, c in enumerate(crowds)])
    estimates = [m.estimate(sv.Tally(m, n, row)) for row in cells]
    measured = np.cov(np.array([e.values for e in estimates]).T)
    claimed = np.mean([e.covariance(target=target) for e in estimates[:200]], axis=0)
    scale = np.sqrt(np.outer(np.diag(claimed), np.diag(claimed)))
    # A correlation from 2,500 runs has a standard error of at most 0.03; five of them bound 21 entries.
    assert np.abs((measured - claimed) / scale).max() < 0.15


def test_hashed_reports_have_no_covariance_and_say_why() -> None:
    with pytest.raises(NoCovarianceError, match="pairwise independent"):
        _estimate("olh").covariance()


def test_general_tables_are_inverted_without_bias() -> None:
    from sottovoce.core.arithmetic.rational import UNIT
    from sottovoce.core.channel import Table
    from sottovoce.testing.frequency import check_small

    half, quarter, eighth = UNIT // 2, UNIT // 4, UNIT // 8
    table = Table([[half, quarter, eighth, eighth], [eighth, half, quarter, eighth], [eighth, eighth, quarter, half]])
    m = sv.Mechanism("made up", Frequency(sv.Integers(0, 2)), table, "1.5", CountOutputs())  # type: ignore[arg-type]
    check_small(m)
    estimate = m.estimate(m.tally(m.privatize(np.arange(30_000) % 3, seed=1)))
    assert np.abs(estimate.values - 1 / 3).max() < 5 * estimate.std_errors.max()
    with pytest.raises(NoIntervalError, match="normal"):
        estimate.ci()
    low, high = estimate.ci(method="normal")
    assert (low < 1 / 3).all() and (high > 1 / 3).all()


def test_an_empty_tally_has_no_estimate() -> None:
    m = sv.mechanism("grr", sv.Integers(0, 2), epsilon=1)
    with pytest.raises(sv.ParameterError, match="at least one report"):
        m.estimate(sv.Tally.empty(m))


def test_tables_pictures_and_words() -> None:
    import matplotlib

    matplotlib.use("Agg")
    estimate = _estimate("grr")
    frame = estimate.to_frame()
    assert list(frame.columns) == ["value", "estimate", "std_error", "low", "high", "simulation"] and len(frame) == 10
    axes = estimate.plot()
    assert "grr" in axes.get_title()
    text = estimate.explain()
    assert "unbiased" in text and "population" in text and f"{estimate.n}" in text
