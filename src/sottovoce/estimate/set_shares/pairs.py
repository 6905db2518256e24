"""The joint law of two elements in a report: products of their scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sottovoce.core.channel.facets import need
from sottovoce.core.channel.shapes import Naming
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.request import Target


@dataclass(frozen=True, slots=True)
class PairScores:
    """Rates of one element, and of two at once where both are held, one is, or neither."""

    own: float
    other: float
    both: float
    one: float
    neither: float

    @classmethod
    def of(cls, mechanism: Mechanism) -> PairScores:
        """The rates of a mechanism."""
        known = need(mechanism.channel, Naming)
        return cls(*map(float, known.item_rates()), *map(float, known.pair_rates()))

    def covariance(self, shares: Floats, both: Floats, target: Target) -> Floats:
        """The covariance of the scores of each two elements of one report, where these shares of people hold each
        element and each two of them. The diagonal is not that of variances."""
        sums = shares[:, None] + shares
        one, neither = sums - 2 * both, 1 - sums + both
        together = both * self.both + one * self.one + neither * self.neither
        if target == Target.POPULATION:
            rates = self.other + shares * (self.own - self.other)
            first = np.outer(rates, rates)
        else:  # for these participants, the part that lies between their answers is no error
            first = both * self.own**2 + one * self.own * self.other + neither * self.other**2
        return np.asarray((together - first) / (self.own - self.other) ** 2)
