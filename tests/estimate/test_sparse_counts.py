"""Few reports for very many values: intervals hold or warn, standard errors are positive, noise is explained."""

from __future__ import annotations

import json
import time
import warnings

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.core.channel import Contrast, Rates
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.frequency.contrasts import ContrastsEvidence
from sottovoce.estimate.frequency.intervals.misses import (
    SHARES,
    normal_excess,
    normal_score_excess,
    score_excess,
    wilson_excess,
)
from sottovoce.estimate.frequency.intervals.score_sums import _ZEROS, _largest_tail, upper_tail
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.request import IntervalRequest, PoorIntervalWarning
from sottovoce.testing.coverage import coverage, support_law

pytestmark = pytest.mark.slow

ORACLES = [name for name in sv.names(sv.Frequency) if name != "rr"]  # which takes two categories only
K, N = 13_929, 5_000


def crowd() -> np.ndarray:
    """5,000 participants who hold 13,929 values, most of them none."""
    return np.bincount(np.random.default_rng(0).zipf(1.3, N).clip(1, K) - 1, minlength=K)


def rates_of(m: sv.Mechanism) -> tuple[float, float]:
    rates = m.channel.rates()
    assert isinstance(rates, Rates)
    return float(rates.own), float(rates.other)


# --- approximate intervals warn where they miss --------------------------------------------------------------------
@pytest.mark.parametrize(
    ("n", "own", "other"), [(400, 0.6, 0.3), (400, 0.2, 0.01), (3000, 0.002, 0.0001), (50, 0.99, 0.5)]
)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99, 0.9999])
def test_misses_are_those_of_the_intervals_at_every_count(n: int, own: float, other: float, level: float) -> None:
    """The shipped intervals of all counts, weighted by the binomial law of SciPy."""
    counts = np.arange(n + 1)
    evidence = SupportsEvidence(counts, n, own, other)

    def missed(method: str, share: float) -> float:
        low, high = evidence.interval(IntervalRequest(level, method))
        law = stats.binom.pmf(counts, n, other + share * (own - other))
        return float(law[(low > share + 1e-12) | (high < share - 1e-12)].sum()) / (1 - level)

    worst = max(missed("wilson", share) for share in SHARES)
    assert wilson_excess(n, own, other, level) == pytest.approx(worst, rel=1e-6, abs=1e-9)
    worst = max(missed("normal", share) for share in (*SHARES, *(1 - SHARES)))
    assert normal_excess(n, own, other, level) == pytest.approx(worst, rel=1e-6, abs=1e-9)


def test_wilson_warns_on_sparse_counts_and_not_elsewhere() -> None:
    m = sv.mechanism("grr", sv.Integers(0, K - 1), epsilon=3)
    estimate, truth = m.estimate(sv.simulate_counts(m, crowd(), seed=1)), crowd() / N
    with pytest.warns(PoorIntervalWarning, match=r"Wilson interval of level 0.99 is poor for 13929 of 13929.*exact"):
        low, high = estimate.ci(0.99, method="wilson")
    assert ((low <= truth) & (truth <= high)).mean() < 0.96  # what it warns of
    with pytest.warns(PoorIntervalWarning, match=r"Wilson.*exact interval holds"):
        low, high = estimate.ci(0.99, method="wilson", simultaneous=True)
    assert not ((low <= truth) & (truth <= high)).all()
    for name in ("oue", "hadamard"):
        good = sv.mechanism(name, sv.Integers(0, 9), epsilon=3)
        many = good.estimate(sv.simulate_counts(good, np.full(10, 400), seed=1))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            many.ci(0.99, method="wilson", simultaneous=True)


def test_wilson_warns_where_groups_are_hardly_hit() -> None:
    m = sv.mechanism("hadamard", sv.Integers(0, 255), epsilon=6)
    estimate = m.estimate(sv.simulate_counts(m, np.full(256, 2), seed=1))
    with pytest.warns(PoorIntervalWarning, match="Wilson"):
        estimate.ci(0.99, method="wilson", simultaneous=True)
    rates = m.channel.rates()
    assert isinstance(rates, Contrast)
    assert estimate.evidence.hit_other == pytest.approx(float(rates.hit_other), rel=1e-12)
    assert score_excess(5000, 0.2, (0.6, 0.06), 0.95) < 1.2 < score_excess(50, 0.07, (0.6, 0.06), 0.9999)


