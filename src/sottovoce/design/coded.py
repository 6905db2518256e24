"""The search for the bit patterns of a coded wave.

Up to 64 bins the search knows the exact variance on the line. Beyond, it works on the whole circle of cells, where the
law is a convolution: its information is a number for each wave around the circle, so that a cost takes one Fourier
transform instead of the inverse of a matrix. Of what is found in this way the exact variance decides, up to 256 bins.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.design.descent import Cost, best_share, descend
from sottovoce.design.projection import project_columns
from sottovoce.estimate.distribution.queries import Floats

MOST_ON_LINE = 64  # bins for which each step of the search computes the variance on the line
MOST_JUDGED = 256  # bins for which it is computed for each pattern that was found
QUICK, STEPS = 40, 150
ROUGHNESS = 0.3
CANDIDATES = 12  # ones and zeros with the steepest slopes, whose exchange is tried
TRIED = 24  # pairs of them
EXCHANGES = 4  # at most, for each step of the descent
GAIN = 1e-5  # relative, of an exchange that is made
MANY_STARTS, ONE_START, MANY_BINS = 4, 1, 1 << 10  # the search starts once for more than so many bins
_SILENT = 1e-9  # the information of a wave, relative, below which its share of a query is not estimable


@dataclass(frozen=True, slots=True, eq=False)
class _Wave(ABC):
    """`patterns` of `cells` bits with `size` ones in all, as one vector."""

    price: Cost
    cells: int
    patterns: int
    size: int

    @property
    def weight(self) -> float:
        return 1 / (self.cells * self.patterns + (self.price.odds - 1) * self.size)

    def project(self, t: Floats) -> Floats:
        column = t[:, None].copy()
        project_columns(column, float(self.size))
        return column[:, 0]

    @abstractmethod
    def cost(self, t: Floats) -> tuple[float, Floats]:
        """The cost and its slopes."""

    @abstractmethod
    def value(self, t: Floats) -> float:
        """The cost alone."""

    def on_line(self, t: Floats) -> float:
        """The variance on the line."""
        return self.price.value(t[_places(self.price.wanted.bins, self.cells, self.patterns)], self.weight)

    def start(self, seed: int) -> Floats:
        bits = self.cells * self.patterns
        noise = np.random.default_rng(seed).normal(size=bits)
        return self.size / bits * (1 + ROUGHNESS * noise)

    def bits(self, t: Floats) -> Floats:
        """The `size` largest entries."""
        chosen = np.zeros_like(t)
        chosen[np.argsort(-t.round(9), kind="stable")[: self.size]] = 1
        return chosen

    def exchanged(self, bits: Floats, most: int) -> Floats:
        """A one and a zero change places as long as that lowers the cost; slopes say which are tried first."""
        cost, slopes = self.cost(bits)
        for _ in range(most):
            steep = slopes / max(float(np.abs(slopes).max()), 1e-300)
            order = np.argsort(steep.round(9), kind="stable")
            zeros = order[bits[order] == 0][:CANDIDATES]
            ones = order[::-1][bits[order[::-1]] == 1][:CANDIDATES]
            gains = (steep[zeros][:, None] - steep[ones]).round(9)
            for pair in np.argsort(gains.ravel(), kind="stable")[:TRIED]:
                changed = bits.copy()
                changed[zeros[pair // len(ones)]], changed[ones[pair % len(ones)]] = 1, 0
                if self.value(changed) < cost * (1 - GAIN):
                    bits = changed
                    cost, slopes = self.cost(bits)
                    break
            else:
                break
        return bits

    def found(self, seed: int, steps: int) -> Floats:
        """The bits that descent and exchange find from a start."""
        return self.exchanged(self.bits(descend(self, self.start(seed), steps)[0]), most=EXCHANGES * steps)

    def judged(self, bits: Floats) -> float:
        """What decides between patterns."""
        return self.on_line(bits) if self.price.wanted.bins <= MOST_JUDGED else self.value(bits)


@dataclass(frozen=True, slots=True, eq=False)
class LineWave(_Wave):
    """The variance on the line itself."""

    def cost(self, t: Floats) -> tuple[float, Floats]:
        places = _places(self.price.wanted.bins, self.cells, self.patterns)
        price, slopes = self.price(t[places], self.weight)
        return price, np.asarray(np.bincount(places.ravel(), slopes.ravel(), minlength=len(t)), float)

    def value(self, t: Floats) -> float:
        return self.on_line(t)


@dataclass(frozen=True, slots=True, eq=False)
class CircleWave(_Wave):
    """The variance on the circle of all cells, for queries with a `spectrum`.

    If all cells are equally common, and all patterns have as many ones, all outputs are equally common too. Then the
    information about a wave is in proportion to the sum of the squares of the patterns' Fourier coefficients there.
    Patterns that are found have nearly as many ones.
    """

    spectrum: Floats

    @property
    def scale(self) -> float:
        return 1 / (self.cells * self.patterns * (self.weight * (self.price.odds - 1)) ** 2)

    def cost(self, t: Floats) -> tuple[float, Floats]:
        waves, power = self._power(t)
        if power.min() < _SILENT * power.mean():
            return math.inf, t
        terms = self.spectrum / power
        slopes = np.fft.irfft(-(terms / power) * waves, self.cells) * self.cells
        return self.scale * self._sum(terms), 2 * self.scale * slopes.ravel()

    def value(self, t: Floats) -> float:
        _, power = self._power(t)
        return math.inf if power.min() < _SILENT * power.mean() else self.scale * self._sum(self.spectrum / power)

    def _power(self, t: Floats) -> tuple[NDArray[np.complex128], Floats]:
        """Fourier coefficients of the patterns, and the sums of their squares; the sum of all cells is known."""
        waves = np.fft.rfft(t.reshape(self.patterns, self.cells))
        waves[:, 0] = 0
        power = (waves.real**2 + waves.imag**2).sum(axis=0)
        power[0] = power[1:].mean()
        return waves, power

    def _sum(self, terms: Floats) -> float:
        """Over all waves; each but the quickest of an even number of cells comes twice."""
        return float(2 * terms[1:].sum() - (terms[-1] if self.cells % 2 == 0 else 0.0))


@lru_cache(maxsize=4)
def _places(bins: int, cells: int, patterns: int) -> NDArray[np.int64]:
    """The bit that each output has in the cell of each code."""
    shifted = (np.arange(bins)[None, :] - np.arange(cells)[:, None]) % cells
    return np.concatenate([cells * number + shifted for number in range(patterns)])


def coded_bits(price: Cost, cells: int, patterns: int) -> Floats:
    """The patterns that descent and exchange from several starts find best, one row for each."""
    bins = price.wanted.bins
    spectrum = price.wanted.spectrum(cells) if bins > MOST_ON_LINE else None

    def wave(share: float) -> _Wave:
        shape = (price, cells, patterns, min(max(1, round(share * cells * patterns)), cells * patterns - 1))
        return LineWave(*shape) if spectrum is None else CircleWave(*shape, spectrum)

    def quick(share: float) -> float:
        search = wave(share)
        return search.judged(search.found(0, QUICK))

    search = wave(best_share(max(1 / (price.odds + 1), 1 / (2 * bins)), quick))
    starts = MANY_STARTS if bins <= MANY_BINS else ONE_START
    return min((search.found(seed, STEPS) for seed in range(starts)), key=search.judged).reshape(patterns, cells)
