"""Plans for distributions: ranked by the error of what is wanted, which is that of simulated reports."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Domain
from sottovoce.core.registry import names
from sottovoce.design.bound import bound
from sottovoce.estimate.distribution.queries import queries
from sottovoce.study import workloads
from sottovoce.tally.counts import simulate_cells
from sottovoce.tally.tally import Tally

EIGHT = sv.Integers(0, 7)
CLOCK = sv.Circle(24)
SHARES = np.full(8, 1 / 8)
CASES: dict[str, tuple[Domain, str]] = {
    "cdf": (EIGHT, "cdf"),
    "quantiles": (EIGHT, "quantiles"),
    "ranges": (EIGHT, "ranges"),
    "histogram": (EIGHT, "histogram"),
    "mean": (EIGHT, "mean"),
    "arcs": (CLOCK, "ranges"),
    "circle": (CLOCK, "cdf"),
}


def listed(name: str) -> np.ndarray:
    """Every query as a row, written out."""
    line = {
        "cdf": [[1.0 * (k <= edge) for k in range(8)] for edge in range(7)],
        "ranges": [[1.0 * (a <= k <= b) for k in range(8)] for a in range(8) for b in range(a, 8) if b - a < 7],
        "histogram": np.eye(8).tolist(),
        "mean": [list(range(8))],
        "arcs": [[1.0 * ((k - a) % 8 < size) for k in range(8)] for a in range(8) for size in range(1, 8)],
    }
    return np.array(line[{"quantiles": "cdf", "circle": "histogram"}.get(name, name)])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", ["square-wave-discrete", "hierarchy", "laplace-histogram"])
def test_the_error_is_that_of_the_queries_of_the_workload(name: str, method: str) -> None:
    """Over 4,000 simulated tallies of a fixed crowd with equal shares, beside the spread of the crowd itself."""
    domain, wanted = CASES[name]
    question = sv.Distribution(domain, wanted, 8)
    m = sv.mechanism(method, domain, epsilon=2, buckets=8)
    rows, n, runs = listed(name), 8_000, 4_000
    cells = simulate_cells(m, np.full(8, n // 8), runs=runs, seed=5)
    values = np.array([m.estimate(Tally(m, n, one)).values for one in cells[:120]])
    # The values are linear in the cells: those of all runs follow from a few.
    lines = np.linalg.lstsq(np.column_stack([cells[:120], np.ones(120)]), values, rcond=None)[0]
    every = np.column_stack([cells, np.ones(runs)]) @ lines @ rows.T
    spread = (rows**2 @ SHARES - (rows @ SHARES) ** 2) / n
    simulated = math.sqrt(float(np.mean(every.var(axis=0) + spread)))
    assert workloads.error_of(m, question) / math.sqrt(n) == pytest.approx(simulated, rel=0.06)


def test_the_order_is_that_of_the_workload() -> None:
    """Single buckets are told best by their own shares, long ranges by a tree."""
    methods, domain = ["binned", "hierarchy", "haar"], sv.Integers(0, 63)
    firsts = {
        wanted: sv.plan(sv.Distribution(domain, wanted), epsilon=1, participants=10_000, methods=methods).best.method
        for wanted in ("cdf", "ranges", "histogram")
    }
    assert firsts["histogram"] == "binned"
    assert firsts["cdf"] == firsts["ranges"] == "hierarchy"


@pytest.mark.parametrize("name", ["cdf", "ranges", "histogram", "mean"])
def test_plans_say_why_and_what_no_method_can_do_better(name: str) -> None:
    found = sv.plan(sv.Distribution(sv.Integers(0, 15), name), epsilon=1, participants=10_000)
    assert [one.std_error for one in found.options] == sorted(one.std_error for one in found.options)
    assert found.best.reason.startswith("no method has a smaller error: ")
    assert all(": " in option.reason for option in found.options)
    if name != "mean":
        least = math.sqrt(bound(queries(name, 16), 1.0) / 10_000)
        assert f"has less than {least:.4g}" in found.advice
        assert least <= found.best.std_error <= 1.15 * least
    if name in ("cdf", "ranges"):  # as decision 022 says
        assert {one.method for one in found.options[:2]} == {"designed-distribution", "coded-wave"}
        assert found.options[1].std_error <= 1.02 * found.best.std_error


def test_every_method_that_is_ranked_has_a_reason() -> None:
    assert {*workloads.WHY} == {*names(sv.Distribution)} - {"orthogonal-series"}  # which is not ranked


def test_readings_say_why() -> None:
    quantile = sv.plan(sv.Quantile(sv.Interval(0, 1), ["0.5"]), epsilon=1, participants=10_000, methods=["haar"])
    assert "one level" in quantile.best.reason
    assert "ends of buckets, which are 0.0156 wide" in quantile.advice
    ranges = sv.plan(sv.Range(sv.Interval(0, 1), 0, "0.3"), epsilon=1, participants=10_000, methods=["haar"])
    assert "its bins end where the question does" in ranges.best.reason


def test_the_mean_of_a_wave_is_that_of_its_readings() -> None:
    m, n = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=1, buckets=16), 20_000
    answers = np.random.default_rng(1).random(n)
    found = m.estimate(m.tally(m.privatize(answers, seed=2)))
    planned = workloads.error_of(m, sv.Distribution(sv.Interval(0, 1), "mean", 16)) / math.sqrt(n)
    assert planned == pytest.approx(float(found.mean().std_errors[0]), rel=0.03)


def test_categories_have_no_mean() -> None:
    with pytest.raises(sv.ParameterError, match="have no mean"):
        sv.plan(sv.Distribution(sv.Categories(["a", "b", "c"]), "mean"), epsilon=1, participants=100)


def test_a_quantile_in_rounds_is_planned_beside_one_round_and_the_floor() -> None:
    median = sv.Quantile(sv.Interval(0, 12), ["0.5"])
    plan = sv.plan(median, epsilon=1, participants=100_000, methods=["haar", "rounds"])
    assert [option.method for option in plan.options] == ["rounds", "haar"]
    floor = 12 * ((0.25 + np.e / (np.e - 1) ** 2) / 100_000) ** 0.5
    assert floor < plan.best.std_error < 1.3 * floor
    assert plan.best.protocol == sv.QuantileRounds(sv.Interval(0, 12), ["0.5"], 1, 100_000)
    one_round = sv.plan(median, epsilon=1, participants=100_000, methods=["haar"])
    people = sv.plan(median, epsilon=1, std_error=f"{one_round.best.std_error:.9f}", methods=["rounds"]).participants
    assert f"{people:,} people would reach the one above" in one_round.advice
    assert f"No method that asks about thresholds has less than {floor:.3g}" in one_round.advice
    few = sv.plan(median, epsilon=1, participants=50, methods=["haar", "rounds"])
    assert [option.method for option in few.options] == ["haar"]
    with pytest.raises(sv.ParameterError, match="no mechanism of this name"):
        sv.plan(sv.Cdf(sv.Interval(0, 12), (3,)), epsilon=1, participants=1_000, methods=["rounds"])


def test_quantiles_in_rounds_are_planned_for_expected_answers() -> None:
    prior = sv.Prior.normal(7, "1.5", low=0, high=12)
    quartiles = sv.Quantile(sv.Interval(0, 12), ["0.25", "0.75"])
    narrow, even = (
        sv.plan(quartiles, epsilon=1, participants=50_000, methods=["rounds"], prior=one).best for one in (prior, None)
    )
    assert narrow.std_error < even.std_error / 2
    assert "25,000 people for each quantile" in narrow.reason
