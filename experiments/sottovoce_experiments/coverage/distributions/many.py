"""Many tallies of one crowd at once: the numbers that intervals and bands of a distribution are made of.

Intervals are those of `estimate.distribution`, computed for all runs together, which is a hundred times as fast as one
by one. Studies compare both in their first runs (`cells.compared`).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Histogram
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.distribution.base import EARLY, DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.evidence import evidence
from sottovoce.estimate.distribution.outputs import MORE, MOST_UPDATES
from sottovoce.estimate.distribution.reach import DRAWS, Singles, bound_of, draws_of, largest, rank_of
from sottovoce.estimate.distribution.readings.decode import linear_decode
from sottovoce.estimate.distribution.readings.linear import is_projection
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.estimate.frequency.sums import bins
from sottovoce.estimate.request import Target
from sottovoce.tally.counts import simulate_cells
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.distributions.populations import law, shares_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_AT_ONCE = 1_000  # tallies whose shares are fitted together
_SURE = 7.0  # standard errors of a share of draws that decide before all draws are made


@dataclass(frozen=True, eq=False)
class ManyTallies(ABC):
    """The cells of tallies of n reports, one row for each."""

    method: Mechanism
    n: int
    cells: Ints

    @cached_property
    def evidence(self) -> DistributionEvidence:
        """The evidence of the first tally."""
        return evidence(self.method, Tally(self.method, self.n, self.cells[0]))

    @property
    def buckets(self) -> Buckets:
        """The buckets of all of them."""
        return self.evidence.buckets

    @abstractmethod
    def functional(self, rows: Floats) -> tuple[Floats, Floats]:
        """Sums of shares with these weights, and their covariance: [tally, sum], [tally, sum, sum]."""

    @abstractmethod
    def spreads(self, rows: Floats, chosen: slice = slice(None)) -> Floats:
        """The variances of these sums alone, for some of the tallies."""

    @abstractmethod
    def fitted(self, most: int | None = None) -> Iterator[Floats]:
        """The covariance of the cumulative shares inside that each band is made of, of all or of the first tallies."""

    @property
    def sets(self) -> Floats:
        """The weights of the cumulative shares inside."""
        return np.tri(len(self.buckets) - 1, len(self.buckets))

    @cached_property
    def heights(self) -> Floats:
        """The cumulative shares at the edges inside."""
        return self.values(self.sets)

    @abstractmethod
    def values(self, rows: Floats) -> Floats:
        """The unbiased sums alone."""


class ManyCounts(ManyTallies):
    """Cells that count outputs."""

    @cached_property
    def law(self) -> Floats:
        """The probability of each output in each bucket: [output, bucket]."""
        return transition_of(self.method.channel, len(self.buckets)).matrix

    @cached_property
    def scores(self) -> Floats:
        """The score of each output for the share of each bucket."""
        return linear_decode(self.method.channel, len(self.buckets)).scores(np.eye(len(self.buckets)))

    @cached_property
    def rates(self) -> Floats:
        """The rates that errors are computed for."""
        return np.asarray((self.cells + MORE * self.law.mean(axis=1)) / (self.n + MORE))

    def values(self, rows: Floats) -> Floats:
        return np.asarray(self.cells @ (rows @ self.scores).T / self.n)

    def functional(self, rows: Floats) -> tuple[Floats, Floats]:
        scores = rows @ self.scores
        means = self.rates @ scores.T
        products = np.stack([self.rates @ (scores * one).T for one in scores], axis=1)
        return self.values(rows), (products - means[:, :, None] * means[:, None, :]) / self.n

    def spreads(self, rows: Floats, chosen: slice = slice(None)) -> Floats:
        scores, rates = rows @ self.scores, self.rates[chosen]
        return np.asarray(np.maximum(rates @ (scores**2).T - (rates @ scores.T) ** 2, 0) / self.n)

    def fitted(self, most: int | None = None) -> Iterator[Floats]:
        scores, runs = self.sets @ self.scores, len(self.cells) if most is None else most
        for start in range(0, runs, _AT_ONCE):
            for rates in self._fitted_rates(slice(start, min(start + _AT_ONCE, runs))):
                means = scores @ rates
                yield ((scores * rates) @ scores.T - np.outer(means, means)) / self.n

    def _fitted_rates(self, chosen: slice) -> Floats:
        if is_projection(self.method.channel):
            return self.rates[chosen]
        shares = (self.n * self.likely_shares(chosen) + MORE / len(self.buckets)) / (self.n + MORE)
        return np.asarray(shares @ self.law.T)

    def likely_shares(self, chosen: slice) -> Floats:
        """The shares of EM (`estimate.distribution.iterate`), of some tallies at once."""
        d, n, counts = len(self.buckets), self.n, self.cells[chosen].astype(float)
        stop = EARLY * math.exp(self.method.epsilon)
        found, live, shares = np.empty((len(counts), d)), np.arange(len(counts)), np.full((len(counts), d), 1 / d)
        rates = shares @ self.law.T
        likelihood = _log_likelihood(counts, rates)
        for update in range(1, MOST_UPDATES + 1):
            shares = shares * (counts / rates @ self.law) / n
            shares /= shares.sum(axis=1, keepdims=True)
            rates = shares @ self.law.T
            before, likelihood = likelihood, _log_likelihood(counts, rates)
            ended = (np.abs(likelihood - before) < stop) | (update == MOST_UPDATES)
            found[live[ended]] = shares[ended]
            if ended.any():
                on = ~ended
                live, counts, shares = live[on], counts[on], shares[on]
                rates, likelihood = rates[on], likelihood[on]
        return found


def _log_likelihood(counts: Floats, rates: Floats) -> Floats:
    return np.asarray(np.einsum("ry,ry->r", counts, np.log(rates)))


class ManySums(ManyTallies):
    """Cells that add up noisy histograms."""

    @property
    def channel(self) -> Histogram:
        """The noisy histogram."""
        channel = self.method.channel
        if not isinstance(channel, Histogram):
            raise TypeError("Sums of bins are those of noisy histograms.")
        return channel

    @cached_property
    def shares(self) -> Floats:
        """The unbiased shares of the bins, which sum to one."""
        known = bins(self.channel)
        shares = (self.cells / self.n - known.start) / known.slope
        return np.asarray(shares - (shares.sum(axis=1, keepdims=True) - 1) / shares.shape[1])

    @cached_property
    def noise(self) -> Floats:
        """The variance of the noise of each bin."""
        return bins(self.channel).at(self.shares, Target.SAMPLE)

    def values(self, rows: Floats) -> Floats:
        return np.asarray(self.shares @ rows.T)

    def functional(self, rows: Floats) -> tuple[Floats, Floats]:
        centred, means = rows - rows.mean(axis=1, keepdims=True), self.values(rows)
        products = [
            self.noise @ (centred * around).T + self.shares @ (rows * row).T
            for row, around in zip(rows, centred, strict=True)
        ]
        return means, (np.stack(products, axis=1) - means[:, :, None] * means[:, None, :]) / self.n

    def spreads(self, rows: Floats, chosen: slice = slice(None)) -> Floats:
        centred, shares = rows - rows.mean(axis=1, keepdims=True), self.shares[chosen]
        own = self.noise[chosen] @ (centred**2).T + shares @ (rows**2).T - (shares @ rows.T) ** 2
        return np.asarray(np.maximum(own, 0) / self.n)

    def fitted(self, most: int | None = None) -> Iterator[Floats]:
        rows = self.sets
        centred = rows - rows.mean(axis=1, keepdims=True)
        every = (part[:most] for part in (self.noise, self.shares, self.heights))
        for noise, shares, heights in zip(*every, strict=True):
            inner = (centred * noise) @ centred.T + (rows * shares) @ rows.T
            yield (inner - np.outer(heights, heights)) / self.n


def many_tallies(method: Mechanism, crowd: str, n: int, runs: int, seed: int) -> ManyTallies:
    """So many tallies of n people of a crowd."""
    rng = np.random.default_rng(seed)
    if isinstance(method.channel, Histogram):
        held = rng.multinomial(n, shares_of(method, crowd), size=runs)
        cells = simulate_cells(method, held, runs=runs, seed=int(rng.integers(1 << 62)))
        return ManySums(method, n, cells)
    return ManyCounts(method, n, rng.multinomial(n, law(method, crowd)[1], size=runs))


def within(root: Singles, size: float, level: float, seed: int = 0) -> bool:
    """Whether a number of standard errors is within `reach`, from as many of its draws as decide it."""
    rank = rank_of(level)
    if size > bound_of(len(root), level) or rank is None:
        return size <= bound_of(len(root), level)
    below = made = 0
    for part in draws_of(root.shape[1], seed):
        below, made = below + int((largest(root, part) < size).sum()), made + part.shape[1]
        if abs(below - made * rank / DRAWS) > _SURE * np.sqrt(made * level * (1 - level)):
            break
    return below < made * rank / DRAWS
