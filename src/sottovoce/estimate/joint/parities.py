"""Tables of yes/no attributes from parities: a block of attributes tells the parities of many sets at once.

The parity of a set A is theta_A, the mean of (-1)**(number of ones in A). A table of k attributes has the shares
2**-k times the sum over its subsets A of theta_A, with the sign of the cell. A report about a block is a value y that
is kept with probability p, and any other one otherwise with q; so the parity of y over lambda = p - q is unbiased for
every A in the span of the block. Reports are weighted by lambda**2: weights depend on numbers of reports alone. Two
parities of one report have the covariance theta_(A xor B) / lambda - theta_A theta_B, where theta of no attribute is
1 / lambda. See `core.channel.compose.parities`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np

from sottovoce.core.channel import ParityMap
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import POOR_BELOW, Flags, Floats, Ints
from sottovoce.estimate.frequency.supports import two_rates
from sottovoce.estimate.joint.residuals import Names, Reported, TableSource, parts
from sottovoce.estimate.request import Target
from sottovoce.fast.kernels.compose.parities import blocks_of

Places = tuple[int, ...]
_CHUNK = 1 << 22  # numbers that are held at once


def ranks(places: Ints, attributes: int) -> Ints:
    """The numbers of sets of attributes, one row each, among all sets of their size."""
    size = places.shape[1]
    later = np.array([[comb(n, r) for r in range(size + 1)] for n in range(attributes + 1)], np.int64)
    rank = np.full(len(places), comb(attributes, size) - 1, np.int64)
    for place in range(size):
        rank -= later[attributes - 1 - places[:, place], size - place]
    return rank


@dataclass(frozen=True, eq=False)
class BlockReports:
    """The reports about all blocks of one form: how often each value of each block was sent."""

    map: ParityMap
    gap: float  # lambda: how much of a parity is left after randomization
    least: float  # the probability of the rarest report
    counts: Ints  # one row for each block

    @classmethod
    def of(cls, mechanism: Mechanism, cells: Ints) -> BlockReports:
        """The reports in the cells of a tally."""
        channel: Any = mechanism.channel  # `Public` with a `ParityMap`
        own, other = two_rates(channel.inner)
        return cls(channel.map, own - other, min(other, 1 - own), np.asarray(cells).reshape(channel.map.seeds, -1))

    @property
    def n(self) -> int:
        """How many reports there are."""
        return int(self.counts.sum())

    def spans(self, size: int) -> bool:
        """Whether reports tell the parities of sets of this size."""
        if self.map.form == "parity":
            return size == self.map.size
        return size <= self.map.size and (self.map.form == "cells" or size % 2 == 0)

    def patterns(self, size: int) -> Iterator[tuple[Ints, Floats]]:
        """For each choice of so many places of a block: the sets of all blocks, and the parity of each value."""
        blocks = blocks_of(self.map.attributes, self.map.size)
        values = np.arange(self.map.outputs)
        first = self.map.size - self.map.digits  # an even block has no bit for its first attribute, which is a zero
        for chosen in combinations(range(self.map.size), size):
            bits = [self.map.digits - 1 - (place - first) for place in chosen if place >= first]
            if self.map.form == "parity":
                bits = [0]
            odd = sum((values >> bit & 1 for bit in bits), np.zeros_like(values)) & 1
            yield ranks(blocks[:, list(chosen)], self.map.attributes), np.asarray(1 - 2 * odd, float)

    def held(self, size: int) -> Ints:
        """For each set of this size the reports whose block holds it."""
        total = np.zeros(comb(self.map.attributes, size), np.int64)
        for sets, _ in self.patterns(size) if size <= self.map.size else ():
            np.add.at(total, sets, self.counts.sum(axis=1))
        return total

    def sums(self, size: int) -> Floats:
        """For each set of this size the sum of the parities of the reports that tell it."""
        total = np.zeros(comb(self.map.attributes, size))
        for sets, signs in self.patterns(size) if self.spans(size) else ():
            np.add.at(total, sets, self.counts @ signs)
        return total


@dataclass(frozen=True, eq=False)
class ParityTables(TableSource):
    """All tables of at most `order` attributes. `names` are the attributes in the order of the blocks."""

    sizes: dict[str, int]
    names: Names
    order: int
    reports: tuple[BlockReports, ...]

    @property
    def n(self) -> int:
        return sum(one.n for one in self.reports)

    def few(self, names: Names) -> Flags:
        """All cells, where too few reports tell the parity of all attributes of a table."""
        place = self._rank(self._places(names))
        usual = sum(
            float(one.least) * kept[len(names)][place] for one, kept in zip(self.reports, self._held, strict=True)
        )
        return np.full([self.sizes[name] for name in names], usual < POOR_BELOW)

    def joined(self, others: Sequence[TableSource]) -> TableSource | None:
        same = [other for other in others if isinstance(other, ParityTables) and other.names == self.names]
        if len(same) < len(others):
            return None
        return replace(self, reports=tuple(one for part in (self, *same) for one in part.reports))

    # --- parities --------------------------------------------------------------------------------
    @cached_property
    def _held(self) -> list[list[Ints]]:
        return [[one.held(size) for size in range(self.order + 1)] for one in self.reports]

    @cached_property
    def _precision(self) -> list[Floats]:
        """For each set, by size, the inverse variance of its parity where all parities are zero."""
        total = [np.zeros(comb(len(self.names), size)) for size in range(self.order + 1)]
        for one, held in zip(self.reports, self._held, strict=True):
            for size in filter(one.spans, range(self.order + 1)):
                total[size] += one.gap**2 * held[size]
        return total

    @cached_property
    def _thetas(self) -> list[Floats]:
        parities = [np.ones(1)]
        for size in range(1, self.order + 1):
            total = sum((one.gap * one.sums(size) for one in self.reports), np.zeros(comb(len(self.names), size)))
            known = self._precision[size]
            parities.append(np.divide(total, known, out=np.zeros_like(total), where=known > 0))
        return parities

    def _places(self, names: Iterable[str]) -> Places:
        return tuple(sorted(self.names.index(name) for name in names))

    def _rank(self, places: Places) -> int:
        return int(ranks(np.array([places], np.int64), len(self.names))[0]) if places else 0

    def parity(self, names: Iterable[str]) -> float:
        """The estimated parity of a set of attributes."""
        places = self._places(names)
        return float(self._thetas[len(places)][self._rank(places)])

    def precision(self, block: Names) -> float:
        """The inverse variance of a parity where all parities are zero."""
        if len(block) > self.order or not {*block} <= {*self.names}:
            return 0.0
        return float(self._precision[len(block)][self._rank(self._places(block))])

    def blocks(self) -> list[Reported]:
        reported = []
        for block in (one for size in range(1, self.order + 1) for one in combinations(self.sizes, size)):
            weight = self.precision(block)
            if weight:
                residual = self.parity(block) * _signs(len(block), range(len(block))) / 2 ** len(block)
                reported.append(Reported(block, residual, weight * 2 ** len(block)))
        return reported

    # --- tables ----------------------------------------------------------------------------------
    def values(self, names: Names) -> Floats:
        self.check(names)
        table = np.ones([2] * len(names))
        for block in parts(names):
            table += self.parity(block) * _signs(len(names), [names.index(name) for name in block])
        return np.asarray(table / 2 ** len(names))

    def variances(self, names: Names, target: Target = Target.POPULATION) -> Floats:
        rows = np.eye(2 ** len(names)).reshape(-1, *[2] * len(names))
        return np.maximum(np.diag(self.covariance([(names, rows)], target)), 0).reshape([2] * len(names))

    def covariance(self, functionals: Sequence[tuple[Names, Floats]], target: Target = Target.POPULATION) -> Floats:
        """The covariance of weighted sums of cells. Each item has a table and rows of weights for all its cells."""
        if len(functionals) > 1:
            self.refuse_sample(target)
            return self._of_several(functionals)
        ((names, rows),) = functionals
        self.check(names)
        blocks = list(parts(names))
        flat = rows.reshape(len(rows), -1)
        signs = [_signs(len(names), [names.index(name) for name in block]).ravel() for block in blocks]
        weights = flat @ np.array(signs).T / 2 ** len(names)
        total = weights @ self._between(blocks) @ weights.T
        if target == Target.SAMPLE:
            total = total - self.spread_of_answers(names, flat)
        return np.asarray(total)

    def _between(self, blocks: Sequence[Names]) -> Floats:
        """The covariance matrix of the parities of sets of attributes that lie in one table."""
        thetas = {frozenset(block): self.parity(block) for block in blocks} | {frozenset[str](): 1.0}
        total = np.zeros((len(blocks), len(blocks)))
        for i, first in enumerate(blocks):
            for j, second in enumerate(blocks[: i + 1]):
                either, differ = {*first} | {*second}, frozenset({*first} ^ {*second})
                place, share = self._rank(self._places(either)), prod(map(self.precision, (first, second)))
                for one, held in zip(self.reports, self._held, strict=True):
                    apart = one.map.form == "parity" and first != second
                    if one.spans(len(first)) and one.spans(len(second)) and not apart:
                        gain = 1 / one.gap**2 if not differ else thetas[differ] / one.gap
                        noise = gain - thetas[frozenset(first)] * thetas[frozenset(second)]
                        total[i, j] += one.gap**4 * float(held[len(either)][place]) / share * noise
                total[j, i] = total[i, j]
        return total

    def _of_several(self, functionals: Sequence[tuple[Names, Floats]]) -> Floats:
        """The covariance of sums over several tables, with the products of parities of the reports themselves."""
        count = len(functionals[0][1])
        by_size = [np.zeros((count, comb(len(self.names), size))) for size in range(self.order + 1)]
        for names, rows in functionals:
            self.check(names)
            for block in parts(names):
                sign = _signs(len(names), [names.index(name) for name in block]).ravel() / 2 ** len(names)
                by_size[len(block)][:, self._rank(self._places(block))] += rows.reshape(count, -1) @ sign
        total = np.zeros((count, count))
        for one in self.reports:
            used = np.flatnonzero(one.counts.sum(axis=1))
            step = max(1, _CHUNK // (count * one.map.outputs))
            for start in range(0, len(used), step):
                total += self._of_blocks(one, used[start : start + step], by_size)
        return total

    def _of_blocks(self, one: BlockReports, chosen: Ints, by_size: Sequence[Floats]) -> Floats:
        count = len(by_size[0])
        scores, means = np.zeros((count, len(chosen), one.map.outputs)), np.zeros((count, len(chosen)))
        for size in (size for size in range(1, self.order + 1) if one.spans(size)):
            known = self._precision[size]
            scale = np.divide(one.gap**2, known, out=np.zeros_like(known), where=known > 0)
            weights = by_size[size] * scale
            for sets, signs in one.patterns(size):
                own = weights[:, sets[chosen]]
                scores += own[:, :, None] * signs / one.gap
                means += own * self._thetas[size][sets[chosen]]
        counts = one.counts[chosen]
        flat = (scores * np.sqrt(counts)).reshape(count, -1)
        means = means * np.sqrt(counts.sum(axis=1))
        return np.asarray(flat @ flat.T - means @ means.T)


def _signs(axes: int, chosen: Iterable[int]) -> Floats:
    """A table with +1 where an even number of the chosen attributes is 1, else -1."""
    table = np.ones([2] * axes)
    for axis in chosen:
        table = table * np.array([1.0, -1.0]).reshape([2 if place == axis else 1 for place in range(axes)])
    return table
