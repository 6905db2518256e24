"""The nearest shares on a hierarchy that are consistent, sum to one and are not negative."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.distribution.tree import Tree

Floats = NDArray[np.float64]


class Nearest(NamedTuple):
    """Shares of the leaves, the number of steps, and a bound on how far the objective is above its minimum."""

    shares: Floats
    steps: int
    gap: float


def nearest_shares(tree: Tree, levels: list[Floats], *, tolerance: float, steps: int) -> Nearest:
    """Minimise half the weighted sum over levels of |M x - values|**2 over shares x, by alternating directions.

    One direction is least squares on the tree with the sum fixed, in linear time; the other is the projection onto the
    simplex. The penalty is between the least and the largest curvature of the objective, and moves where one of the two
    residuals lags behind. The gradient bounds the gap: x . gradient - min gradient, since the objective is convex.
    """
    right = tree.pulled(levels)
    least = tree.weights[-1]
    largest = sum(weight * width for weight, width in zip(tree.weights, tree.widths, strict=True))
    penalty = float(np.sqrt(least * largest))
    shares = simplex(tree.solve(right, total=1.0))
    dual = np.zeros_like(shares)
    best = Nearest(shares, 0, _gap(tree, right, shares))
    for step in range(1, steps + 1):
        if best.gap <= tolerance:
            break
        solved = tree.solve(right + penalty * (shares - dual), total=1.0, ridge=penalty)
        relaxed = 1.6 * solved - 0.6 * shares
        before, shares = shares, simplex(relaxed + dual)
        dual = dual + relaxed - shares
        gap = _gap(tree, right, shares)
        best = Nearest(shares, step, gap) if gap < best.gap else best._replace(steps=step)
        if step % 10 == 0:
            primal, moved = float(np.linalg.norm(solved - shares)), float(np.linalg.norm(shares - before))
            factor = 2.0 if primal > 5 * moved else 0.5 if moved > 5 * primal else 1.0
            penalty, dual = penalty * factor, dual / factor
    return best


def _gap(tree: Tree, right: Floats, shares: Floats) -> float:
    gradient = tree.product(shares) - right
    return float(shares @ gradient - gradient.min())
