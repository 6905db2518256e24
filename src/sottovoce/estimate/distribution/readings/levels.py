"""Readings of the reports about a hierarchy, each of whose levels a part of the participants answered about."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from sottovoce.estimate.distribution.readings.branches import LevelReports
from sottovoce.estimate.distribution.readings.linear import MOST_DENSE, DenseDecode
from sottovoce.estimate.distribution.readings.transition import LevelsTransition
from sottovoce.estimate.distribution.readings.tree import Tree, node_sums
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.reading import OutputReading

SMALL = 1 << 22  # entries of a matrix of scores that is kept
FEW = 64  # functionals whose scores are computed one by one where it is not


class LevelsDecode(OutputReading):
    """Scores of the reports of all levels.

    A score is that of equal shares plus what a report says about the distance from them. So it depends little on which
    level a participant answered about, and n times the variance at equal shares is that of each level's reports.
    """

    def __init__(self, branches: Sequence[LevelReports]) -> None:
        self.branches = tuple(branches)
        self.leaves, self.outputs = self.branches[0].sets.codes, self.branches[-1].cells.stop

    @abstractmethod
    def node_weights(self, rows: Floats) -> list[Floats]:
        """For each branch and node what a report in the node's set adds to each functional; one column for each."""

    @abstractmethod
    def from_nodes(self, nodes: Sequence[Floats]) -> Floats:
        """The transposed map: leaf values from a number for each branch and node."""

    def expected(self, one: LevelReports) -> Floats:
        """How often a report of a branch lies in the set of each node, where all leaves are equally common."""
        held = node_sums(np.full(self.leaves, 1 / self.leaves), one.sets.width)
        if one.differences:
            pairs = np.pad(held, (0, len(held) % 2)).reshape(-1, 2)
            sibling = pairs[:, ::-1].ravel()[: len(held)]
            return np.asarray(one.other + one.slope * (held - sibling))
        return np.asarray(one.other + one.slope * held)

    def scores(self, weights: Floats) -> Floats:
        rows = np.atleast_2d(weights)
        return rows @ self._matrix if self.leaves * self.outputs <= SMALL else self._scores(rows)

    @cached_property
    def _matrix(self) -> Floats:
        """The scores of all leaves, one row each."""
        return self._scores(np.eye(self.leaves))

    def _scores(self, rows: Floats) -> Floats:
        start = rows.mean(axis=1)
        scores = np.empty((len(rows), self.outputs))
        for one, each in zip(self.branches, self.node_weights(rows), strict=True):
            centre = start - self.expected(one) @ each
            for row in range(len(rows)):
                scores[row, one.cells] = centre[row] + one.spread(np.ascontiguousarray(each[:, row]))
        return scores

    def values(self, rates: Floats) -> Floats:
        nodes = [one.gather(rates[one.cells]) - rates[one.cells].sum() * self.expected(one) for one in self.branches]
        return np.asarray(rates.sum() / self.leaves + self.from_nodes(nodes))

    def squares(self, rates: Floats) -> Floats:
        if self.leaves * self.outputs <= SMALL:
            return np.asarray(self._matrix**2 @ rates)
        return np.diag(self._products(np.eye(self.leaves), rates)).copy()

    def products(self, weights: Floats, rates: Floats) -> Floats:
        """The mean product of the scores of each two functionals; of many without the scores themselves.

        A score is a constant plus a sum over the nodes in whose sets the report lies, so its square needs to know how
        often reports lie in the sets of two nodes at once.
        """
        rows = np.atleast_2d(weights)
        if len(rows) <= FEW or self.leaves * self.outputs <= SMALL:
            return super().products(rows, rates)
        return self._products(rows, rates)

    def _products(self, rows: Floats, rates: Floats) -> Floats:
        products, start = np.zeros((len(rows), len(rows))), rows.mean(axis=1)
        for one, each in zip(self.branches, self.node_weights(rows), strict=True):
            own = rates[one.cells]
            centre, single = start - self.expected(one) @ each, one.gather(own) @ each
            products += each.T @ one.joint(own) @ each + np.outer(centre, single) + np.outer(single, centre)
            products += own.sum() * np.outer(centre, centre)
        return products


