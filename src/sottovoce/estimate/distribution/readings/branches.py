"""The reports about one level of a hierarchy: sums over the public sets of its nodes, and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sottovoce.core.arithmetic.field import polynomial
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Channel, NodeSets, PoolMap, PoolSets
from sottovoce.core.channel.shapes import alternatives_of, block_of
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.frequency.mixture import Pool
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.compose.public import product_table


@dataclass(frozen=True, slots=True)
class LevelReports:
    """A part of the participants, who answer about the nodes of one level, each node an output of its own.

    Attributes:
        sets: the public sets of the nodes.
        inside: how often a report lies in the set of its own node.
        share: the share of the participants.
        start: the first of its cells.
    """

    sets: NodeSets | PoolSets
    inside: float
    share: float
    start: int

    @property
    def cells(self) -> slice:
        """Cells of a tally that belong to the branch."""
        return slice(self.start, self.start + self.sets.outputs)

    @property
    def differences(self) -> bool:
        """Whether reports are about differences of siblings only."""
        return False

    @property
    def other(self) -> float:
        """How often a report lies in the set of a node that is neither its own nor, for differences, a sibling."""
        return (1 - self.inside) / (self.sets.outputs - 1)

    @property
    def slope(self) -> float:
        """The rise of this rate, from another node to the own one."""
        return self.inside - self.other

    @property
    def information(self) -> float:
        """About the share of a node, per report: one over its variance where all nodes are equally common, times the
        part of that variance that remains where the sum of all is known."""
        rate = self.other + self.slope / self.sets.nodes
        return float((1 - 1 / self.sets.nodes) * self.slope**2 / (rate * (1 - rate)))

    @property
    def levels(self) -> tuple[float, float]:
        """The likelihood of a report outside and inside the set of its node."""
        sets = self.sets
        return (1 - self.inside) / (sets.outputs - sets.size), self.inside / sets.size

    def gather(self, rows: Floats) -> Floats:
        """For each node the sum over the reports in its set."""
        return rows

    def spread(self, values: Floats) -> Floats:
        """For each report the sum over the nodes in whose sets it lies."""
        return values

    def joint(self, rows: Floats) -> Floats:
        """For each pair of nodes the sum over the reports that lie in the sets of both."""
        return np.diag(rows)

    def law(self, shares: Floats) -> Floats:
        """The probability of each report of a participant of this branch, given the shares of the nodes."""
        low, high = self.levels
        return np.asarray(low * shares.sum() + (high - low) * self.spread(shares))


@dataclass(frozen=True, slots=True)
class PoolReports(LevelReports):
    """Reports about one level through public maps of its nodes."""

    sets: PoolSets

    @property
    def differences(self) -> bool:
        return bool(self.sets.odd)

    @property
    def other(self) -> float:
        return 1 / self.sets.g

    @property
    def _pool(self) -> Pool:
        return _pool(self.sets.nodes, self.sets.g, self.sets.digits)

    def gather(self, rows: Floats) -> Floats:
        if not self.sets.odd:
            return self._pool.adjoint(rows)
        table = np.zeros((2 * self.sets.maps, 2))
        table[1::2] = rows.reshape(-1, 2)
        return self._pool.adjoint(table.ravel())

    def spread(self, values: Floats) -> Floats:
        sums = self._pool.apply(values)
        return sums.reshape(-1, 2)[1::2].ravel() if self.sets.odd else sums

    def joint(self, rows: Floats) -> Floats:
        sets = self.sets
        pairs, places = np.zeros((sets.nodes, sets.nodes)), np.empty((sets.maps, sets.nodes), np.int64)
        _values(places, sets.g, sets.digits, sets.odd, product_table(sets.g), polynomial(sets.g) > 0)
        _add_pairs(places, rows.reshape(sets.maps, sets.g), pairs)
        return pairs + np.tril(pairs, -1).T


@compiled
def _values(places, g, digits, odd, products, binary):
    """The value of each node under each map (`core.arithmetic.field.dot`)."""
    for number in range(places.shape[0]):
        for node in range(places.shape[1]):
            a, b, value = (number << odd) | odd, node, np.int64(0)
            for _ in range(digits):
                if binary:
                    value ^= np.int64(products[a % g, b % g])
                else:
                    value = (value + (a % g) * (b % g)) % g
                a //= g
                b //= g
            places[number, node] = value


@compiled
def _add_pairs(places, rates, pairs):
    """Nodes of equal value are in the same sets; only pairs whose first node is not before the second are filled."""
    maps, nodes = places.shape
    g = rates.shape[1]
    alike = np.empty((g, nodes), np.int64)
    for number in range(maps):
        count = np.zeros(g, np.int64)
        for node in range(nodes):
            value = places[number, node]
            alike[value, count[value]] = node
            count[value] += 1
            rate = rates[number, value]
            for place in range(count[value]):
                pairs[node, alike[value, place]] += rate


LEVELS = {NodeSets.kind: LevelReports, PoolSets.kind: PoolReports}


@lru_cache(maxsize=64)
def _pool(nodes: int, g: int, digits: int) -> Pool:
    """Sums over the sets of all maps of a pool."""
    return Pool(np.ones(g ** (digits + 1)), PoolMap(nodes, g, digits), 0.0, 1.0)


def branches_of(channel: Channel) -> tuple[LevelReports, ...]:
    """The branches of a channel, one for each level; none where it is not of this shape."""
    branches: list[LevelReports] = []
    start = 0
    for weight, part in alternatives_of(channel):
        block = block_of(part)
        sets = None if block is None else block.sets
        if block is None or not isinstance(sets, (NodeSets, PoolSets)):
            return ()
        kind = LEVELS[sets.kind]
        branches.append(kind(sets, block.inside / UNIT, weight / UNIT, start))  # type: ignore[arg-type]
        start += sets.outputs
    return tuple(branches)
