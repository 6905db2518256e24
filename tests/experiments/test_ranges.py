"""AHEAD and the error of ranges, against what they must be."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.protocols.boxes.ahead import AHEAD
from sottovoce_experiments.boxes.played import Floats, played
from sottovoce_experiments.distribution.range_decoders import EXPERIMENT, mean_ratio, squared_error
from sottovoce_experiments.distribution.range_designs import search_seconds
from sottovoce_experiments.distribution.range_trees import cell


def ahead(truth: Floats, n: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """The shares of all buckets by AHEAD."""
    line = sv.Record({"value": sv.Integers(0, len(truth) - 1)})
    return played(AHEAD(line, epsilon, n, 64), truth, n, rng).decoded("fitted").values


def test_the_error_is_the_mean_over_all_ranges() -> None:
    rng = np.random.default_rng(1)
    found, truth = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
    errors = [(found[i:j].sum() - truth[i:j].sum()) ** 2 for i in range(7) for j in range(i + 1, 8)]
    assert squared_error(found, truth) == pytest.approx(np.mean(errors))


def test_ahead_splits_where_people_are_and_finds_their_shares() -> None:
    truth = np.zeros(64)
    truth[[3, 40]] = 0.3, 0.7
    found = ahead(truth, 10**7, 2.0, np.random.default_rng(2))
    assert found.min() >= 0 and found.sum() == pytest.approx(1)
    assert found[[3, 40]] == pytest.approx([0.3, 0.7], abs=0.01)
    # With few reports no part but the first ones is split, and shares are spread evenly.
    coarse = ahead(np.full(64, 1 / 64), 2_000, 0.5, np.random.default_rng(3))
    assert len(np.unique(coarse.round(12))) < 20


def test_ahead_has_the_error_of_its_groups_where_nothing_is_split() -> None:
    """Two buckets have one layer; making their shares sum to one averages one of them with what the other leaves."""
    rng, n, other = np.random.default_rng(4), 100_000, 1 / (np.e + 1)
    errors = [ahead(np.array([0.4, 0.6]), n, 1.0, rng)[0] - 0.4 for _ in range(400)]
    noise = (0.25 + other * (1 - other)) / (0.5 - other) ** 2  # of the two shares together
    assert np.var(errors) * n == pytest.approx(noise / 4 + 0.4 * 0.6, rel=0.2)


def test_ratios_are_averaged_with_their_errors() -> None:
    rows = [{"ratio": 0.5, "error": 0.3}, {"ratio": 2.0, "error": 0.4}]
    assert mean_ratio(rows) == pytest.approx((1.0, 0.25))
    assert {"ADULT", "uniform"}.isdisjoint(EXPERIMENT.data)


@pytest.mark.slow
def test_a_split_budget_is_worse_than_split_participants() -> None:
    (row,) = cell({"branching": 4, "epsilon": 1.0}, 1, 0)
    assert row["levels"] == 4 and row["ranges"] < row["equal"] < 0.3 * row["split"]
    assert search_seconds(66, 1.0) > 0
