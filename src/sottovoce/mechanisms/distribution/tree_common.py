"""What methods over bins and hierarchies share: the best channel for the nodes of one level."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sottovoce.core.arithmetic.field import MAX_ORDER, is_order
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


def digits(nodes: int, g: int) -> int:
    """How many digits in base g number the nodes."""
    count, reach = 1, g
    while reach < nodes:
        count, reach = count + 1, reach * g
    return count


def _pool(codes: int, width: int, g: int) -> PoolSets:
    return PoolSets(codes, width, g, digits(-(-codes // width), g))


def one_of(channels: Sequence[Channel]) -> Channel:
    """Each participant answers through one of the channels, all equally likely; the report shows which."""
    if len(channels) == 1:
        return channels[0]
    weight, rest = divmod(UNIT, len(channels))
    return Mix(tuple(weight + (place < rest) for place in range(len(channels))), tuple(channels))