def test_the_normal_interval_of_a_hadamard_sum_warns_where_it_misses_the_sample() -> None:
    """At share zero all sums of scores are enumerated, hits being as many as expected."""
    n, own, other, level = 400, 0.9, 0.1, 0.9999
    found = normal_score_excess(n, other, (own, other), level)
    deviate, hits = stats.norm.isf((1 - level) / 2), round(n * other)
    sums = np.arange(-hits, hits + 1)
    shares = np.clip(sums / n / (own - other), 0, 1)
    rates = np.maximum(other, other + shares * (own - other))
    half = deviate * np.sqrt((rates - (own - other) ** 2 * shares) / n) / (own - other)
    law = np.array([1.0])
    for _ in range(n):
        law = np.convolve(law, [other / 2, 1 - other, other / 2])
    law = law[n - hits : n + hits + 1]
    missed = law[np.abs(sums / n / (own - other)) > half].sum() / (1 - level)
    assert found == pytest.approx(max(missed, score_excess(n, other, (own, other), level)), rel=0.05)


def test_default_intervals_hold_all_at_once_on_sparse_counts() -> None:
    """Thirty of thirty, and by the law of the counts: all misses of all values add up to less than is promised."""
    m, held = sv.mechanism("grr", sv.Integers(0, K - 1), epsilon=3), crowd()
    truth, level = held / N, 0.99
    for seed in range(30):
        low, high = m.estimate(sv.simulate_counts(m, held, seed=seed)).ci(level, simultaneous=True)
        assert ((low <= truth) & (truth <= high)).all()
    own, other = rates_of(m)
    misses = 0.0
    for share, values in zip(*np.unique(held, return_counts=True), strict=True):
        counts, law = support_law(m.channel.rates(), N, int(share), "population")
        low, high = SupportsEvidence(counts, N, own, other).exact(1 - (1 - level) / K, "population")
        misses += values * law[(low > share / N) | (high < share / N)].sum()
    assert misses <= 1 - level


# --- standard errors -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.parametrize("name", ORACLES)
def test_standard_errors_are_positive_whatever_was_reported(name: str, epsilon: float) -> None:
    m = sv.mechanism(name, sv.Integers(0, 99), epsilon=epsilon)
    for n in (1, 7):
        estimate = m.estimate(m.tally(m.privatize(np.zeros(n, int), seed=n)))
        for target in ("population", "sample"):
            assert (estimate.evidence.variances(target) > 0).all()
        assert (estimate.std_errors > 0).all()


def test_the_standard_error_without_support_is_that_of_a_value_nobody_holds() -> None:
    for name in ("grr", "oue", "hadamard"):
        m = sv.mechanism(name, sv.Integers(0, K - 1), epsilon=3)
        estimate = m.estimate(sv.simulate_counts(m, crowd(), seed=1))
        lowest = int(np.argmin(estimate.values))
        shares = np.zeros(K)
        shares[(lowest + 1) % K] = 1  # in another group, so that nobody else hits this one
        exact = np.sqrt(m.variance(shares, N)[lowest])
        if name == "hadamard":
            assert estimate.std_errors.min() >= exact
        else:
            assert estimate.std_errors[lowest] == pytest.approx(exact, rel=1e-9)


