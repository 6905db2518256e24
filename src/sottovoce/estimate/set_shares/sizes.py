"""How many items people hold, from the fillers in their reports."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import POOR_BELOW, Contributions, Evidence, Flags, Floats, Ints
from sottovoce.estimate.reading import CodeReading
from sottovoce.estimate.request import Method, Target
from sottovoce.estimate.set_shares.pairs import PairScores


@dataclass(frozen=True, eq=False)
class SizesEvidence(Evidence):
    """Of n reports, counts[t] contain filler t, which those with fewer than m - t items hold.

    Shares of numbers of items are differences of neighbouring fillers. Who holds a filler holds all before it, so that
    the covariance of fillers is known.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    noun: ClassVar[str] = "share with number of items"
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    mechanism: Mechanism
    n: int
    counts: Ints

    @property
    def question(self) -> Question:
        return self.mechanism.question

    @property
    def axes(self) -> Axes:
        return Axes.of("number of items", range(len(self.counts) + 1))

    @cached_property
    def pairs(self) -> PairScores:
        """Rates of fillers."""
        return PairScores.of(self.mechanism)

    @cached_property
    def reading(self) -> CodeReading:
        """How a filler in a report is read."""
        return CodeReading.of_rates(self.pairs.own, self.pairs.other)

    @cached_property
    def weights(self) -> Floats:
        """The shares of 0, 1, ... m items are these sums of fillers; that of m items has a 1 beside it."""
        most = len(self.counts)
        upward = np.eye(most)[::-1]  # at most 0, 1, ... items
        return np.asarray(np.vstack([upward, np.zeros(most)]) - np.vstack([np.zeros(most), upward]))

    def values(self) -> Floats:
        sums = self.weights @ self.reading.values(self.counts / self.n)
        sums[-1] += 1
        return np.asarray(sums)

    def covariance(self, target: Target) -> Floats:
        shares = np.clip(self.reading.values(self.counts / self.n), 0, 1)
        fillers = self.pairs.covariance(shares, np.minimum(shares[:, None], shares), target)
        np.fill_diagonal(fillers, self.reading.at(shares, target))
        return np.asarray(self.weights @ fillers @ self.weights.T / self.n)

    def variances(self, target: Target) -> Floats:
        return np.maximum(np.diag(self.covariance(target)), 0)

    def contributions(self) -> Contributions:
        least, most = self.reading.ends(self.weights)
        full = np.eye(len(least))[-1]
        return Contributions(least + full, most + full, np.full(len(least), self.n))

    def normal_is_poor(self) -> Flags:
        return np.full(len(self.counts) + 1, self.n * min(self.pairs.other, 1 - self.pairs.own) < POOR_BELOW)

    def warning(self) -> str | None:
        if not self.normal_is_poor().any():
            return None
        return "The normal intervals of the numbers of items are poor: there are too few reports."

    def sentence(self, estimate: Any, level: float) -> str:
        mean = float(np.arange(len(self.counts) + 1) @ estimate.values)
        return f"People hold {mean:.3g} items on average, by estimates of how many hold each number of items."
