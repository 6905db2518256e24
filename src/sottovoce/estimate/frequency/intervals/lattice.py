"""Exact intervals for a share from counts of several mechanisms: the law of a weighted sum of binomials, inverted.

Each mechanism i has n_i reports, of which X_i ~ Bin(n_i, q_i + f (p_i - q_i)) support a code of share f. With whole
multiples a_i, the sum T = a_1 X_1 + a_2 X_2 + ... lies on the integers, and its law is the Fourier transform of a
product in closed form. T grows stochastically with f, so the shares that neither tail rejects are a range. Its ends are
rounded outward to nodes a fraction of a standard error apart: a rejected node rejects every share beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sottovoce.estimate.evidence import Bounds, Flags, Floats, Ints

_REACH = 9.0  # standard deviations beyond which the mass, below 1e-18, is left out
_LOST = 1e-9  # how much of a tail rounding of floats may lose
_NODES = 16  # in one standard error
_MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # tried for the largest one
_LOSS = 1.005  # of variance by whole multiples


@dataclass(frozen=True, slots=True, eq=False)
class SumLaw:
    """The law of T for n_i reports with rates `own` and `other`, and these multiples."""

    n: Floats
    own: Floats
    other: Floats
    multiples: Floats
    _known: dict[float, tuple[int, Floats]] = field(default_factory=dict, repr=False)

    @property
    def slope(self) -> float:
        """The mean of T at share one less that at share zero."""
        return float(np.sum(self.multiples * self.n * (self.own - self.other)))

    @property
    def origin(self) -> float:
        """The mean of T at share zero."""
        return float(np.sum(self.multiples * self.n * self.other))

    def deviation(self, share: float) -> float:
        """The standard deviation of T."""
        rates = self.other + share * (self.own - self.other)
        return math.sqrt(float(np.sum(self.multiples**2 * self.n * rates * (1 - rates))))

    def law(self, share: float) -> tuple[int, Floats]:
        """The first sum of a window, and the probabilities from there on."""
        if share not in self._known:
            self._known[share] = self._law(share)
        return self._known[share]

    def _law(self, share: float) -> tuple[int, Floats]:
        rates = self.other + share * (self.own - self.other)
        reach = _REACH * self.deviation(share) + 14 * float(self.multiples.max())
        size = 1 << math.ceil(math.log2(2 * reach + 2))
        angles = 2j * np.pi / size * np.arange(size // 2 + 1)
        logs = np.zeros(size // 2 + 1, complex)
        for n, rate, multiple in zip(self.n, rates, self.multiples, strict=True):
            with np.errstate(divide="ignore"):
                logs += n * np.log(1 - rate + rate * np.exp(angles * multiple))
        first = math.floor(self.origin + share * self.slope) - size // 2
        # The law wraps around: the sum `first` lies at its remainder.
        wrapped = np.fft.irfft(np.conj(np.exp(logs)), size)
        return first, np.maximum(np.roll(wrapped, -(first % size)), 0)

    def tails(self, share: float, totals: Ints) -> tuple[Floats, Floats]:
        """P(T <= total) and P(T >= total) for each total."""
        first, law = self.law(share)
        below = np.concatenate([[0.0], np.cumsum(law)])
        above = np.concatenate([np.cumsum(law[::-1])[::-1], [0.0]])
        places = np.clip(totals - first, -1, len(law))
        return below[np.minimum(places + 1, len(law))], above[np.maximum(places, 0)]

    def limits(self, totals: Ints, level: float) -> Bounds:
        """The shares in [0, 1] that neither tail rejects, for each total; one end of [0, 1] if there are none."""
        kinds, places = np.unique(totals, return_inverse=True)
        alpha = (1 - level) / 2 - _LOST
        step = min(self.deviation(0.0), self.deviation(1.0), self.deviation(0.5)) / (self.slope * _NODES)
        count = max(_NODES, math.ceil(1 / step))
        low = _last_rejected(kinds, count, lambda share, some: self.tails(share, some)[1] <= alpha)
        mirrored = _last_rejected(kinds, count, lambda share, some: self.tails(1 - share, some)[0] <= alpha)
        return Bounds(low[places.ravel()], 1 - mirrored[places.ravel()])

    def missed(self, share: float, interval: Callable[[Ints], Bounds]) -> float:
        """The probability that the interval of a total misses the share."""
        first, law = self.law(share)
        likely = np.flatnonzero(law > 1e-14)
        low, high = interval(first + likely)
        return float(law[likely][(low > share + 1e-12) | (high < share - 1e-12)].sum())


def _last_rejected(totals: Ints, count: int, rejected: Callable[[float, Ints], Flags]) -> Floats:
    """The last of the shares 0, 1/count, ..., 1 that is rejected for each total; 0 if none is. Bisection; all totals
    at a node share its law."""
    low, high = np.full(len(totals), -1), np.full(len(totals), count + 1)
    while True:
        open_ones = np.flatnonzero(high - low > 1)
        if not len(open_ones):
            return np.asarray(np.maximum(low, 0) / count)
        middle = (low[open_ones] + high[open_ones]) // 2
        for node in np.unique(middle):
            here = open_ones[middle == node]
            out = rejected(node / count, totals[here])
            low[here[out]], high[here[~out]] = node, node


def multiples(n: Floats, own: Floats, other: Floats, share: float) -> Floats:
    """Whole multiples of nearly the least variance at a share: those of least are (own - other) / (rate (1 - rate))."""
    rates, slopes = other + share * (own - other), own - other
    noise = rates * (1 - rates)
    best = slopes / noise

    def variance(factors: Floats) -> float:
        return float(np.sum(factors**2 * n * noise) / np.sum(factors * n * slopes) ** 2)

    tried = [np.maximum(1, np.round(most * best / best.max())) for most in _MULTIPLES]
    least = min(map(variance, tried))
    return next(factors for factors in tried if variance(factors) <= _LOSS * least)
