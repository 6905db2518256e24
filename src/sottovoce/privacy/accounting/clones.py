"""The pair of laws to which a shuffled crowd is reduced: one person's token among the tokens of clones.

An observer of shuffled reports sees at most how many tokens of two kinds there are. Each of the n - 1 others adds
a token with probability `clone`, of either kind equally likely. The person contributes the first kind with probability
`own`, the second with `other`, and none else; with the other answer the two are swapped. Feldman, McMillan and Talwar
show how any local randomizer is a post-processing of such a pair, so the pair's delta is an upper bound.

Sums run over the likely numbers of tokens only; what is left out counts against privacy. In crowds with very many
likely numbers the observer is also told how many clones there are, and these numbers are summed in blocks: more
clones hide better, because a further token is drawn alike for both answers, so the fewest of a block bound the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc
from scipy.stats import binom

Floats = NDArray[np.float64]
_LEFT_OUT = 1e-25  # probability of the numbers of tokens that are not summed
MOST_TOTALS = 1 << 15  # numbers of tokens that are summed one by one
BLOCKS = 1 << 11


@dataclass(frozen=True, slots=True)
class Tokens:
    """A person among n - 1 clones."""

    n: int
    clone: float
    own: float
    other: float

    def delta(self, epsilon: float) -> float:
        """The smallest delta at which the pair is (epsilon, delta)-indistinguishable, rounded against privacy."""
        low, high = self._likely_range()
        if high - low > MOST_TOTALS:
            return self._delta_in_blocks(epsilon, low, high)
        odds, rest = np.exp(epsilon), max(0.0, 1 - self.own - self.other)
        others = self.n - 1
        total = self._likely_totals()
        before, same = binom.pmf(total - 1, others, self.clone), binom.pmf(total, others, self.clone)
        # Given the total, the likelihood ratio rises with the tokens of the first kind: the worst event is a tail.
        silent = rest * np.maximum(others - total + 1, 0) * (self.clone / 2) / max(1 - self.clone, 1e-300)
        edge = (total * (odds * self.own - self.other) + silent * (odds - 1)) / ((self.own - self.other) * (1 + odds))
        first = np.floor(edge) + 1
        gained = (self.own - odds * self.other) * before * _tail(total - 1, first - 1)
        lost = (odds * self.own - self.other) * before * _tail(total - 1, first)
        lost = lost + rest * (odds - 1) * same * _tail(total, first)
        return float(min(1.0, max(0.0, np.sum(gained - lost)) * (1 + 1e-9) + 2 * _LEFT_OUT))

    def _delta_in_blocks(self, epsilon: float, low: int, high: int) -> float:
        """An upper bound of `delta`; it exceeds it only by what the clones of a block differ in."""
        ends = np.unique(np.floor(np.linspace(low, high + 1, BLOCKS + 1)))
        clones, weights = ends[:-1], np.diff(binom.cdf(ends - 1, self.n - 1, self.clone))
        odds = np.exp(epsilon)
        edge = (clones + 1) * (odds * self.own - self.other) / ((self.own - self.other) * (1 + odds))
        first = np.floor(edge) + 1
        # The two tails of `delta` nearly cancel in a large crowd; their difference is one probability.
        gained = (self.own - odds * self.other) * binom.pmf(first - 1, clones, 0.5)
        lost = np.expm1(epsilon) * (self.own + self.other) * _tail(clones, first)
        total = np.sum(np.maximum(weights, 0.0) * np.maximum(gained - lost, 0.0))
        return float(min(1.0, total * (1 + 1e-6) + 2 * _LEFT_OUT))

    def _likely_totals(self) -> Floats:
        low, high = self._likely_range()
        return np.arange(low, high + 2, dtype=np.float64)

    def _likely_range(self) -> tuple[int, int]:
        """The numbers of clones but a set of probability `_LEFT_OUT`, by Bernstein's inequality on both sides."""
        others, log = self.n - 1, -np.log(_LEFT_OUT / 2)
        mean, variance = others * self.clone, others * self.clone * (1 - self.clone)
        reach = log / 3 + np.sqrt(log**2 / 9 + 2 * variance * log)
        return max(0, int(np.floor(mean - reach))), min(others, int(np.ceil(mean + reach)))


def _tail(trials: Floats, least: Floats) -> Floats:
    """How likely a fair coin shows at least so many heads."""
    inside = (least >= 1) & (least <= trials)
    safe = np.where(inside, least, 1.0)
    upper = betainc(safe, np.where(inside, trials - least + 1, 1.0), 0.5)
    return np.where(inside, upper, np.where((least < 1) & (trials >= 0), 1.0, 0.0))
