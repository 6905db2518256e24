"""HIO and AHEAD over a square grid as published, drawn from their laws.

HIO: Wang, Ding, Zhou, Hong, Huang, Li, Jha, "Answering multi-dimensional analytical queries under local differential
privacy", SIGMOD 2019. A tree with four children over each axis; each pair of levels is asked of an equal part of the
participants by optimised unary encoding, which has the variance of local hashing. Least squares combines all pairs, so
that no box is worse than from its own nodes alone.

AHEAD: Du, Zhang, Bai, Liu, Ji, Cheng, Chen, CCS 2021. A tree with four children, two along each axis; each layer asks a
group of the participants, and parts whose share exceeds a threshold are split for the next group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from sottovoce.estimate.decoders.simplex import simplex

Floats = NDArray[np.float64]
CHILDREN = 4


def drawn(shares: Floats, n: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """Unbiased shares of cells from n reports by optimised unary encoding."""
    other = 1 / (math.exp(epsilon) + 1)
    held = rng.multinomial(n, shares.ravel() / shares.sum())
    ones = rng.binomial(held, 0.5) + rng.binomial(n - held, other)
    return np.asarray((ones / n - other) / (0.5 - other)).reshape(shares.shape)


def noise(epsilon: float) -> float:
    """The variance of a rare share from one report by optimised unary encoding."""
    e = math.exp(epsilon)
    return 4 * e / (e - 1) ** 2


# --- HIO -------------------------------------------------------------------------------------------------------------
def levels(size: int) -> list[int]:
    """The numbers of nodes of each level of a tree over an axis."""
    depth = round(math.log(size, CHILDREN))
    if CHILDREN**depth != size:
        raise ValueError(f"A full tree with {CHILDREN} children has a power of {CHILDREN} leaves.")
    return [CHILDREN**level for level in range(depth + 1)]


def increments(size: int) -> list[Floats]:
    """Projections onto what each level of a tree says beyond the level above it."""
    means = [np.kron(np.eye(nodes), np.full((size // nodes,) * 2, nodes / size)) for nodes in levels(size)]
    return [means[0], *(after - before for before, after in pairwise(means))]


def precisions(size: int) -> Floats:
    """The leaves in a node, summed over all pairs of levels that tell each pair of increments."""
    widths = np.array([size // nodes for nodes in levels(size)])
    told = np.multiply.outer(widths, widths).astype(float)
    told[0, 0] = 0  # the share of all is known
    return np.asarray(told[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1])


def hio_variance(size: int, epsilon: float) -> float:
    """n times the exact variance from noise of the share of a box, averaged over all boxes, by least squares."""
    index = np.arange(size)
    ranges = (np.minimum.outer(index, index) + 1.0) * (size - np.maximum.outer(index, index))
    traces = np.array([(part * ranges).sum() for part in increments(size)])
    groups = len(traces) ** 2 - 1
    terms = np.multiply.outer(traces, traces) / precisions(size)
    count = (size * (size + 1) / 2) ** 2 - 1
    return float(groups * noise(epsilon) * (terms.sum() - terms[0, 0]) / count)


def hio(truth: Floats, n: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """The unbiased shares of all cells."""
    size, parts = len(truth), increments(len(truth))
    nodes, told = levels(size), precisions(size)
    group = n // (len(nodes) ** 2 - 1)
    total = np.full(truth.shape, 1 / truth.size)
    sums = np.zeros((len(nodes), len(nodes), size, size))
    for a, b in product(range(len(nodes)), repeat=2):
        if a + b == 0:
            continue
        high, wide = size // nodes[a], size // nodes[b]
        coarse = truth.reshape(nodes[a], high, nodes[b], wide).sum(axis=(1, 3))
        # Shares of nodes times the leaves in a node, spread evenly over these leaves.
        spread = np.repeat(np.repeat(drawn(coarse, group, epsilon, rng), high, axis=0), wide, axis=1)
        sums[: a + 1, : b + 1] += spread
    for a, b in product(range(len(nodes)), repeat=2):
        if a + b:
            total += parts[a] @ sums[a, b] @ parts[b] / told[a, b]
    return total


# --- AHEAD -----------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class _Square:
    """The cells from (row, column) on, `size` along both axes, with what was estimated of them so far."""

    row: int
    column: int
    size: int
    share: float = 0.0
    variance: float = math.inf
    children: list[_Square] = field(default_factory=list)

    def learn(self, share: float, variance: float) -> None:
        """Average with another estimate, by the variances of both."""
        weight = 1.0 if math.isinf(self.variance) else self.variance / (self.variance + variance)
        self.share += weight * (share - self.share)
        self.variance = weight * variance

    def split(self) -> list[_Square]:
        half = self.size // 2
        corners = product((self.row, self.row + half), (self.column, self.column + half))
        self.children = [_Square(row, column, half) for row, column in corners]
        return self.children

    def within(self, table: Floats) -> Floats:
        return table[self.row : self.row + self.size, self.column : self.column + self.size]

    def averaged(self) -> None:
        """From the leaves to the root: the estimate of a square, and the sum of those of its children."""
        for child in self.children:
            child.averaged()
        if self.children:
            self.learn(sum(one.share for one in self.children), sum(one.variance for one in self.children))

    def spread(self, share: float, found: Floats) -> None:
        """From the root to the leaves: children get equal parts of what their sum lacks, and none is negative."""
        if not self.children:
            self.within(found)[:] = share / self.size**2
            return
        if share <= 0:
            return
        own = simplex(np.array([one.share for one in self.children]) / share) * share
        for child, part in zip(self.children, own, strict=True):
            child.spread(float(part), found)


def ahead(truth: Floats, n: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """The shares of all cells."""
    layers = round(math.log2(len(truth)))
    group = n // layers
    variance = noise(epsilon) / group
    threshold = math.sqrt((CHILDREN + 1) * variance)
    root = _Square(0, 0, len(truth), 1.0, 0.0)
    parts = [root]
    for _ in range(layers):
        parts = [
            inner for part in parts for inner in (part.split() if part.share > threshold and part.size > 1 else [part])
        ]
        own = np.array([part.within(truth).sum() for part in parts])
        for part, share in zip(parts, simplex(drawn(own, group, epsilon, rng)), strict=True):
            part.learn(float(share), variance)
    root.averaged()
    found = np.zeros(truth.shape)
    root.spread(1.0, found)
    return found
