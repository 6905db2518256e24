"""Least squares on a hierarchy, in linear time: consistent shares from estimates of several levels.

Reference: Hay, Rastogi, Miklau, Suciu, "Boosting the accuracy of differentially private histograms through
consistency", VLDB 2010. Here levels may have different weights, nodes different numbers of children, and the sum of all
shares is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sottovoce.estimate.evidence import Floats


@dataclass(frozen=True, slots=True)
class Tree:
    """Leaves 0, ..., leaves - 1; a level has nodes of `widths[level]` neighbouring leaves, the last may have fewer.

    Widths fall from level to level down to 1, and each is a multiple of the next. `weights` are those of squared
    errors of the nodes of a level.
    """

    leaves: int
    widths: tuple[int, ...]
    weights: tuple[float, ...]

    def sums(self, values: Floats) -> list[Floats]:
        """Sums of leaf values over the nodes of each level; further axes are kept."""
        return [node_sums(values, width) for width in self.widths]

    def pulled(self, levels: Sequence[Floats]) -> Floats:
        """To each leaf the weighted sum of the values of its nodes: the right side of the normal equations."""
        each = zip(self.weights, self.widths, levels, strict=True)
        return np.asarray(sum(weight * self.leaves_of(values, width) for weight, width, values in each))

    def leaves_of(self, values: Floats, width: int) -> Floats:
        """To each leaf the value of its node."""
        return np.repeat(values, width, axis=0)[: self.leaves]

    def product(self, values: Floats) -> Floats:
        """The matrix of the normal equations, times leaf values."""
        return self.pulled(self.sums(values))

    def solve(self, right: Floats, *, total: float = 0.0, ridge: float = 0.0) -> Floats:
        """The leaf values x that sum to `total` with (S + ridge) x = right up to one constant for all leaves.

        S = sum over levels of weight M'M, where M adds leaves up. On the leaves of one node, S is the matrix of its
        children side by side plus the weight times ones: a rank-one change, so sums of solutions go up the tree, and
        what they take off the right sides comes down (Sherman and Morrison).
        """
        bottom = self.weights[-1] + ridge
        solved, reach = right / bottom, np.full((self.leaves, *[1] * (right.ndim - 1)), 1 / bottom)
        upward: list[tuple[float, int, int, Floats, Floats]] = []
        finer = 1
        for weight, width in zip(self.weights[-2::-1], self.widths[-2::-1], strict=True):
            count, children = len(solved), width // finer
            solved, reach = node_sums(solved, children), node_sums(reach, children)
            upward.append((weight, children, count, solved, reach))
            scale = 1 + weight * reach
            solved, reach, finer = solved / scale, reach / scale, width
        shift = np.broadcast_to((solved.sum(axis=0) - total) / reach.sum(axis=0), solved.shape)
        for weight, children, count, sums, reach in reversed(upward):
            shift = shift + weight * (sums - shift * reach) / (1 + weight * reach)
            shift = np.repeat(shift, children, axis=0)[:count]
        return np.asarray((right - shift) / bottom)


def node_sums(values: Floats, width: int) -> Floats:
    """Sums over stretches of `width` neighbours."""
    return np.add.reduceat(values, np.arange(0, len(values), width), axis=0) if width > 1 else values
