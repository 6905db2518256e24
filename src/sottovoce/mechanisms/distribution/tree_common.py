"""What methods over bins and hierarchies share: the best channel for the nodes of one level."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import Any

from sottovoce.core.arithmetic.field import MAX_ORDER, digits, is_order
from sottovoce.core.arithmetic.rational import UNIT, floor_unit
from sottovoce.core.channel import Block, Channel, Mix, NodeSets, PoolSets
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.mechanisms.distribution.common import coded

MOST_LEAVES = 1 << 11  # standard errors of all of them take the cube of their number
MAX_OUTPUTS = 1 << 15  # of a pool of more than two values: cells of a tally


def leaves(owner: str, domain: Domain, buckets: int | None) -> Domain:
    """The domain whose codes are the leaves."""
    view = coded(owner, domain, buckets)
    if (view.size or 0) > MOST_LEAVES:
        raise ParameterError(
            f"The 'buckets' parameter of {owner} must be an integer in [2, {MOST_LEAVES}]. Got {view.size}"
            f"{'' if buckets else ', the number of values of the domain'}."
        )
    return view


def node_block(e: Fraction, codes: int, width: int) -> Block:
    """Randomized response on the nodes of a level, or a pool of public maps of them: whichever has less variance."""
    direct = NodeSets(codes, width)
    # The best order is about e + 1, where it fits; the next one that does may be larger.
    pools = (_pool(codes, width, g) for g in _orders() if g <= 4 * e + 4 and _fits(direct.nodes, g))
    options: list[NodeSets | PoolSets] = [direct, *pools]
    return min((block(e, sets) for sets in options), key=lambda one: (share_variance(one), one.outputs))


def block(e: Fraction, sets: NodeSets | PoolSets) -> Block:
    """The block over these sets whose likelihood ratio is e."""
    rest = sets.outputs - sets.size
    return Block(sets, floor_unit(e * sets.size / (e * sets.size + rest)))


def share_variance(channel: Block) -> float:
    """n times the variance of the share of a node where all are equally common: t (1 - t) / (p - q)**2.

    A report lies in the set of its own node with p, of another one with q, and in that of a given node with t.
    """
    sets: Any = channel.sets
    own = channel.inside / UNIT
    other = 1 / sets.g if isinstance(sets, PoolSets) else (1 - own) / (sets.outputs - 1)
    rate = other + (own - other) / sets.nodes
    return float(rate * (1 - rate) / (own - other) ** 2)


@lru_cache(maxsize=1)
def _orders() -> list[int]:
    """All field orders."""
    return [g for g in range(2, MAX_ORDER + 1) if is_order(g)]


def _fits(nodes: int, g: int) -> bool:
    """Whether a tally of the pool is small; that of two values always is."""
    return g == 2 or int(g ** (digits(nodes, g) + 1)) <= MAX_OUTPUTS


def _pool(codes: int, width: int, g: int) -> PoolSets:
    return PoolSets(codes, width, g, digits(-(-codes // width), g))


def one_of(channels: Sequence[Channel], shares: Sequence[float] | None = None) -> Channel:
    """Each participant answers through one of the channels, all equally likely or by shares; the report shows which."""
    if len(channels) == 1:
        return channels[0]
    if shares is None:
        weight, rest = divmod(UNIT, len(channels))
        return Mix(tuple(weight + (place < rest) for place in range(len(channels))), tuple(channels))
    # Weights are whole numbers over UNIT; what rounding leaves goes to the last channel.
    weights = [max(1, round(UNIT * share / sum(shares))) for share in shares[:-1]]
    return Mix((*weights, UNIT - sum(weights)), tuple(channels))


def range_shares(channels: Sequence[Block], widths: Sequence[int], codes: int) -> list[float]:
    """The shares of participants of each level that make the variance of a range least, if nodes are summed.

    `widths` are the leaves of a node on each level, from the root down. A range is the sum of the nodes inside it whose
    parents are not. With c nodes of a level in an average range, and v the variance of a node, shares in proportion to
    sqrt(c v) are best.
    """
    parents = (codes, *widths[:-1])
    used = [
        _ranges_around(codes, width) - _ranges_around(codes, parent, width)
        for parent, width in zip(parents, widths, strict=True)
    ]
    return [sqrt(count * share_variance(channel)) for count, channel in zip(used, channels, strict=True)]


def _ranges_around(codes: int, width: int, step: int | None = None) -> int:
    """How many ranges contain a node of so many leaves, summed over all nodes; with `step` over all its children."""
    total = 0
    for start in range(0, codes, step or width):
        first = start - start % width
        total += (first + 1) * (codes - min(first + width, codes) + 1)
    return total
