"""AHEAD as published: an adaptive tree, one layer of it for each group of participants, drawn from its law.

Each layer is a partition of the domain. A group reports in which part of it an answer lies, by optimal unary encoding;
the shares are made possible (Norm-Sub), and parts whose share exceeds a threshold are split for the next group. At the
end estimates of a part and of what it was split into are averaged by their variances, and parts are spread evenly.

Reference: Du, Zhang, Bai, Liu, Ji, Cheng, Chen, "AHEAD: adaptive hierarchical decomposition for range query under local
differential privacy", CCS 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sottovoce.estimate.decoders.simplex import simplex

Floats = NDArray[np.float64]
BRANCHING = 2


@dataclass(slots=True)
class _Part:
    """The buckets from `start` to before `end`, with what was estimated of them so far."""

    start: int
    end: int
    share: float = 0.0
    variance: float = math.inf
    children: list[_Part] = field(default_factory=list)

    def learn(self, share: float, variance: float) -> None:
        """Average with another estimate, by the variances of both."""
        weight = 1.0 if math.isinf(self.variance) else self.variance / (self.variance + variance)
        self.share += weight * (share - self.share)
        self.variance = weight * variance

    def split(self) -> list[_Part]:
        edges = np.linspace(self.start, self.end, min(BRANCHING, self.end - self.start) + 1).astype(int)
        self.children = [_Part(int(low), int(high)) for low, high in pairwise(edges)]
        return self.children

    def averaged(self) -> None:
        """From the leaves to the root: the estimate of a part, and the sum of those of its children."""
        for child in self.children:
            child.averaged()
        if self.children:
            self.learn(sum(one.share for one in self.children), sum(one.variance for one in self.children))

    def spread(self, share: float, found: Floats) -> None:
        """From the root to the leaves: children get equal parts of what their sum lacks, and none is negative."""
        if not self.children:
            found[self.start : self.end] = share / (self.end - self.start)
            return
        if share <= 0:
            return
        own = simplex(np.array([one.share for one in self.children]) / share) * share
        for child, part in zip(self.children, own, strict=True):
            child.spread(float(part), found)


def ahead(truth: Floats, n: int, epsilon: float, rng: np.random.Generator) -> Floats:
    """The shares that AHEAD estimates from reports of n participants, whose answers are drawn from these shares."""
    e, layers = math.exp(epsilon), round(math.log(len(truth), BRANCHING))
    group, other = n // layers, 1 / (e + 1)
    variance = 4 * e / ((e - 1) ** 2 * group)
    threshold = math.sqrt((BRANCHING + 1) * variance)
    root = _Part(0, len(truth), 1.0, 0.0)
    parts, heights = [root], np.append(0.0, np.cumsum(truth))
    for _ in range(layers):
        parts = [
            inner
            for part in parts
            for inner in (part.split() if part.share > threshold and part.end - part.start > 1 else [part])
        ]
        own = np.array([heights[part.end] - heights[part.start] for part in parts])
        held = rng.multinomial(group, own / own.sum())
        ones = rng.binomial(held, 0.5) + rng.binomial(group - held, other)
        for part, share in zip(parts, simplex((ones / group - other) / (0.5 - other)), strict=True):
            part.learn(float(share), variance)
    root.averaged()
    found = np.zeros(len(truth))
    root.spread(1.0, found)
    return found
