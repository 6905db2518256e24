"""Least squares on a tree is that of dense matrices, and the nearest shares are those of quadratic programming."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from sottovoce.estimate.decoders.admm import nearest_shares
from sottovoce.estimate.distribution.readings.tree import Tree

TREES = {
    "one level": Tree(5, (1,), (2.0,)),
    "two levels": Tree(16, (4, 1), (1.0, 2.0)),
    "three levels, the last nodes smaller": Tree(13, (4, 2, 1), (0.5, 3.0, 1.0)),
    "two and three children": Tree(7, (6, 3, 1), (1.0, 1.0, 1.0)),
    "levels that occur twice": Tree(4, (2, 2, 1, 1), (1.0, 2.0, 0.3, 0.4)),
}


def nodes_of(tree: Tree) -> list[NDArray[np.float64]]:
    """The matrices that add leaves up to nodes."""
    return [
        np.equal.outer(np.arange(-(-tree.leaves // width)), np.arange(tree.leaves) // width).astype(float)
        for width in tree.widths
    ]


@pytest.mark.parametrize("name", TREES)
def test_the_linear_time_solution_is_that_of_the_dense_equations(name: str) -> None:
    tree, rng = TREES[name], np.random.default_rng(3)
    matrices = nodes_of(tree)
    dense = sum(weight * matrix.T @ matrix for weight, matrix in zip(tree.weights, matrices, strict=True))
    values = rng.normal(size=(tree.leaves, 3))
    assert np.allclose(tree.product(values), dense @ values, rtol=1e-13, atol=1e-13)
    for ridge, total in ((0.0, 0.0), (0.7, 1.3)):
        ones = np.ones((tree.leaves, 1))
        system = np.block([[dense + ridge * np.eye(tree.leaves), ones], [ones.T, np.zeros((1, 1))]])
        expected = np.linalg.solve(system, np.vstack([values, np.full((1, 3), total)]))[:-1]
        assert np.allclose(tree.solve(values, ridge=ridge, total=total), expected, rtol=1e-11, atol=1e-11)
    assert np.allclose(tree.solve(values[:, 0]), tree.solve(values)[:, 0])


def test_consistency_of_a_small_hierarchy_by_hand() -> None:
    """Leaves 0.3, 0.3, 0.1, 0.1 under nodes 0.5, 0.5, equal weights and sum 1.

    In half 1: the leaves say 0.6, and the node 0.5; in half 2: 0.2 and 0.5. With s the sum of half 1, the error is
    (s - 0.6)**2 / 2 + (s - 0.5)**2 + (1 - s - 0.2)**2 / 2 + (1 - s - 0.5)**2, least at s = (0.6 + 0.8 + 4 * 0.5) / 6.
    """
    tree = Tree(4, (2, 1), (1.0, 1.0))
    found = tree.solve(tree.pulled([np.array([0.5, 0.5]), np.array([0.3, 0.3, 0.1, 0.1])]), total=1.0)
    half = 3.4 / 6
    assert np.allclose(found, [half / 2, half / 2, (1 - half) / 2, (1 - half) / 2], rtol=1e-14)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("noise", [0.02, 0.5])
def test_the_nearest_shares_are_those_of_quadratic_programming(name: str, noise: float) -> None:
    tree, rng = TREES[name], np.random.default_rng(7)
    matrices = nodes_of(tree)
    truth = rng.dirichlet(np.full(tree.leaves, 0.5))
    levels = [matrix @ truth + noise * rng.normal(size=len(matrix)) for matrix in matrices]
    found = nearest_shares(tree, levels, tolerance=1e-13, steps=20_000)
    # The sum as one more equation of a large weight, then non-negative least squares.
    large = 1e4
    rows = [np.sqrt(w) * m for w, m in zip(tree.weights, matrices, strict=True)]
    right = [np.sqrt(w) * x for w, x in zip(tree.weights, levels, strict=True)]
    expected, _ = nnls(np.vstack([*rows, large * np.ones((1, tree.leaves))]), np.concatenate([*right, [large]]))
    assert found.gap <= 1e-13
    assert found.shares.min() >= 0
    assert abs(found.shares.sum() - 1) < 1e-12
    assert np.abs(found.shares - expected).max() < 1e-5


def test_1024_leaves_take_less_than_a_second() -> None:
    rng = np.random.default_rng(1)
    tree = Tree(1024, (256, 64, 16, 4, 1), (1.0,) * 5)
    truth = np.histogram(rng.beta(5, 2, 100_000), 1024, (0, 1))[0] / 100_000
    levels = [sums + 0.0098 * rng.normal(size=sums.shape) for sums in tree.sums(truth)]
    start = time.process_time()
    found = nearest_shares(tree, levels, tolerance=1e-9, steps=5000)
    assert time.process_time() - start < 1
    assert found.gap <= 1e-9
    assert found.steps < 500
