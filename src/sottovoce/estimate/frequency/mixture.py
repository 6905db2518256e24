"""Mixtures: the log-likelihood of shares, given reports whose law for each code is known.

Row i of a mixture has `counts[i]` equal reports and relative likelihoods L[i, v], known up to a factor per row, which
does not change the maximum. An optimiser needs only the products L f and L' r; each shape of channel has fast ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.field import polynomial
from sottovoce.core.channel import HadamardSets, PoolMap
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.frequency.pool import transformed
from sottovoce.estimate.frequency.walsh import walsh
from sottovoce.fast.compiled import compiled
from sottovoce.fast.threads import run

Bytes = NDArray[np.uint8]

CHUNK = 1 << 15  # rows of masks per task: fixed, so that sums are the same on any number of threads
SMALL = 1 << 22  # bytes of masks that one thread processes before others would have started


class Slope(NamedTuple):
    """Log-likelihood per report, and its gradient."""

    value: float
    gradient: Floats


class Mixture(ABC):
    """sum_i counts[i] log (L f)_i / n, as a function of the shares f of `codes` codes."""

    codes: int
    counts: Floats  # all positive
    n: float

    @abstractmethod
    def apply(self, shares: Floats) -> Floats:
        """L f, one density per row."""

    @abstractmethod
    def adjoint(self, rows: Floats) -> Floats:
        """L' r, one number per code."""

    def points(self, places: Floats) -> Floats:
        """The likelihoods of an answer at each place, one column each: code v is all places from v to v + 1."""
        codes, index = np.unique(np.clip(places, 0, self.codes - 1).astype(np.int64), return_inverse=True)
        units = np.zeros((len(codes), self.codes))
        units[np.arange(len(codes)), codes] = 1
        return np.column_stack([self.apply(unit) for unit in units])[:, index]

    def value(self, shares: Floats) -> float:
        """The log-likelihood per report, up to a constant."""
        return self._value(self.apply(shares))

    def _value(self, densities: Floats) -> float:
        if densities.min() <= 0:
            return -np.inf
        return float((self.counts * np.log(densities)).sum() / self.n)  # pairwise sums, unlike those of BLAS

    def slope(self, shares: Floats) -> Slope:
        """Value and gradient. Where the shares sum to one, so does gradient times shares."""
        densities = self.apply(shares)
        value = self._value(densities)
        if value == -np.inf:
            return Slope(value, np.full(self.codes, -np.inf))
        return Slope(value, self.adjoint(self.counts / densities) / self.n)


class Product(Mixture):
    """Independent reports of several mechanisms about the same shares: their likelihoods multiply."""

    def __init__(self, parts: Sequence[Mixture]) -> None:
        self.parts = tuple(parts)
        self.codes, self.n = self.parts[0].codes, sum(part.n for part in self.parts)
        self.counts = np.concatenate([part.counts for part in self.parts])
        self.ends = np.cumsum([len(part.counts) for part in self.parts])[:-1]

    def apply(self, shares: Floats) -> Floats:
        return np.concatenate([part.apply(shares) for part in self.parts])

    def points(self, places: Floats) -> Floats:
        return np.concatenate([part.points(places) for part in self.parts])

    def adjoint(self, rows: Floats) -> Floats:
        pieces = zip(self.parts, np.split(rows, self.ends), strict=True)
        return np.asarray(np.sum([part.adjoint(piece) for part, piece in pieces], axis=0))


class Dense(Mixture):
    """Any likelihoods: one row per kind of report, one column per code."""

    def __init__(self, law: Floats, counts: Floats) -> None:
        self.law, self.counts = law, counts
        self.codes, self.n = law.shape[1], float(counts.sum())

    def apply(self, shares: Floats) -> Floats:
        return np.asarray(self.law @ shares)

    def adjoint(self, rows: Floats) -> Floats:
        return np.asarray(self.law.T @ rows)


class TwoLevels(Mixture):
    """Counted outputs: L is `high` where an output supports a code, else `low`; `seen` are outputs that occurred."""

    def __init__(self, counts: Floats, codes: int, low: float, high: float) -> None:
        self.seen = np.flatnonzero(counts)
        self.counts, self.codes, self.n = counts[self.seen], codes, float(counts.sum())
        self.low, self.rise = low, high - low

    @abstractmethod
    def _supporting(self, shares: Floats) -> Floats:
        """The share of the codes that each output supports."""

    @abstractmethod
    def _supported(self, rows: Floats) -> Floats:
        """The sum of the rows that support each code."""

    def apply(self, shares: Floats) -> Floats:
        return np.asarray(self.low * shares.sum() + self.rise * self._supporting(shares))

    def adjoint(self, rows: Floats) -> Floats:
        return np.asarray(self.low * rows.sum() + self.rise * self._supported(rows))


