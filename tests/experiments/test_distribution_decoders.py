"""Decoders of distributions compared: the halves of the data, the counts that are drawn, and the means of a half."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.distribution.bayes.condense import Condensed, condensed
from sottovoce.estimate.distribution.bayes.modes import Posterior, explanations, weighted
from sottovoce.estimate.distribution.bayes.walks import WALKS, Walk
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.frequency.mixture import Product
from sottovoce_experiments.distribution import frontier, reports
from sottovoce_experiments.distribution.decoders import (
    EXPERIMENT,
    ratios,
    simulated,
    summary,
    with_and_without_heaps,
)
from sottovoce_experiments.distribution.histograms import REPORTED, TUNED, shares


def test_relatives_are_in_the_same_half() -> None:
    assert len({*TUNED, *REPORTED}) == len(TUNED) + len(REPORTED) == 23

    def families(names: tuple[str, ...]) -> set[str]:
        return {name.partition("-")[0] if name.isupper() else name for name in names}

    assert not families(TUNED) & families(REPORTED)


@pytest.mark.parametrize("name", ["Beta(5, 2)", "bimodal", "uniform"])
def test_laws_need_no_data(name: str) -> None:
    found = shares(name, 64)
    assert found.shape == (64,) and np.isclose(found.sum(), 1) and found.min() > 0
    assert np.allclose(found, shares(name, 128).reshape(64, 2).sum(axis=1), atol=1e-6)


@pytest.mark.parametrize("name", [*TUNED, *REPORTED])
def test_every_data_set_is_a_distribution(name: str, shared_data: Callable[[str], Path]) -> None:
    for file in EXPERIMENT.needs:
        shared_data(file)
    found = shares(name, 256)
    assert found.shape == (256,) and np.isclose(found.sum(), 1) and found.min() >= 0


def test_counts_are_drawn_from_the_law_of_the_buckets() -> None:
    method = sv.mechanism("square-wave-discrete", sv.Interval(0, 1), epsilon=1, buckets=8)
    law = from_cells(method, 0, np.zeros(method.cells, np.int64)).transition.matrix
    truth = np.array([0.0, 0.5, 0.0, 0.0, 0.25, 0.25, 0.0, 0.0])
    held, cells = simulated(law, truth, np.random.default_rng(1), 1_000_000)
    assert cells.sum() == 1_000_000 and np.abs(held - truth).max() < 0.003 and (held[truth == 0] == 0).all()
    expected = law @ held
    deviations = (cells / 1e6 - expected) / np.sqrt(expected / 1e6)
    assert np.abs(deviations).max() < 5


def test_means_are_those_of_data_sets_and_the_better_is_chosen_on_each() -> None:
    def row(data: str, em: float, ems: float, bayes: float) -> dict[str, object]:
        better = min(em, ems)
        found = {"em": em, "ems": ems, "bayes": bayes, "fast": bayes, "better": better, "ratio": bayes / better}
        found["walks"] = 1.2 * bayes
        return {"half": "report", "data": data, "epsilon": 1.0, **found, "error": 0.1, "used": 20}

    rows = [row("one", 0.002, 0.008, 0.002), row("two", 0.009, 0.004, 0.003)]
    found = ratios(rows, "report", 1.0)
    assert np.isclose(found["better"], 0.003) and np.isclose(found["ratio"], 0.0025 / 0.003)
    assert found["worst"] == 1.0 and np.isclose(found["error"], 0.1 * np.hypot(0.002, 0.004) / 2 / 0.003)
    assert summary(rows) == [
        "Half of report, epsilon 1: better of EM and EMS 3.00e-3, bayes 2.50e-3, ratio 0.833 +- 0.075 (bar 0.80), fast"
        " 0.833, walks alone 1.000, worst data set 1.000 (bar 1.10)."
    ]


@pytest.mark.slow
def test_a_cell_compares_all_decoders_on_the_same_counts() -> None:
    point = {"half": "report", "data": "Beta(5, 2)", "epsilon": 2.0}
    (row,) = EXPERIMENT.cell(point, 2, 7)
    assert row["used"] == 2 and row["better"] == min(row["em"], row["ems"])
    assert row["bayes"] < row["em"] and EXPERIMENT.cell(point, 2, 7) == [row]
    (other,) = EXPERIMENT.cell({**point, "half": "choice"}, 2, 7)
    assert other["used"] == 1


# --- choices that know the truth ------------------------------------------------------------------------------------
def small_law(buckets: int) -> np.ndarray:
    method = sv.mechanism("square-wave-discrete", sv.Interval(0, 1), epsilon=1, buckets=buckets)
    return from_cells(method, 0, np.zeros(method.cells, np.int64)).transition.matrix


def test_the_best_mixture_is_no_farther_than_any_weights() -> None:
    rng = np.random.default_rng(2)
    cumulative = np.cumsum(rng.dirichlet(np.ones(20), 4).T, axis=0)
    for truth in (cumulative @ [0.1, 0.2, 0.3, 0.4], np.cumsum(rng.dirichlet(np.ones(20)))):
        found = frontier.best_mixture(cumulative, truth)
        tried = [frontier.distance(cumulative @ one, truth) for one in (*np.eye(4), *rng.dirichlet(np.ones(4), 300))]
        assert -1e-12 <= found <= min(tried) + 1e-12
    assert np.isclose(frontier.best_mixture(cumulative[:, :1], truth), frontier.distance(cumulative[:, 0], truth))
    assert frontier.best_mixture(cumulative, cumulative @ [0.1, 0.2, 0.3, 0.4]) < 1e-9


def test_one_free_parameter_has_the_error_of_its_maximum_likelihood() -> None:
    """With one parameter the maximum is found by itself, over many draws of the reports."""
    law, truth, n = small_law(16), np.linspace(1, 3, 16) / 32, 40_000
    line = np.linspace(-1, 1, 16)
    line = line / np.linalg.norm(line)

    def shares_at(t: float) -> np.ndarray:
        tilted = truth * np.exp(t * line)
        return tilted / tilted.sum()

    grid = np.linspace(-1, 1, 801)
    laws = np.log([law @ shares_at(t) for t in grid])
    curves = np.cumsum([shares_at(t) for t in grid], axis=1)
    counts = np.random.default_rng(3).multinomial(n, law @ truth, 2_000)
    away = np.abs(curves[(counts @ laws.T).argmax(axis=1)] - np.cumsum(truth)).mean()
    expected = frontier.efficient(law, truth, 1, n)
    assert abs(away / expected - 1) < 0.07  # 2,000 draws: a standard error of 0.017
    errors = [frontier.efficient(law, truth, free, n) for free in (1, 2, 4, 8)]
    assert errors == sorted(errors) and np.isclose(frontier.efficient(law, truth, 4, 4 * n), errors[2] / 2)


def test_the_bell_around_a_mode_is_that_of_the_posterior() -> None:
    """With two buckets there is one number to integrate over."""
    law = np.array([[0.7, 0.35], [0.3, 0.65]])
    given = Condensed(law, np.array([6_000.0, 4_000.0]), np.arange(2), np.ones(2))
    posterior, family = Posterior(given, False), Walk(1, 0.3, 0.0, 0.0)
    mode = posterior.mode(family, 1.0, np.zeros(2), -np.inf)
    directions, _ = posterior.along(family, 1.0, mode.walk)
    places = np.linspace(-8, 8, 20_001)
    at = [posterior.at(family, directions, np.array([place])) for place in places]
    weights = np.exp(np.array([one.value for one in at]) - max(one.value for one in at))
    first = np.array([one.shares[0] for one in at])
    mean = weights @ first / weights.sum()
    exact = np.sqrt(weights @ (first - mean) ** 2 / weights.sum())
    assert abs(frontier.deviations(posterior, mode)[0] / exact - 1) < 0.02
    off = mode.shares[0] + 0.02
    away = weights @ np.abs(first - off) / weights.sum() / 2  # the last cumulative share is one
    found = frontier.expected(posterior, [mode], np.ones(1), np.array([off, 1.0]))
    assert abs(found / away - 1) < 0.03


# --- other reports --------------------------------------------------------------------------------------------------
def test_reports_of_two_waves_are_put_together_each_on_its_own() -> None:
    held = np.full(64, 100)
    rng = np.random.default_rng(4)
    both = []
    for name in ("square-wave", "square-wave-discrete"):
        method = sv.mechanism(name, sv.Interval(0, 1), epsilon=1, buckets=64)
        law = from_cells(method, 0, np.zeros(method.cells, np.int64)).transition.matrix
        both.append(from_cells(method, held.sum(), rng.multinomial(held, law.T / law.sum(axis=0)[:, None]).sum(axis=0)))
    alone = [condensed(one.likelihood(), np.ones(64)) for one in both]
    together = condensed(Product([one.likelihood() for one in both]), np.ones(64))
    assert np.allclose(together.law, np.concatenate([one.law for one in alone]))
    assert np.array_equal(together.counts, np.concatenate([one.counts for one in alone]))
    assert len(alone[0].law) < both[0].transition.outputs / 4


@pytest.mark.slow
def test_cells_of_choices_and_of_other_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (frontier, reports):
        monkeypatch.setattr(module, "BUCKETS", 16)
    (row,) = frontier.EXPERIMENT.cell({"data": "Beta(5, 2)", "epsilon": 2.0}, 2, 7)
    assert row["mixture"] <= row["single"] <= row["prior"] and row["mixture"] <= row["bayes"] + 1e-12
    rows = reports.EXPERIMENT.cell({"data": "uniform", "epsilon": 2.0}, 2, 7)
    assert [one["reports"] for one in rows] == ["square wave", "coded wave", "mixed wave"]
    assert len({one["better"] for one in rows}) == 1 and all(one["ratio"] < 3 for one in rows)
    assert rows == reports.EXPERIMENT.cell({"data": "uniform", "epsilon": 2.0}, 2, 7)
    text = reports.EXPERIMENT.section.text([{"data": "uniform", "epsilon": 2.0, **one} for one in rows])
    assert "worst" in text and f"{rows[1]['ratio']:.3f} +- {rows[1]['error']:.3f}" in text
    said = frontier.summary([{"data": "Beta(5, 2)", "epsilon": 2.0, **row}])
    assert said[0].startswith(f"Epsilon 2, bar 0.77: bayes {row['bayes'] / row['better']:.3f}, as its priors expect")


@pytest.mark.slow
def test_what_the_frontier_calls_bayes_is_the_decoder_without_heaps() -> None:
    method = sv.mechanism("square-wave", sv.Interval(0, 1), epsilon=1, buckets=32)
    truth = np.linspace(1, 2, 32) / 48
    law = from_cells(method, 0, np.zeros(method.cells, np.int64)).transition.matrix
    _, cells = simulated(law, truth, np.random.default_rng(5), 20_000)
    evidence = from_cells(method, 20_000, cells)
    found = explanations(condensed(evidence.likelihood(), evidence.distribution.buckets.widths), False, WALKS)
    weights = weighted(found)
    assert weights is not None and np.isclose(weights.sum(), 1)
    alone = with_and_without_heaps(evidence)[1]
    assert np.allclose(weights @ np.array([mode.shares for mode in found]), alone)
