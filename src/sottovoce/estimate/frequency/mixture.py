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
from sottovoce.estimate.frequency.pool import one_digit
from sottovoce.estimate.frequency.walsh import walsh
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.compose.public import product_table
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
        return np.column_stack([self.apply(one) for one in units])[:, index]

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


class Diagonal(Mixture):
    """k-ary randomized response: L is `low` everywhere and `high` on the diagonal."""

    def __init__(self, counts: Floats, low: float, high: float) -> None:
        self.seen = np.flatnonzero(counts)
        self.counts, self.codes, self.n = counts[self.seen], len(counts), float(counts.sum())
        self.low, self.high = low, high

    def apply(self, shares: Floats) -> Floats:
        return np.asarray(self.low * shares.sum() + (self.high - self.low) * shares[self.seen])

    def adjoint(self, rows: Floats) -> Floats:
        result = np.full(self.codes, self.low * rows.sum())
        result[self.seen] += (self.high - self.low) * rows
        return result


class Hadamard(Mixture):
    """Hadamard response: `high` on the half of its group that a code's row marks with +1, else `low`."""

    def __init__(self, counts: Floats, sets: HadamardSets, low: float, high: float) -> None:
        self.seen = np.flatnonzero(counts)
        self.counts, self.codes, self.n = counts[self.seen], sets.codes, float(counts.sum())
        self.sets, self.low, self.high = sets, low, high
        codes = np.arange(sets.codes)
        self.groups, self.rows = codes % sets.groups, codes // sets.groups + 1

    def _blank(self) -> Floats:
        return np.zeros((self.sets.groups, self.sets.order))

    def apply(self, shares: Floats) -> Floats:
        table = self._blank()
        table[self.groups, self.rows] = shares
        table[:, 0] = np.bincount(self.groups, shares, self.sets.groups)  # row 0 is constant: half of all, plus
        members = walsh(table).ravel()[self.seen] / 2
        return np.asarray(self.low * shares.sum() + (self.high - self.low) * members)

    def adjoint(self, rows: Floats) -> Floats:
        table = self._blank()
        table.ravel()[self.seen] = rows
        sums = walsh(table)
        members = (sums[self.groups, 0] + sums[self.groups, self.rows]) / 2
        return np.asarray(self.low * rows.sum() + (self.high - self.low) * members)


class Pool(Mixture):
    """A balanced pool of public maps: in cell (s, y), L is `high` for the codes that map s sends to y, else `low`.

    The value of code v under map s is the inner product of their digits, so the digits of one are turned into those
    of the other one by one, in either direction (`sottovoce.estimate.frequency.pool`).
    """

    def __init__(self, counts: Floats, chosen: PoolMap, low: float, high: float) -> None:
        self.seen = np.flatnonzero(counts)
        self.counts, self.codes, self.n = counts[self.seen], chosen.k, float(counts.sum())
        self.chosen, self.low, self.high = chosen, low, high
        self.products, self.binary = product_table(chosen.g), polynomial(chosen.g) > 0
        seeds, values = np.divmod(self.seen, chosen.g)
        self.mirrored = seeds * chosen.g + (values if self.binary else -values % chosen.g)

    def _transform(self, table: Floats) -> Floats:
        """Into [v, y] goes the sum over s of [s, y + s . v]; both sides are numbered alike."""
        g, following = self.chosen.g, np.empty_like(table)
        for digit in range(self.chosen.digits):
            after = g**digit
            one_digit(table, following, self.chosen.seeds // (after * g), after, g, self.products, self.binary)
            table, following = following, table
        return table

    def apply(self, shares: Floats) -> Floats:
        table = np.zeros(self.chosen.seeds * self.chosen.g)
        table[: self.codes * self.chosen.g : self.chosen.g] = shares
        members = self._transform(table)[self.mirrored]
        return np.asarray(self.low * shares.sum() + (self.high - self.low) * members)

    def adjoint(self, rows: Floats) -> Floats:
        table = np.zeros(self.chosen.seeds * self.chosen.g)
        table[self.seen] = rows
        supported = self._transform(table)[: self.codes * self.chosen.g : self.chosen.g]
        return np.asarray(self.low * rows.sum() + (self.high - self.low) * supported)


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
