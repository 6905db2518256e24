"""Linear decoders: unbiased shares of buckets as sums of scores of the outputs, of least variance for equal shares.

With the law M of an output given the bucket and D the rates of the outputs when all buckets are equally common, the
shares (M' D^-1 M)^-1 M' D^-1 r of the rates r have the least variance there, and are unbiased everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.late import load
from sottovoce.estimate.distribution.transition import LevelsTransition, Transition, WaveTransition, transition_of

Floats = NDArray[np.float64]
MOST_DENSE = 1 << 11  # buckets whose shares are found by solving linear equations
_EXACT = 1e-6  # of a share, by which a solution may fail its equations


class LinearDecode(ABC):
    """The scores of outputs."""

    @abstractmethod
    def scores(self, weights: Floats) -> Floats:
        """The score of each output for sums of shares with these weights, one row for each sum."""

    @abstractmethod
    def values(self, rates: Floats) -> Floats:
        """The shares of the buckets."""

    @abstractmethod
    def squares(self, rates: Floats) -> Floats:
        """The mean square of the score of each bucket."""


class DenseDecode(LinearDecode):
    """By a matrix."""

    def __init__(self, transition: Transition) -> None:
        if transition.buckets > MOST_DENSE:
            raise TooLargeError(
                f"Unbiased shares of {transition.buckets} buckets need too large a matrix; {MOST_DENSE} are possible."
            )
        law = transition.matrix
        weight = law.mean(axis=1)
        used = weight > 0
        scaled = law[used].T / weight[used]
        self.matrix = np.zeros(law.T.shape)
        try:
            self.matrix[:, used] = np.linalg.solve(scaled @ law[used], scaled)
        except np.linalg.LinAlgError:
            self.matrix[:] = np.inf
        if not np.abs(self.matrix @ law - np.eye(transition.buckets)).max() < _EXACT:  # also refuses NaN
            raise ParameterError(
                f"These reports do not determine the shares of {transition.buckets} buckets: some changes of the shares"
                " leave the law of a report as it is."
            )

    def scores(self, weights: Floats) -> Floats:
        return np.asarray(weights @ self.matrix)

    def values(self, rates: Floats) -> Floats:
        return np.asarray(self.matrix @ rates)

    def squares(self, rates: Floats) -> Floats:
        return np.asarray(self.matrix**2 @ rates)


class ChainDecode(LinearDecode):
    """Of a wave whose window moves by one output from each code to the next, in a time linear in their number.

    With G the cumulative shares and w the width, the rate of output y is q + (p - q) (G(y) - G(y - w)), where G is 0
    before the first code and 1 from the last one on. So the outputs y, y + w, y + 2 w, ... tell one chain of cumulative
    shares, whose differences must sum to 1: what they miss is shared out in proportion to their variances.
    """

    def __init__(self, transition: WaveTransition) -> None:
        self.codes, self.outputs, self.width = transition.buckets, transition.outputs, transition.width
        self.slope = 1 / (transition.high - transition.low)
        uniform = self._table(transition.forward(np.full(self.codes, 1 / self.codes)))
        sums = np.cumsum(uniform, axis=0)
        self.parts = sums / sums[-1]  # of its chain, up to each output
        place = np.arange(1, len(uniform) + 1)[:, None]
        length = np.bincount(np.arange(self.outputs) % self.width)
        excess = transition.low * self.slope
        self.base = self.parts * (1 + excess * length) - excess * place  # what no report adds

    def _table(self, numbers: Floats) -> Floats:
        """One column for each chain; chains are filled up with zeros."""
        rows = -(-self.outputs // self.width)
        return np.pad(numbers, (0, rows * self.width - len(numbers))).reshape(rows, self.width)

    def scores(self, weights: Floats) -> Floats:
        return np.array([self._scores(row) for row in np.atleast_2d(weights)])

    def _scores(self, weights: Floats) -> Floats:
        """Sums of shares are sums of cumulative shares: each share is the difference of two."""
        steps = self._table(weights[:-1] - weights[1:])  # of the last code the cumulative share is known
        later = np.cumsum(steps[::-1], axis=0)[::-1]
        found = self.slope * (later - (steps * self.parts).sum(axis=0))
        return np.asarray(found.ravel()[: self.outputs] + (steps * self.base).sum() + weights[-1])

    def _cumulative(self, rates: Floats) -> tuple[Floats, Floats]:
        """Of each chain: the rates up to an output, and of all its outputs."""
        sums = np.cumsum(self._table(rates), axis=0)
        return sums, np.broadcast_to(sums[-1], sums.shape)

    def _of_codes(self, table: Floats) -> Floats:
        """The numbers of all codes but the last."""
        return table.ravel()[: self.codes - 1]

    def values(self, rates: Floats) -> Floats:
        upto, whole = self._cumulative(rates)
        heights = self._of_codes(self.slope * (upto - self.parts * whole) + self.base * rates.sum())
        return np.diff(heights, prepend=0.0, append=rates.sum())

    def squares(self, rates: Floats) -> Floats:
        """Mean square and mean of the score of each cumulative share without its constant; then of differences."""
        upto, whole = self._cumulative(rates)
        square = self.slope**2 * ((1 - self.parts) ** 2 * upto + self.parts**2 * (whole - upto))
        mean = self.slope * (upto - self.parts * whole)
        squares, means, bases = (
            np.concatenate([[0.0], self._of_codes(table), [last]])
            for table, last in ((square, 0.0), (mean, 0.0), (self.base, 1.0))
        )
        constant = np.diff(bases)
        found = squares[1:] + squares[:-1] + 2 * constant * np.diff(means) + constant**2 * rates.sum()
        if self.width == 1:  # neighbours are in one chain
            part, sums = self.parts.ravel()[: self.codes - 1], upto.ravel()[: self.codes - 1]
            total, rate = float(upto[-1, 0]), rates[1 : self.codes - 1]
            both = (1 - part[1:]) * (1 - part[:-1]) * sums[:-1] - (1 - part[1:]) * part[:-1] * rate
            both += part[1:] * part[:-1] * (total - sums[1:])
            found[1:-1] -= 2 * self.slope**2 * both
        return np.asarray(found)


@lru_cache(maxsize=16)
def linear_decode(channel: Channel, buckets: int) -> LinearDecode:
    """The decoder of a channel for so many buckets."""
    found = transition_of(channel, buckets)
    if isinstance(found, LevelsTransition):
        levels: LinearDecode = load("estimate.distribution.hierarchy:levels_decode")(found)
        return levels
    if isinstance(found, WaveTransition) and found.moves_by_one:
        return ChainDecode(found)
    return DenseDecode(found)
