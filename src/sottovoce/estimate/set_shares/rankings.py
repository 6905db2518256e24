"""The order of items that a crowd prefers, from shares of people who put one item before another."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import Evidence, Floats, Functional
from sottovoce.estimate.request import Method, Target

METHODS = ("borda", "kwiksort")


@dataclass(frozen=True, eq=False)
class PlacesEvidence(Evidence):
    """The mean place of each item, 1 for the best: one more than how many others come before it on average."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    noun: ClassVar[str] = "mean place"
    pairs: Evidence
    items: tuple[object, ...]
    question: Question
    n = delegated("pairs.n")

    @property
    def ends(self) -> tuple[float, float]:
        return 1.0, float(len(self.items))

    @property
    def axes(self) -> Axes:
        return Axes.of("item", self.items)

    @property
    def weights(self) -> Floats:
        """The share of a pair counts for the place of its second item, and against that of its first."""
        count = len(self.items)
        rows = np.zeros((count, count * (count - 1) // 2))
        for pair, (first, second) in enumerate(combinations(range(count), 2)):
            rows[first, pair], rows[second, pair] = -1, 1
        return rows

    @property
    def last(self) -> Floats:
        """The place of each item where all that are listed later come before it, and no other."""
        return len(self.items) - np.arange(len(self.items), dtype=np.float64)

    def values(self) -> Floats:
        return np.asarray(self.last + self.weights @ self.pairs.values())

    def covariance(self, target: Target) -> Floats:
        return self.pairs.functional(self.weights, target).covariance

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        """Weighted sums of places are weighted sums of pairs."""
        rows = np.atleast_2d(weights)
        sums = self.pairs.functional(rows @ self.weights, target)
        return Functional(rows @ self.last + sums.values, sums.covariance)

    def variances(self, target: Target) -> Floats:
        return np.maximum(np.diag(self.covariance(target)), 0)

    def normal_is_poor(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.full(len(self.items), bool(self.pairs.normal_is_poor().any()))

    def warning(self) -> str | None:
        if not self.normal_is_poor().any():
            return None
        return (
            "The normal intervals of mean places are poor: of some pairs of items, too few reports are expected to put"
            " one item first. The intervals of the pairs themselves hold."
        )

    def sentence(self, estimate: object, level: float) -> str:
        return f"Of {len(self.items)} items {self.items[int(np.argmin(self.values()))]!r} has the best mean place."


def in_order(count: int, before: Floats, method: str, seed: int) -> list[int]:
    """The items in order, from the share of people who put each of two items first.

    `borda` orders them by their mean place, so that the noise of all pairs of an item averages out. `kwiksort` sorts
    around random pivots, as LDPKwikSort does, and looks at each pair alone.
    """
    table = np.full((count, count), 0.5)
    for share, (first, second) in zip(before, combinations(range(count), 2), strict=True):
        table[first, second], table[second, first] = share, 1 - share
    if method == "borda":
        return [int(item) for item in np.argsort(-table.sum(axis=1), kind="stable")]
    return _kwiksort(list(range(count)), table, random.Random(seed))


def _kwiksort(items: list[int], table: Floats, draw: random.Random) -> list[int]:
    if len(items) < 2:
        return items
    pivot = draw.choice(items)
    better = [item for item in items if item != pivot and table[item, pivot] > 0.5]
    worse = [item for item in items if item != pivot and table[item, pivot] <= 0.5]
    return [*_kwiksort(better, table, draw), pivot, *_kwiksort(worse, table, draw)]
