"""The adaptive tree of AHEAD: parts of a grid that are split where many answers lie, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.evidence import Floats, Ints

Span = tuple[int, int]  # the first cell along an axis, and the one after the last


@dataclass(slots=True)
class Node:
    """A box of cells, with the mean of what the layers said about it."""

    spans: tuple[Span, ...]
    share: float = 0.0
    variance: float = math.inf
    children: list[Node] = field(default_factory=list)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The cells of the box in a grid."""
        return tuple(slice(*span) for span in self.spans)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(high - low for low, high in self.spans)

    def learn(self, share: float, variance: float) -> None:
        """Average with another estimate, by the variances of both."""
        weight = 1.0 if math.isinf(self.variance) else self.variance / (self.variance + variance)
        self.share += weight * (share - self.share)
        self.variance = weight * variance

    def split(self) -> list[Node]:
        """The halves along every axis that has more than one cell."""
        self.children = [Node(spans) for spans in product(*map(_halves, self.spans))]
        return self.children

    def average(self) -> None:
        """From the leaves to the root: the estimate of a box, and the sum of those of its children."""
        for child in self.children:
            child.average()
        if self.children:
            self.learn(sum(one.share for one in self.children), sum(one.variance for one in self.children))

    def spread(self, share: float, found: Floats) -> None:
        """From the root to the leaves: children get equal parts of what their sum lacks, and none is negative."""
        if not self.children:
            found[self.slices] = share / self.cells
        elif share > 0:
            parts = simplex(np.array([one.share for one in self.children]) / share) * share
            for child, part in zip(self.children, parts, strict=True):
                child.spread(float(part), found)


def _halves(span: Span) -> list[Span]:
    low, high = span
    middle = (low + high + 1) // 2
    return [(low, middle), (middle, high)] if high - low > 1 else [span]


@dataclass(slots=True)
class AdaptiveTree:
    """The tree after some layers; `parts` are its leaves, of which the next layer asks."""

    shape: tuple[int, ...]
    root: Node
    parts: list[Node]

    @classmethod
    def after(cls, shape: Sequence[int], layers: Sequence[tuple[Floats, float]], *, last: bool = False) -> AdaptiveTree:
        """The tree after layers, each with the unbiased shares of its parts and the variance of one of them.

        A part is split where its share exceeds the root of (children + 1) times the variance, as published; after the
        `last` layer none is.
        """
        root = Node(tuple((0, size) for size in shape), 1.0, 0.0)
        tree = cls(tuple(shape), root, root.split())
        threshold = 2 ** sum(size > 1 for size in shape) + 1
        for place, (shares, variance) in enumerate(layers):
            for part, share in zip(tree.parts, simplex(shares), strict=True):
                part.learn(float(share), variance)
            if not last or place + 1 < len(layers):
                tree.split(math.sqrt(threshold * variance))
        return tree

    def split(self, threshold: float) -> None:
        """Halve the parts with a larger share."""
        wide = ((part, part.share > threshold and part.cells > 1) for part in self.parts)
        self.parts = [inner for part, is_split in wide for inner in (part.split() if is_split else [part])]

    def places(self) -> Ints:
        """The number of the part of each cell."""
        found = np.zeros(self.shape, np.int64)
        for place, part in enumerate(self.parts):
            found[part.slices] = place
        return found.ravel()

    def shares(self) -> Floats:
        """The shares of all cells: weighted averages over all layers, with sums kept and none negative."""
        found = np.zeros(self.shape)
        self.root.average()
        self.root.spread(1.0, found)
        return found.ravel()