def test_a_table_has_positive_standard_errors_without_the_outputs_of_a_code() -> None:
    from sottovoce.core.arithmetic.rational import UNIT
    from sottovoce.core.channel import Table

    rows = [[UNIT // 2 if y == c else UNIT // 4 for y in range(3)] for c in range(3)]
    m = sv.Mechanism("made up", Frequency(sv.Integers(0, 2)), Table(rows), "1.5", CountOutputs())  # type: ignore[arg-type]
    for cells in ([1, 0, 0], [9, 0, 0], [0, 5, 5]):
        estimate = m.estimate(sv.Tally(m, sum(cells), np.array(cells)))
        assert (estimate.std_errors > 0).all() and (estimate.evidence.variances("sample") > 0).all()
    projected = m.estimate(sv.Tally(m, 9, np.array([9, 0, 0]))).project("simplex")
    with pytest.warns(PoorIntervalWarning):
        low, high = projected.ci(method="normal")
    assert (low >= 0).all() and (high <= 1).all() and (low < high).all()


# --- Hadamard groups: sums of scores and hits -------------------------------------------------------------------------
def law_of_scores(counts: np.ndarray, hits: np.ndarray, drifts: np.ndarray) -> np.ndarray:
    law = np.ones(1)
    for count, hit, drift in zip(counts, hits, drifts, strict=True):
        for _ in range(count):
            law = np.convolve(law, [(hit - drift) / 2, 1 - hit, (hit + drift) / 2])
    return law


@pytest.mark.parametrize("size", [1, 9, 60, 500])
def test_tails_of_scores_are_those_of_convolutions(size: int) -> None:
    rng = np.random.default_rng(size)
    for hits in (rng.random(3), np.array([1.0, 0.97, 0.999]), np.array([0.6, 0.6, 0.05])):
        counts, drifts = rng.integers(0, size + 1, 3), hits * rng.uniform(-1, 1, 3) * [1, 0, 1]
        tails = np.cumsum(law_of_scores(counts, hits, drifts)[::-1])[::-1]
        n = counts.sum()
        found = [upper_tail(least, counts, hits, drifts) for least in range(-n, n + 1)]
        np.testing.assert_allclose(found, tails, atol=1e-12)


@pytest.mark.parametrize("n", [3, 20, 200])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.75, 0.95, 0.999])
def test_the_rates_tried_have_the_largest_tail(n: int, rate: float) -> None:
    """No hit rate up to the limit has a tail, where it is small enough to reject, that is larger than the one found."""
    for drift in (-0.3 * rate, 0.0, 0.2 * rate, 0.8 * rate):
        every = np.linspace(abs(drift), rate, 200)
        spread = np.sqrt(n * (rate - drift**2))
        for deviate in (1.0, 1.7, 3.0):
            least = int(np.ceil(n * drift + deviate * spread))
            found = _largest_tail(least, n, rate, drift, 1.0, _ZEROS)
            tails = [upper_tail(least, np.array([n]), np.array([hit]), np.array([drift])) for hit in every]
            assert max(tails) <= found * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("epsilon", [1.5, 3.0])
def test_exact_intervals_of_groups_are_hardly_wider_than_normal_ones(epsilon: float) -> None:
    m = sv.mechanism("hadamard", sv.Integers(0, K - 1), epsilon=epsilon)
    for share in (0.0, 0.4):
        held = np.bincount(np.random.default_rng(1).integers(1, K, N - round(share * N)), minlength=K)
        held[0] = round(share * N)
        estimate = m.estimate(sv.simulate_counts(m, held, seed=2))
        for target in ("population", "sample"):
            start = time.process_time()
            exact = estimate.ci(target=target)
            assert time.process_time() - start < 10, "13,929 intervals in a second, the first of all with compiling"
            normal = estimate.ci(method="normal", target=target)
            ratio = (exact.high - exact.low) / (normal.high - normal.low)
            assert ratio[0] < 1.15 and np.quantile(ratio, 0.999) < 1.15


@pytest.mark.parametrize("target", ["population", "sample"])
@pytest.mark.parametrize(("k", "epsilon", "n"), [(4, 5, 40), (5, 3, 30), (16, 3, 100), (256, 6, 200)])
def test_exact_and_bounded_intervals_of_groups_cover(k: int, epsilon: float, n: int, target: str) -> None:
    """Computed from the law, also where nearly every report hits its group and sums keep to every second integer."""
    m = sv.mechanism("hadamard", sv.Integers(0, k - 1), epsilon=epsilon)
    for share, method, level in (
        (0.0, "exact", 0.8),
        (0.1, "exact", 0.95),
        (0.9, "exact", 0.8),
        (1.0, "bounded", 0.95),
    ):
        assert coverage(m, n, share, method, target, level) >= level - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.5, 3.0])