class LeastSquares(LevelsDecode):
    """Consistent shares of least variance: least squares over all levels, weighted by their information."""

    def __init__(self, branches: Sequence[LevelReports]) -> None:
        super().__init__(branches)
        each = [(one.sets.width, one.share * one.information) for one in self.branches]
        self.tree = Tree(self.leaves, *zip(*each, strict=True))
        self.gains = [one.information / one.slope for one in self.branches]

    def node_weights(self, rows: Floats) -> list[Floats]:
        solved = self.tree.solve(np.ascontiguousarray(rows.T))
        return [gain * sums for gain, sums in zip(self.gains, self.tree.sums(solved), strict=True)]

    def from_nodes(self, nodes: Sequence[Floats]) -> Floats:
        right = sum(
            gain * self.tree.leaves_of(values, one.sets.width)
            for gain, values, one in zip(self.gains, nodes, self.branches, strict=True)
        )
        return self.tree.solve(np.asarray(right))


class HaarTransform(LevelsDecode):
    """Haar coefficients, the share of one half of a node minus that of the other, each level from its own reports.

    Where the number of leaves is no power of two, the last leaf stands for those that nobody holds as well.
    """

    def __init__(self, branches: Sequence[LevelReports]) -> None:
        super().__init__(branches)
        self.size = 1 << (self.leaves - 1).bit_length()
        totals = dict.fromkeys((one.sets.width for one in self.branches), 0.0)
        for one in self.branches:
            totals[one.sets.width] += one.share * one.information
        # A report lies in the set of the left half or in that of the right one, so the left one is all that is read: as
        # the difference by (set - expected) / slope. It spreads evenly over the leaves of both halves.
        self.gains = [
            one.information / totals[one.sets.width] / one.slope / (2 * one.sets.width) for one in self.branches
        ]

    def node_weights(self, rows: Floats) -> list[Floats]:
        whole = np.pad(rows, ((0, 0), (0, self.size - self.leaves)), mode="edge").T
        by_branch = []
        for gain, one in zip(self.gains, self.branches, strict=True):
            halves = whole.reshape(-1, 2, one.sets.width, len(rows)).sum(axis=2)
            nodes = np.zeros((one.sets.nodes, len(rows)))
            nodes[::2] = gain * (halves[:, 0] - halves[:, 1])[: -(-one.sets.nodes // 2)]
            by_branch.append(nodes)
        return by_branch

    def from_nodes(self, nodes: Sequence[Floats]) -> Floats:
        whole = np.zeros(self.size)
        for gain, one, values in zip(self.gains, self.branches, nodes, strict=True):
            left = np.zeros(self.size // (2 * one.sets.width))
            left[: -(-one.sets.nodes // 2)] = gain * values[::2]
            whole += np.repeat(np.stack([left, -left], axis=1).ravel(), one.sets.width)
        leaves = whole[: self.leaves].copy()
        leaves[-1] += whole[self.leaves :].sum()
        return leaves

    def squares(self, rates: Floats) -> Floats:
        """The mean squares of the scores of the leaves in linear time.

        On each level only the node around a leaf weighs its halves differently, so there a score has two values.
        """
        leaf, squares = np.arange(self.leaves), np.zeros(self.leaves)
        for gain, one in zip(self.gains, self.branches, strict=True):
            own, width = rates[one.cells], one.sets.width
            sides = np.where(leaf // width % 2 == 0, 1.0, -1.0)
            # The last leaf stands for all behind it, in the rest of its node.
            place = (self.leaves - 1) % (2 * width)
            sides[-1] = max(0, width - place) - (2 * width - max(place, width))
            node, signed = leaf // (2 * width), gain * sides
            expected, inside = self.expected(one)[::2][node], one.gather(own)[::2][node]
            base = 1 / self.leaves - signed * expected
            squares += own.sum() * base**2 + inside * (2 * base * signed + signed**2)
        return squares


def levels_decode(transition: LevelsTransition) -> OutputReading:
    """The decoder of reports about the nodes of all levels, or about differences of their halves.

    Differences of halves that nobody can hold tell more about the others than the transform uses (12 percent of the
    variance for 11 leaves), so where the leaves are no power of two it is for too many of them only.
    """
    branches, leaves = transition.branches, transition.buckets
    if not branches[0].differences:
        return LeastSquares(branches)
    return HaarTransform(branches) if leaves & (leaves - 1) == 0 or leaves > MOST_DENSE else DenseDecode(transition)
