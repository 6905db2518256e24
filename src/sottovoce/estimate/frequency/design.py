"""The rows of a sketch or cohorts: counts of positions, and which of them each value sets.

In row c a value sets one position in each block of g, or one with a sign. A report of its row sets a position with
`own` if its value does, else with `other`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import NumberedMap
from sottovoce.core.channel.compose.public import numbered_functions
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.estimate.evidence import Floats, Ints
from sottovoce.estimate.frequency.walsh import walsh
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.compose.public import valuer
from sottovoce.tally.row_draws import position_law

CHUNK = 1 << 21  # positions in memory at a time


@dataclass(frozen=True, eq=False)
class RowCounts:
    """Counts of the positions of each row, and the law of a position.

    Attributes:
        chosen: the public functions; `numbers` are those of the rows.
        counts: one row for each function, one column for each position.
        totals: reports of each row.
        own, other: how often a position is set that the value sets, and any other one.
        blocks: how many positions a value sets, in as many blocks of `length`.
        signed: a value sets one position or clears it, by the lowest bit of its hash.
        exclusive: a report sets one position only; otherwise positions are independent given the value.
    """

    chosen: NumberedMap
    numbers: Ints
    counts: Floats
    totals: Floats
    own: float
    other: float
    blocks: int
    length: int
    signed: bool = False
    exclusive: bool = False

    # --- the law of a column ------------------------------------------------------------------------
    @cached_property
    def slope(self) -> float:
        """How much likelier a position is where the value sets it."""
        return self.own - self.other

    @cached_property
    def norm(self) -> float:
        """The squared length of a value's column in one row."""
        return 1.0 if self.signed else self.blocks * (1 - 1 / self.length)

    @cached_property
    def collisions(self) -> float:
        """The mean square of what a report of another value reads, where functions collide like random ones."""
        return 1 / self.length if self.signed else 1 / (self.blocks * (self.length - 1))

    @cached_property
    def rank(self) -> int:
        """How many columns can be independent."""
        return len(self.counts) * self.blocks * (self.length - (not self.signed))

    @cached_property
    def centred(self) -> Floats:
        """Counts less their mean if all values were equally common."""
        middle = 0.5 if self.signed else self.other + self.slope / self.length
        return np.asarray(self.counts - middle * self.totals[:, None])

    @cached_property
    def noise(self) -> Floats:
        """The variance of each count given the values of the participants; counts themselves where exclusive."""
        if self.exclusive:
            return self.counts
        totals = self.totals[:, None]
        if self.signed:
            return np.broadcast_to(totals / 4, self.counts.shape)
        # Linear in the count, so without bias: own (1 - own) at a rate of `own`, other (1 - other) at `other`.
        return np.asarray(self.own * self.other * totals + (1 - self.own - self.other) * self.counts)

    @cached_property
    def mean_noise(self) -> float:
        """Expected `mean_square` of the centred counts if all shares are tiny."""
        if self.signed:
            return float(self.noise.sum()) / self.length
        # Which row a report is in is chance too; where reports set one position only, the noise has that in it.
        chance = 0.0 if self.exclusive else float(self.totals.sum()) * self.slope**2 * self.norm
        return (float(self.noise.sum()) * (1 - 1 / self.length) + chance) / self.length

    # --- columns ------------------------------------------------------------------------------------
    def some(self, rows: NDArray[Any]) -> RowCounts:
        """Some of the rows."""
        return replace(self, numbers=self.numbers[rows], counts=self.counts[rows], totals=self.totals[rows])

    def places(self, codes: Ints) -> tuple[Ints, Floats]:
        """places[row, block, code], and a sign for each of them."""
        keys = self.numbers.tobytes(), codes.astype(np.int64).tobytes()
        return _places(self.chosen, *keys, None if self.signed else (self.blocks, self.length))

    def chunks(self, codes: Ints) -> Iterator[tuple[slice, Ints, Floats]]:
        """Positions and signs of `places`, some codes at a time."""
        size = max(1, CHUNK // (len(self.numbers) * self.blocks))
        for start in range(0, len(codes), size):
            part = slice(start, start + size)
            yield part, *self.places(codes[part])

    def gathered(self, table: Floats, codes: Ints) -> Floats:
        """Sum of a table over the positions of each code's column, with its signs."""
        sums, table = np.zeros(len(codes)), np.ascontiguousarray(table)
        for part, places, signs in self.chunks(codes):
            _gather(places, np.ascontiguousarray(np.broadcast_to(signs, places.shape)), table, sums[part])
        return sums

    def cleared(self, codes: Ints) -> Floats:
        """Reports in the rows where the sign of a code is -1, for each code."""
        cleared = np.empty(len(codes))
        for part, _, signs in self.chunks(codes):
            cleared[part] = (self.totals[:, None] * (signs[:, 0] < 0)).sum(axis=0)
        return cleared

    def meetings(self, codes: Ints, weights: Floats) -> Floats:
        """The columns times each other, not centred, with a weight for each position of each row."""
        places, signs = self.places(codes)
        products = np.zeros((len(codes), len(codes)))
        order, ends = np.empty(len(codes), np.int64), np.empty(weights.shape[1] + 1, np.int64)
        signs = np.ascontiguousarray(np.broadcast_to(signs[:, 0], (len(places), len(codes))))
        _meet(places, signs, np.ascontiguousarray(weights), order, ends, products)
        return products

    def mixed(self, codes: Ints, shares: Floats) -> Floats:
        """The columns, not centred, times a share each, and added up: a table of the positions."""
        size = self.counts.size
        table, starts = np.zeros(size), np.arange(len(self.numbers))[:, None, None] * self.counts.shape[1]
        for part, places, signs in self.chunks(codes):
            weights = np.broadcast_to(signs * shares[part], places.shape)
            table += np.bincount((starts + places).ravel(), weights.ravel(), size)
        return table.reshape(self.counts.shape)

    # --- sums of products with centred columns --------------------------------------------------------
    def products(self, table: Floats, codes: Ints) -> Floats:
        """Each centred column times a table."""
        sums = self.gathered(table, codes)
        return sums if self.signed else sums - table.sum() / self.length

    def mean_square(self, table: Floats) -> float:
        """The mean square of the product of a table with the column of a code that is drawn at random."""
        if not self.signed:
            table = table.reshape(len(table), self.blocks, self.length)
            table = table - table.mean(axis=2, keepdims=True)
        return float((table**2).sum()) / self.length

    def gram(self, codes: Ints) -> Floats:
        """Centred columns times each other, in units of the squared length of one of them."""
        products = self.meetings(codes, np.broadcast_to(1.0, self.counts.shape))
        if not self.signed:
            products -= len(self.numbers) * self.blocks / self.length
        return np.asarray(products / (len(self.numbers) * self.norm))

    def spread(self, codes: Ints) -> Floats:
        """The covariance of the products of the centred columns with the counts."""
        covariance = self.meetings(codes, self.noise)
        if not self.signed:
            sums = self.gathered(self.noise, codes) / self.length
            covariance += self.noise.sum() / self.length**2 - sums[:, None] - sums[None, :]
        if self.exclusive:
            means = self._means(codes)
            covariance -= (means * self.totals[:, None]).T @ means
        return np.asarray(covariance, np.float64)

    def spreads(self, codes: Ints) -> Floats:
        """The diagonal of `spread`."""
        if self.signed:
            return np.full(len(codes), float(self.totals.sum()) / 4)
        variances: Floats = self.gathered(self.noise, codes) * (1 - 2 / self.length) + self.noise.sum() / self.length**2
        if self.exclusive:
            size = max(1, CHUNK // len(self.numbers))
            for start in range(0, len(codes), size):
                part = slice(start, start + size)
                variances[part] -= (self._means(codes[part]) ** 2 * self.totals[:, None]).sum(axis=0)
        return variances

    def _means(self, codes: Ints) -> Floats:
        """The mean of each centred column over the reports of a row."""
        shares = self.counts / np.maximum(self.totals, 1)[:, None]
        places, _ = self.places(codes)
        return np.asarray(shares[np.arange(len(self.numbers))[:, None], places[:, 0]] - 1 / self.length)


@compiled
def _gather(places, signs, table, sums):  # type: ignore[no-untyped-def]
    """Adds to each code what the table has at its positions."""
    rows, blocks, codes = places.shape
    for row in range(rows):
        for block in range(blocks):
            for code in range(codes):
                sums[code] += signs[row, block, code] * table[row, places[row, block, code]]


@compiled
def _meet(places, signs, weights, order, ends, products):  # type: ignore[no-untyped-def]
    """Adds the weight of every position to each pair of codes that meet there, by sorting the codes by position."""
    rows, blocks, codes = places.shape
    for row in range(rows):
        for block in range(blocks):
            ends[:] = 0
            for code in range(codes):
                ends[places[row, block, code] + 1] += 1
            for place in range(1, ends.shape[0]):
                ends[place] += ends[place - 1]
            # From here on ends[place] is where the next code of a place goes: at last, where its codes end.
            for code in range(codes):
                place = places[row, block, code]
                order[ends[place]] = code
                ends[place] += 1
            start = 0
            for place in range(ends.shape[0] - 1):
                weight = weights[row, place]
                for first in range(start, ends[place]):
                    sign = weight * signs[row, order[first]]
                    for second in range(start, first + 1):
                        products[order[first], order[second]] += sign * signs[row, order[second]]
                start = ends[place]
    for first in range(codes):
        for second in range(first):
            products[second, first] = products[first, second]


@lru_cache(maxsize=1)
def _places(chosen: NumberedMap, numbers: bytes, codes: bytes, blocks: tuple[int, int] | None) -> tuple[Ints, Floats]:
    """Positions and signs, kept for the next question: values and their errors are read at the same ones."""
    rows, wanted = np.frombuffer(numbers, np.int64), np.frombuffer(codes, np.int64).astype(np.uint32)
    hashed = valuer(chosen)(np.repeat(rows, len(wanted)), np.tile(wanted, len(rows)))
    left = hashed.reshape(len(rows), len(wanted))
    if blocks is None:
        return (left >> 1).astype(np.int64)[:, None], np.where(left & 1, -1.0, 1.0)[:, None]
    places = np.empty((len(rows), blocks[0], len(wanted)), np.int64)
    for block in range(blocks[0]):  # digits; unsigned quotients are much faster than remainders
        rest = left // np.uint32(blocks[1])
        places[:, block] = left - rest * np.uint32(blocks[1])
        places[:, block] += block * blocks[1]
        left = rest
    return places, np.ones((1, 1, 1))


def rows_of(mechanism: Mechanism, cells: Ints) -> RowCounts:
    """The rows of a tally whose reports are counted for each public function."""
    chosen, inner = numbered_functions(mechanism.channel)
    table = cells.reshape(chosen.seeds, -1).astype(np.float64)
    law = position_law(inner)
    if isinstance(mechanism.statistic, CountCohorts):
        counts, totals = table[:, 1:], table[:, 0]
    else:
        counts, totals = table, table.sum(axis=1)
        if not law[-1]:  # a report stands for a half of all positions, not for one
            counts = (totals[:, None] + walsh(table)[:, 1 : inner.inputs + 1]) / 2
    return RowCounts(chosen, np.arange(chosen.seeds), counts, totals, *law)
