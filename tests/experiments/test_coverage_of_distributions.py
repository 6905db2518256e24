"""Intervals and bands of many tallies at once are those of single ones, and bands reach as far as they must."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce.core.domain import Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.registry import mechanism
from sottovoce.estimate.distribution.reach import DRAWS, bound_of, rank_of, reach, root_of
from sottovoce.estimate.evidence import deviate
from sottovoce.tally.counts import simulate_cells
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.declared.distributions import BINS, DISTRIBUTIONS, HIERARCHIES, STUDIES
from sottovoce_experiments.coverage.distributions import cells, many
from sottovoce_experiments.coverage.distributions.populations import law

POINT = {"crowd": "spiky", "n": 20_000, "epsilon": 1.0, "buckets": 16}
KINDS = {"mean", "variance", "cdf", "quantile", "band"}


# --- how far a band reaches ------------------------------------------------------------------------------------------
def test_the_largest_of_independent_deviations() -> None:
    """The quantile is known, and it bounds all others."""
    found = reach(np.eye(40), 0.95, 0)
    assert 0.99 * bound_of(40, 0.95) < found <= bound_of(40, 0.95)
    near = reach(np.exp(-np.abs(np.subtract.outer(np.arange(40), np.arange(40))) / 20), 0.95, 0)
    assert deviate(0.95) < near < 0.97 * found


def test_a_single_deviation_in_many_places_reaches_as_far_as_one_and_hardly_less() -> None:
    every = [reach(np.ones((5, 5)), 0.95, seed) for seed in range(40)]
    assert sum(one >= deviate(0.95) for one in every) >= 36, "39 of 40 are expected; fewer than 36 once in 1,000 runs"
    assert max(every) < 1.03 * deviate(0.95)


@pytest.mark.parametrize("level", [0.9999, 0.999999])
def test_levels_that_no_draw_tells(level: float) -> None:
    """Of 20,000 draws the largest has been exceeded by then; the bound has not."""
    assert rank_of(level) is None
    assert reach(np.eye(10), level, 0) == bound_of(10, level) > reach(np.eye(10), 0.999, 0)
    last = rank_of(0.9998)
    assert last is not None and last <= DRAWS


def test_sums_of_deviations() -> None:
    """One sum has the reach of one deviation; sums that repeat the deviations have theirs."""
    covariance = np.diag([1.0, 4.0, 0.0])
    assert reach(covariance, 0.95, 0, np.ones((1, 3))) == pytest.approx(deviate(0.95), rel=0.03)
    assert reach(covariance, 0.95, 0, np.eye(3)) == pytest.approx(reach(covariance, 0.95, 0), rel=1e-6)
    assert root_of(np.zeros((3, 3))).shape == (0, 0) and reach(np.zeros((3, 3)), 0.95, 0) == deviate(0.95)


def test_a_few_draws_decide_as_all_of_them() -> None:
    covariance = np.exp(-np.abs(np.subtract.outer(np.arange(20), np.arange(20))) / 5)
    found, root = reach(covariance, 0.95, 0), root_of(covariance)
    for factor in (0.5, 0.9, 0.99, 0.9999, 1.0001, 1.01, 1.1, 2.0):
        assert many.within(root, factor * found, 0.95) == (factor < 1)


# --- many tallies at once --------------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("name", [*DISTRIBUTIONS, *HIERARCHIES, *BINS])
def test_intervals_of_many_tallies_are_those_of_each(name: str) -> None:
    """The cell itself compares its first runs."""
    found = {one.of: one for one in cells.middle_cell({**POINT, "mechanism": name}, 3, 1)}
    assert {*found} >= KINDS
    assert (found["band"].numbers["warned"] == 1) == (name == "square-wave")


@pytest.mark.parametrize("name", ["square-wave-discrete", "laplace-histogram"])
@pytest.mark.parametrize("place", ["values", "spreads", "functional", "fitted"])
def test_a_number_that_is_off_by_a_thousandth_is_noticed(
    name: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = many.ManySums if name == "laplace-histogram" else many.ManyCounts
    right = getattr(shape, place)

    def wrong(self, *arguments):
        found = right(self, *arguments)
        if place == "fitted":  # a single error, so that bands are not those of a factor
            return (one * np.outer(*[1 + 1e-3 * (np.arange(len(one)) == 3)] * 2) for one in found)
        return tuple(1.001 * one for one in found) if place == "functional" else 1.001 * found

    monkeypatch.setattr(shape, place, wrong)
    with pytest.raises(AssertionError, match="that everybody gets"):
        cells.middle_cell({**POINT, "mechanism": name}, 3, 1)


def test_tallies_of_a_crowd_for_each_run() -> None:
    m = mechanism("laplace-histogram", Interval(0, 1), epsilon=20, buckets=2)
    held = np.array([[1000, 0], [0, 1000], [500, 500]])
    found = simulate_cells(m, held, runs=3, seed=1)
    gap = (found[:, 0] - found[:, 1]) / np.ptp(found[0])
    np.testing.assert_allclose(gap, [1, -1, 0], atol=0.1)
    with pytest.raises(ParameterError, match="non-negative integers"):
        simulate_cells(m, held, runs=2, seed=1)


def test_every_mechanism_of_the_page_has_bands_in_a_study() -> None:
    judged = {point.get("mechanism") for study in STUDIES for point in study.points()}
    assert {*DISTRIBUTIONS, *HIERARCHIES, *BINS} <= judged


@pytest.mark.slow
@pytest.mark.parametrize("crowd", ["smooth", "spiky"])
def test_bands_of_a_designed_table_are_narrow(crowd: str) -> None:
    """At epsilon 1, 100,000 reports that are as they are expected, 64 buckets: before bands are cut."""
    method = mechanism("designed-distribution", Interval(0, 1), epsilon=1, buckets=64)
    counts = np.diff(np.rint(100_000 * np.cumsum(law(method, crowd)[1])), prepend=0).astype(np.int64)
    found = method.estimate(Tally(method, 100_000, counts))
    errors = found.cdf([edge / 64 for edge in range(1, 64)]).std_errors
    assert (2 * 1.96 * errors).mean() < 40e-3
    assert (2 * found.band(0.95).half[1:-1]).mean() < 66e-3
