"""Decoders of distributions compared: the halves of the data, the counts that are drawn, and the means of a half."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.experiments.distribution.decoders import EXPERIMENT, ratios, simulated, summary
from sottovoce.experiments.distribution.histograms import REPORTED, TUNED, shares


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
        return {"half": "report", "data": data, "epsilon": 1.0, **found, "error": 0.1, "used": 20}

    rows = [row("one", 0.002, 0.008, 0.002), row("two", 0.009, 0.004, 0.003)]
    found = ratios(rows, "report", 1.0)
    assert np.isclose(found["better"], 0.003) and np.isclose(found["ratio"], 0.0025 / 0.003)
    assert found["worst"] == 1.0 and np.isclose(found["error"], 0.1 * np.hypot(0.002, 0.004) / 2 / 0.003)
    assert summary(rows) == [
        "Half of report, epsilon 1: better of EM and EMS 3.00e-3, bayes 2.50e-3, ratio 0.833 +- 0.075 (bar 0.80), fast"
        " 0.833, worst data set 1.000 (bar 1.10)."
    ]


@pytest.mark.slow
def test_a_cell_compares_all_decoders_on_the_same_counts() -> None:
    point = {"half": "report", "data": "Beta(5, 2)", "epsilon": 2.0}
    (row,) = EXPERIMENT.cell(point, 2, 7)
    assert row["used"] == 2 and row["better"] == min(row["em"], row["ems"])
    assert row["bayes"] < row["em"] and EXPERIMENT.cell(point, 2, 7) == [row]
    (other,) = EXPERIMENT.cell({**point, "half": "choice"}, 2, 7)
    assert other["used"] == 1