def test_exact_intervals_of_groups_cover_at_the_size_of_the_promise(epsilon: float) -> None:
    m = sv.mechanism("hadamard", sv.Integers(0, 255), epsilon=epsilon)
    for target, share in (("population", 0.1), ("sample", 0.1), ("sample", 0.0)):
        assert 0.95 <= coverage(m, N, share, "exact", target) <= 0.985


# --- intervals inside [0, 1] -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("target", ["population", "sample"])
@pytest.mark.parametrize(("n", "own", "other"), [(1, 0.7, 0.3), (30, 0.6, 0.5), (60, 0.9, 0.02), (60, 0.999, 0.001)])
def test_bounded_intervals_of_every_count_are_inside_contain_the_estimate_and_cover(
    n: int, own: float, other: float, target: str
) -> None:
    counts = np.arange(n + 1)
    evidence = SupportsEvidence(counts, n, own, other)
    for level in (0.5, 0.95, 0.999):
        low, high = evidence.interval(IntervalRequest(level, "bounded", target))
        nearest = np.clip(evidence.values(), 0, 1)
        assert (low >= 0).all() and (low <= nearest).all() and (nearest <= high).all() and (high <= 1).all()
        exact = evidence.exact(level, target)
        assert (low <= np.clip(exact.low, 0, 1)).all() and (high >= np.clip(exact.high, 0, 1)).all()
        rates = Rates(own, other)  # type: ignore[arg-type]
        for held in range(0, n + 1, max(1, n // 6)):
            seen, law = support_law(rates, n, held, target)
            inside = (low[seen] <= held / n + 1e-12) & (high[seen] >= held / n - 1e-12)
            assert law[inside].sum() >= level - 1e-9


def test_bounded_intervals_of_groups_are_inside_and_contain_the_estimate() -> None:
    plus, hits = (side.ravel() for side in np.meshgrid(np.arange(41), np.arange(41), indexing="ij"))
    possible = plus <= hits
    evidence = ContrastsEvidence(plus[possible], hits[possible], 40, 0.6, 0.57)
    for target in ("population", "sample"):
        low, high = evidence.interval(IntervalRequest(0.95, "bounded", target))
        nearest = np.clip(evidence.values(), 0, 1)
        assert (low >= 0).all() and (low <= nearest).all() and (nearest <= high).all() and (high <= 1).all()
        assert (high > low).all()


@pytest.mark.parametrize("name", ORACLES)
def test_projected_estimates_have_intervals_with_room_that_contain_them(name: str) -> None:
    m = sv.mechanism(name, sv.Integers(0, 99), epsilon=0.5)
    estimate = m.estimate(m.tally(m.privatize(np.arange(1000) % 100, seed=1)))
    for projection in ("simplex", "norm-mul", "normalise", "base-cut"):
        projected = estimate.project(projection)
        assert projected.default_method == "bounded"
        for target in ("population", "sample"):
            low, high = projected.ci(target=target)
            shown = np.clip(projected.values, 0, 1)
            assert (low >= 0).all() and (low <= shown).all() and (shown <= high).all() and (high <= 1).all()
            assert (high - low > 0.01).all()
        for method in set(estimate.evidence.methods) & {"exact", "wilson", "normal"}:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PoorIntervalWarning)
                low, high = projected.ci(method=method)
            assert (low >= 0).all() and (high <= 1).all() and (high - low > 0.01).all()


# --- numbers that cannot be true -------------------------------------------------------------------------------------
def noisy() -> sv.Estimate:
    m = sv.mechanism("grr", sv.Categories(list("abcde")), epsilon=0.05)
    return m.estimate(m.tally(m.privatize(list("abcde") * 10, seed=3)))


def test_shares_outside_the_range_are_explained_where_they_are_shown() -> None:
    import matplotlib

    matplotlib.use("Agg")
    estimate = noisy()
    assert estimate.values.max() > 5
    sentence = (
        "5 of 5 estimates lie outside [0, 1], where no share can be: that is noise, the standard error with 50 reports"
    )
    assert repr(estimate) == "Estimate(grr, n=50, 5 values, simulation, 5 outside [0, 1] by noise)"
    assert sentence in estimate.explain()
    assert estimate.to_frame().attrs["remark"].startswith(sentence)
    assert sentence in estimate.plot().get_xlabel().replace("\n", " ")
    clear = sv.mechanism("grr", sv.Categories(list("abcde")), epsilon=3)
    plain = clear.estimate(clear.tally(clear.privatize(list("abcde") * 400, seed=3)))
    assert plain.remark(plain.ci()) is None and "outside" not in repr(plain) and "outside" not in plain.explain()
    assert plain.to_frame().attrs["remark"] is None and plain.plot().get_xlabel() == "share, from 0 to 1"


def test_intervals_below_zero_are_explained_and_the_bounded_one_is_named() -> None:
    m = sv.mechanism("oue", sv.Integers(0, 1999), epsilon=2)
    estimate = m.estimate(sv.simulate_counts(m, np.full(2000, 5), seed=1))
    bounds = estimate.ci()
    below = int((bounds.high < 0).sum())
    assert below > 5
    text = estimate.remark(bounds)
    assert text is not None and f"and {below} of 2000 intervals lie outside [0, 1]" in text and "'bounded'" in text
    inside = estimate.remark(estimate.ci(method="bounded"))
    assert inside is not None and "does not contain such an estimate" in inside and "'bounded'" not in inside


def test_a_single_estimate_outside_the_range_is_told() -> None:
    m = sv.mechanism("grr", sv.Categories(list("abc")), epsilon=2)
    estimate = m.estimate(sv.Tally(m, 100, np.array([60, 35, 5], np.int64)))
    assert [(estimate.values < 0).sum(), (estimate.values > 1).sum()] == [1, 0]
    assert (estimate.remark(estimate.ci()) or "").startswith("1 of 3 estimates lies outside [0, 1]")


def test_the_demo_explains_noise(capsys: pytest.CaptureFixture[str]) -> None:
    from sottovoce.cli.demo import demo

    demo(20_000, 0.1, open_page=False, as_json=True)
    shown = json.loads(capsys.readouterr().out)
    assert shown["remark"].startswith("1 of 5 estimates lies outside [0, 1], where no share can be: that is noise")
    assert all(0 <= row["low"] < row["high"] <= 1 for row in shown["rows"])
    assert any(not row["low"] <= row["estimate"] <= row["high"] for row in shown["rows"])
    demo(20_000, 0.1, open_page=False, as_json=False)
    assert shown["remark"] in capsys.readouterr().out
    demo(20_000, 1.0, open_page=False, as_json=True)
    assert json.loads(capsys.readouterr().out)["remark"] is None


def test_the_command_explains_noise(capsys: pytest.CaptureFixture[str]) -> None:
    from sottovoce.cli.estimate import estimate

    found = noisy()
    tally = sv.Tally(found.mechanism, found.n, found.evidence.counted.cells)
    estimate(tally, IntervalRequest(), decoder=None, top=None, form="table")
    assert "5 of 5 estimates lie outside [0, 1]" in capsys.readouterr().out
    estimate(tally, IntervalRequest(), decoder=None, top=None, form="csv")
    shown = capsys.readouterr()
    assert "5 of 5 estimates lie outside [0, 1]" in shown.err and "outside" not in shown.out
    estimate(tally, IntervalRequest(), decoder="simplex", top=None, form="json")
    shown = json.loads(capsys.readouterr().out)
    assert shown["remark"] is None and shown["method"] == "bounded"


def test_shares_of_groups_are_inside_and_warn_as_well() -> None:
    domain = sv.Pair(sv.Categories(list("abcdefgh")), sv.Interval(0, 1))
    m = sv.mechanism("group-bernoulli", domain, epsilon=0.5)
    found = m.estimate(m.tally(m.privatize([("a", 0.5)] * 60, seed=1)))
    for view, scale in ((found.shares, 1), (found.sizes, 60)):
        assert view.values.min() < 0
        low, high = view.ci(method="bounded")
        assert (low >= 0).all() and (high <= scale).all() and (low < high).all()
        projected = view.project("simplex")
        low, high = projected.ci()
        assert (low <= projected.values).all() and (projected.values <= high).all() and (high > low).all()
        with pytest.warns(PoorIntervalWarning, match="Wilson"):
            view.ci(1 - 1e-6, method="wilson")