class Diagonal(TwoLevels):
    """k-ary randomized response: each output supports its own code."""

    def __init__(self, counts: Floats, low: float, high: float) -> None:
        super().__init__(counts, len(counts), low, high)

    def _supporting(self, shares: Floats) -> Floats:
        return shares[self.seen]

    def _supported(self, rows: Floats) -> Floats:
        sums = np.zeros(self.codes)
        sums[self.seen] = rows
        return sums


class Hadamard(TwoLevels):
    """Hadamard response: the half of its group that a code's row marks with +1 supports it."""

    def __init__(self, counts: Floats, sets: HadamardSets, low: float, high: float) -> None:
        super().__init__(counts, sets.codes, low, high)
        codes = np.arange(sets.codes)
        self.shape, self.groups, self.rows = (sets.groups, sets.order), codes % sets.groups, codes // sets.groups + 1

    def _supporting(self, shares: Floats) -> Floats:
        table = np.zeros(self.shape)
        table[self.groups, self.rows] = shares
        table[:, 0] = np.bincount(self.groups, shares, len(table))  # row 0 is constant: half of all, plus
        return np.asarray(walsh(table).ravel()[self.seen] / 2)

    def _supported(self, rows: Floats) -> Floats:
        table = np.zeros(self.shape)
        table.ravel()[self.seen] = rows
        sums = walsh(table)
        return np.asarray((sums[self.groups, 0] + sums[self.groups, self.rows]) / 2)


class Pool(TwoLevels):
    """A balanced pool of public maps: cell (s, y) supports the codes that map s sends to y.

    The value of code v under map s is the inner product of their digits, so the digits of one are turned into those
    of the other one by one, in either direction (`pool.transformed`).
    """

    def __init__(self, counts: Floats, chosen: PoolMap, low: float, high: float) -> None:
        super().__init__(counts, chosen.k, low, high)
        self.chosen = chosen
        self.firsts = slice(0, chosen.k * chosen.g, chosen.g)  # value 0 of each code
        seeds, values = np.divmod(self.seen, chosen.g)
        self.mirrored = seeds * chosen.g + (values if polynomial(chosen.g) > 0 else -values % chosen.g)

    def _supporting(self, shares: Floats) -> Floats:
        table = np.zeros(self.chosen.seeds * self.chosen.g)
        table[self.firsts] = shares
        return np.asarray(transformed(self.chosen, table)[self.mirrored])

    def _supported(self, rows: Floats) -> Floats:
        table = np.zeros(self.chosen.seeds * self.chosen.g)
        table[self.seen] = rows
        return np.asarray(transformed(self.chosen, table)[self.firsts])


class Masks(Mixture):
    """Reports that support some codes: L is high[v] where report i supports v, else low[v].

    The supports are packed, eight codes to a byte. A product with f looks up, for each byte, the sum of the shares
    that it selects among its 256; the transposed product first adds the rows up by the value of their byte. So a
    product takes one operation for eight codes.
    """

    def __init__(self, packed: Bytes, counts: Floats, low: Floats, high: Floats) -> None:
        self.packed = np.ascontiguousarray(packed)
        self.counts, self.codes, self.n = counts, len(low), float(counts.sum())
        self.low, self.rise = low, high - low
        self.threads = 1 if packed.size < SMALL else None
        values = np.arange(256, dtype=np.uint8)
        self.select = np.unpackbits(values[:, None], axis=1, bitorder="little").astype(np.float64)

    def _octets(self, values: Floats) -> Floats:
        """One row of eight for each byte of the masks."""
        padded = np.zeros(8 * self.packed.shape[1])
        padded[: self.codes] = values
        return padded.reshape(-1, 8)

    def apply(self, shares: Floats) -> Floats:
        tables = np.einsum("bj,vj->bv", self._octets(self.rise * shares), self.select)
        out = np.empty(len(self.packed))
        base = float(self.low @ shares)
        run(lambda start, stop: _look_up(self.packed, tables, base, start, stop, out), len(out), CHUNK, self.threads)
        return out

    def adjoint(self, rows: Floats) -> Floats:
        def work(start: int, stop: int) -> Floats:
            sums = np.zeros((self.packed.shape[1], 256))
            _add_up(self.packed, rows, start, stop, sums)
            return sums

        sums = np.sum(run(work, len(rows), CHUNK, self.threads), axis=0)
        supported = np.einsum("bv,vj->bj", sums, self.select).ravel()[: self.codes]
        return np.asarray(self.low * rows.sum() + self.rise * supported)


@compiled
def _look_up(packed, tables, base, start, stop, out):
    for i in range(start, stop):
        total = base
        for b in range(packed.shape[1]):
            total += tables[b, packed[i, b]]
        out[i] = total


@compiled
def _add_up(packed, rows, start, stop, sums):
    for i in range(start, stop):
        row = rows[i]
        for b in range(packed.shape[1]):
            sums[b, packed[i, b]] += row
