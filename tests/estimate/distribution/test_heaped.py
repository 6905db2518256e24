"""Answers that are round numbers and lie on the edges of buckets: without noise, the truth must be inside."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.estimate import Estimate
from sottovoce_experiments.coverage.distributions.heaped import report_law

pytestmark = pytest.mark.filterwarnings("ignore::sottovoce.PoorIntervalWarning")
LOANS = np.repeat([0, 5_000, 10_000, 15_000, 20_000.0], [3, 1, 4, 1, 1])
N = 10_000_000


def expected(name: str, domain: sv.Interval) -> Estimate:
    method = sv.mechanism(name, domain, epsilon=3, buckets=4 if domain.step is None else None)
    cells = np.rint(N * report_law(method, LOANS)).astype(np.int64)
    return Estimate.of(method.question, from_cells(method, N, cells), [])


@pytest.mark.parametrize("name", ["square-wave-discrete", "binned", "haar", "hierarchy"])
def test_both_ends_are_included(name: str) -> None:
    found = expected(name, sv.Interval(0, 20_000))
    for at in (0, 5_000, 10_000, 20_000):
        (low,), (high,) = found.cdf(at).quiet_ci(0.95)
        assert low - 1e-6 <= (at >= LOANS).mean() <= high + 1e-6, at
        band_low, band_high = found.band().limits(at)
        assert band_low[0] - 1e-6 <= (at >= LOANS).mean() <= band_high[0] + 1e-6, at
    for a, b in ((0, 0), (0, 5_000), (5_000, 10_000), (10_000, 10_000), (15_000, 20_000)):
        (low,), (high,) = found.range(a, b).quiet_ci(0.95)
        assert low - 1e-6 <= ((a <= LOANS) & (b >= LOANS)).mean() <= high + 1e-6, (a, b)


def test_bins_that_end_right_after_a_point_hold_it() -> None:
    method = sv.mechanism("binned", sv.Interval(0, 20_000), epsilon=3, edges=["0.00000001", "5000.00000001"])
    cells = np.rint(N * report_law(method, LOANS)).astype(np.int64)
    found = Estimate.of(method.question, from_cells(method, N, cells), [])
    assert found.cdf([0, 5_000, 20_000]).values == pytest.approx([0.3, 0.4, 1], abs=1e-4)
    assert found.range(0, 0).values == pytest.approx([0.3], abs=1e-4)
    (low,), (high,) = found.cdf(0).quiet_ci(0.95)
    assert low < 0.3 < high


@pytest.mark.parametrize("name", ["square-wave", "square-wave-discrete", "binned", "haar"])
def test_a_step_makes_shares_exact(name: str) -> None:
    found = expected(name, sv.Interval(0, 20_000, step=5_000))
    for at in (0, 5_000, 10_000, 20_000):
        (low,), (high,) = found.cdf(at).quiet_ci(0.95)
        assert high - low < 0.01
        assert found.cdf(at).values[0] == pytest.approx((at >= LOANS).mean(), abs=1e-4)
    assert found.median().values[0] == 10_000


@pytest.mark.parametrize("name", ["square-wave-discrete", "binned", "haar"])
def test_quantiles_of_round_answers_lie_in_their_intervals(name: str) -> None:
    found = expected(name, sv.Interval(0, 20_000))
    asked = found.quantile([0.25, 0.35, 0.6, 0.75, 0.95])
    low, high = asked.quiet_ci(0.95)
    truth = np.quantile(LOANS, [0.25, 0.35, 0.6, 0.75, 0.95], method="inverted_cdf")
    assert (low <= truth).all() and (truth <= high).all()


def test_quantile_intervals_of_round_answers_cover_where_those_for_even_answers_do_not() -> None:
    method = sv.mechanism("square-wave-discrete", sv.Interval(0, 20_000), epsilon=2, buckets=32)
    rng, rates = np.random.default_rng(1), report_law(method, LOANS)
    parts = [0.25, 0.35, 0.6, 0.75]
    truth, runs = np.quantile(LOANS, parts, method="inverted_cdf"), 40
    held = {"normal": 0, "even": 0}
    for _ in range(runs):
        asked = method.estimate(sv.Tally(method, 5_000, rng.multinomial(5_000, rates))).quantile(parts)
        for way in held:
            low, high = asked.quiet_ci(0.95, method=way)
            held[way] += int(((low <= truth) & (truth <= high)).sum())
    assert held["even"] / len(parts) / runs < 0.9 < 0.935 < held["normal"] / len(parts) / runs


def test_intervals_for_even_answers_warn_but_where_nothing_is_spread() -> None:
    free, stepped = (expected("binned", sv.Interval(0, 20_000, step=step)).median() for step in (None, 5_000))
    assert free.doubt() is None
    assert "assumes that answers are spread evenly" in (free.doubt(method="even") or "")
    with pytest.warns(sv.PoorIntervalWarning, match="round answers make its interval too narrow"):
        free.ci(0.95, method="even")
    assert stepped.doubt(method="even") is None
    assert [float(end[0]) for end in stepped.ci(0.95, method="even")] == [10_000, 10_000]
