"""The exact variance of HIO over a square grid.

HIO: Wang, Ding, Zhou, Hong, Huang, Li, Jha, "Answering multi-dimensional analytical queries under local differential
privacy", SIGMOD 2019. A tree with four children over each axis; least squares combines all pairs of levels.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CHILDREN = 4


def noise(epsilon: float) -> float:
    """The variance of a rare share from one report by optimised unary encoding."""
    e = math.exp(epsilon)
    return 4 * e / (e - 1) ** 2


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
