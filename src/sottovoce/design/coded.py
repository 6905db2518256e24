"""The search for the bit patterns of a coded wave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.design.descent import Cost, best_share, descend
from sottovoce.design.projection import project_columns
from sottovoce.design.workload import Floats

QUICK, STEPS = 40, 150
ROUGHNESS = 0.3
CANDIDATES = 12  # ones and zeros with the steepest slopes, whose exchange is tried
TRIED = 24  # pairs of them
GAIN = 1e-5  # relative, of an exchange that is made


@dataclass(frozen=True, slots=True, eq=False)
class _Wave:
    """`patterns` of `cells` bits with `size` ones in all, as one vector.

    `places[y, c]` is the bit that output y has in the cell of code c.
    """

    price: Cost
    cells: int
    patterns: int
    size: int
    places: NDArray[np.int64]

    @property
    def weight(self) -> float:
        return 1 / (self.cells * self.patterns + (self.price.odds - 1) * self.size)

    def project(self, t: Floats) -> Floats:
        column = t[:, None].copy()
        project_columns(column, float(self.size))
        return column[:, 0]

    def cost(self, t: Floats) -> tuple[float, Floats]:
        price, slopes = self.price(t[self.places], self.weight)
        return price, np.asarray(np.bincount(self.places.ravel(), slopes.ravel(), minlength=len(t)), float)

    def start(self, seed: int) -> Floats:
        bits = self.cells * self.patterns
        noise = np.random.default_rng(seed).normal(size=bits)
        return self.size / bits * (1 + ROUGHNESS * noise)

    def bits(self, t: Floats) -> Floats:
        """The `size` largest entries."""
        chosen = np.zeros_like(t)
        chosen[np.argsort(-t.round(9), kind="stable")[: self.size]] = 1
        return chosen

    def exchanged(self, bits: Floats) -> tuple[Floats, float]:
        """A one and a zero change places as long as that lowers the cost; slopes say which are tried first."""
        cost, slopes = self.cost(bits)
        while True:
            steep = slopes / max(float(np.abs(slopes).max()), 1e-300)
            order = np.argsort(steep.round(9), kind="stable")
            zeros = order[bits[order] == 0][:CANDIDATES]
            ones = order[::-1][bits[order[::-1]] == 1][:CANDIDATES]
            gains = (steep[zeros][:, None] - steep[ones]).round(9)
            for pair in np.argsort(gains.ravel(), kind="stable")[:TRIED]:
                changed = bits.copy()
                changed[zeros[pair // len(ones)]], changed[ones[pair % len(ones)]] = 1, 0
                if self.price.value(changed[self.places], self.weight) < cost * (1 - GAIN):
                    bits = changed
                    cost, slopes = self.cost(bits)
                    break
            else:
                return bits, cost


def coded_bits(price: Cost, cells: int, patterns: int, starts: int) -> Floats:
    """The patterns that descent and exchange from several starts find best, one row for each."""
    codes = np.arange(price.wanted.bins)
    shifted = (codes[None, :] - np.arange(cells)[:, None]) % cells
    places = np.concatenate([cells * number + shifted for number in range(patterns)])

    def wave(share: float) -> _Wave:
        size = min(max(1, round(share * cells * patterns)), cells * patterns - 1)
        return _Wave(price, cells, patterns, size, places)

    def quick(share: float) -> float:
        search = wave(share)
        return search.exchanged(search.bits(descend(search, search.start(0), QUICK)[0]))[1]

    search = wave(best_share(max(1 / (price.odds + 1), 1 / (2 * price.wanted.bins)), quick))
    candidates = [
        search.exchanged(search.bits(descend(search, search.start(seed), STEPS)[0])) for seed in range(starts)
    ]
    return min(candidates, key=lambda pair: pair[1])[0].reshape(patterns, cells)
