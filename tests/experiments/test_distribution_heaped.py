"""Decoders on heaped answers: the halves of the columns, distances, and the means of a half."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce_experiments.distribution import heaped
from sottovoce_experiments.distribution.heaped_columns import COLUMNS, NEEDS, Stored


def test_no_column_is_in_both_halves() -> None:
    halves = {half: {one.name for one in COLUMNS if one.half == half} for half in ("report", "choice")}
    assert [len(names) for names in halves.values()] == [17, 13] and not halves["report"] & halves["choice"]
    assert {point["data"] for point in heaped.EXPERIMENT.points()} == halves["report"]


@pytest.mark.parametrize(
    "column", [one for one in COLUMNS if not isinstance(one.draw, Stored)], ids=lambda one: one.name
)
def test_laws_are_heaped(column: heaped.HeapedColumn) -> None:
    answers = column.answers(np.random.default_rng(1), 5_000)
    assert answers.min() >= column.low and answers.max() <= column.high
    _, counts = np.unique(answers, return_counts=True)
    assert counts.max() > 0.01 * len(answers)  # spread evenly, 256 buckets would have 0.004 each
    if column.step is not None:
        assert np.allclose(answers % column.step, 0)


def test_columns_of_files_lie_on_the_step_that_is_stated(shared_data: Callable[[str], Path]) -> None:
    for file in NEEDS:
        shared_data(file)
    for column in COLUMNS:
        answers = column.answers(np.random.default_rng(1), 1_000)
        domain = sv.Interval(column.low, column.high, column.step)
        assert answers.min() >= column.low and answers.max() <= column.high
        assert column.step is None or all(domain.encode(value) == value for value in np.unique(answers))


def test_distances_are_those_of_wasserstein() -> None:
    plain, told = sv.Interval(0, 10), sv.Interval(0, 10, step=5)
    one, two = (sv.mechanism("square-wave", domain, epsilon=1, buckets=n) for domain, n in ((plain, 20), (told, 3)))
    first, second = (from_cells(method, 0, np.zeros(method.cells, np.int64)) for method in (one, two))
    moved = np.zeros(20)
    moved[3] = 1
    assert np.isclose(heaped.distance(moved, np.full(7, 5.0), first, plain), 7 / 20)
    assert np.isclose(heaped.distance(np.array([0.5, 0, 0.5]), np.array([5.0]), second, told), 0.5)
    assert heaped.distance(np.array([0, 0.5, 0.5]), np.array([5.0, 10.0]), second, told) == 0


def test_means_of_ratios_are_geometric() -> None:
    def row(data: str, ratio: float, stated: float | None) -> dict[str, object]:
        own = {"walks": 1.0, "better": 1.0, "ratio": ratio, "error": 0.0, "stated": stated, "stated_ratio": stated}
        return {"half": "report", "data": data, "epsilon": 1.0, **own, "stated_error": 0.0}

    assert heaped.summary([row("one", 0.5, 0.4), row("two", 1.0, None)]) == [
        "Epsilon 1: bayes 0.707 +- 0.000 of the better of EM and EMS (bar 0.90), walks alone 1.000,"
        " worst column 1.00 (two, bar 1.15); with a stated step 0.400 +- 0.000 on 1 columns (bar 0.83)."
    ]


@pytest.mark.slow
def test_a_cell_compares_all_decoders_and_is_the_same_again() -> None:
    point = {"half": "report", "data": "commutes, rounded to 5", "epsilon": 2.0}
    (row,) = heaped.EXPERIMENT.cell(point, 2, 7)
    assert row["bayes"] < row["walks"] and row["stated"] < row["walks"] and row["used"] == 2
    assert heaped.EXPERIMENT.cell(point, 2, 7) == [row] and row["better"] == min(row["em"], row["ems"])
