"""HIO and AHEAD over a grid, and the error of boxes, against what they must be."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.estimate.boxes.partitions import partition_boxes
from sottovoce.protocols.boxes.ahead import AHEAD
from sottovoce.protocols.boxes.hio import HIO
from sottovoce_experiments.boxes import table_8
from sottovoce_experiments.boxes.compared import squared_error
from sottovoce_experiments.boxes.played import Floats, in_blocks, played, tallies
from sottovoce_experiments.boxes.published import hio_variance, noise

SQUARE = sv.Record({"a": sv.Integers(0, 15), "b": sv.Integers(0, 15)})


def hio(truth: Floats, n: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """The shares of all cells by HIO."""
    tree = HIO(SQUARE, epsilon, 16)
    asked = tallies(tree.start().arms, Grid.of(tree.base), truth.ravel(), n, rng)
    return partition_boxes(tree.question, tree.base, asked).values().reshape(truth.shape)


def ahead(truth: Floats, n: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """The shares of all cells by AHEAD."""
    return played(AHEAD(SQUARE, epsilon, n, 16), truth.ravel(), n, rng).decoded("fitted").values.reshape(truth.shape)


def test_the_error_is_the_mean_over_all_boxes() -> None:
    rng = np.random.default_rng(1)
    wrong, truth = rng.normal(size=(5, 5)), rng.dirichlet(np.ones(25)).reshape(5, 5)
    ends = [(low, high) for low in range(5) for high in range(low + 1, 6)]
    errors = [wrong[a:b, c:d].sum() ** 2 for a, b in ends for c, d in ends]
    assert squared_error(truth + wrong, truth) == pytest.approx(np.mean(errors))


def test_hio_is_unbiased_and_has_the_variance_of_its_formula() -> None:
    rng, n = np.random.default_rng(2), 100_000
    truth = np.full((16, 16), 1 / 256)
    truth[3, 5] += 0.2
    truth /= truth.sum()
    found = [hio(truth, n, 1.0, rng) for _ in range(60)]
    assert np.mean(found, axis=0)[3, 5] == pytest.approx(truth[3, 5], abs=5 * np.std(found, axis=0)[3, 5] / 60**0.5)
    error = np.mean([n * squared_error(one, truth) for one in found])
    assert error == pytest.approx(hio_variance(16, 1.0), rel=0.1)


def test_hio_of_one_level_is_one_grid_and_its_margins() -> None:
    """Four leaves along each axis: three groups; the cells are told by one of them, the margins by two."""
    index = np.arange(4)
    ranges = (np.minimum.outer(index, index) + 1.0) * (4 - np.maximum.outer(index, index))
    mean, rest = ranges.sum() / 4, np.trace(ranges) - ranges.sum() / 4
    expected = 3 * noise(1.0) * (2 * mean * rest / (4 + 1) + rest**2 / 1) / 99
    assert hio_variance(4, 1.0) == pytest.approx(expected)


def test_ahead_splits_where_people_are_and_finds_their_shares() -> None:
    truth = np.zeros((16, 16))
    truth[3, 4], truth[12, 1] = 0.3, 0.7
    found = ahead(truth, 10**7, 2.0, np.random.default_rng(3))
    assert found.min() >= 0 and found.sum() == pytest.approx(1)
    assert (found[3, 4], found[12, 1]) == pytest.approx((0.3, 0.7), abs=0.01)
    coarse = ahead(np.full((16, 16), 1 / 256), 2_000, 0.5, np.random.default_rng(4))
    assert len(np.unique(coarse.round(12))) < 40


def test_a_coarser_grid_is_played_with_the_sums_of_its_blocks() -> None:
    """HDG divides 32 values into 16 parts; cells inside a part share its answers evenly."""
    table = np.arange(16.0).reshape(4, 4)
    assert in_blocks(table, (2, 1)).tolist() == [[28.0], [92.0]]
    found = table_8.errors(table_8.METHODS["HDG"], 2, "smooth", 1, np.random.default_rng(1))
    assert 0 < found[0] < 200
