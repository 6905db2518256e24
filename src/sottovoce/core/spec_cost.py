"""The cost of reading a specification, bounded from sizes alone before anything is computed.

A specification may be untrusted. A few kilobytes can describe a channel whose ratio takes hours to compute, or
one for which a device draws ids for ever. One budget covers all of it; specifications that exceed it are refused.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

from sottovoce.core.channel import NODES
from sottovoce.core.channel.base import Channel, nested
from sottovoce.core.channel.closed_forms import MAX_PAIRED, MAX_SUMMED
from sottovoce.core.channel.facets import Costed, PublicCoins, facet, outputs_of
from sottovoce.core.errors import SpecError
from sottovoce.core.params import count_text

MAX_NODES = 1 << 12  # of a channel
MAX_STEPS = 1 << 16  # of exact arithmetic, of about five microseconds each; long texts have more
_BYTES = 4  # of a text for each further step
MAX_TRIES = 16  # ids that a device draws until one is accepted, on average
MAX_WORDS = 1 << 22  # random words of one report
MAX_PAYLOAD = 1 << 24  # bits of one report
MAX_DESIGN = 1 << 21  # steps that the rounds of all protocols of a text may take: about ten seconds
ROUNDS_EFFORT = 1 << 10  # of a protocol with a few arms in closed form
ARM_EFFORT = 1 << 6  # of one arm in closed form
VECTORS = {kind for kind, home in NODES.items() if ".vector." in home}  # nodes that stand for many numbers
HUGE = 1 << 64


class Effort(NamedTuple):
    """Bounds on the cost of a channel's closed forms, in steps: products of two fractions of a few words."""

    bits: int = 128  # of a likelihood
    likelihood: int = 1
    ratio: int = 1
    ratio_bits: int = 256
    extremes: int = 1
    delta: int = 1


def steps(bits: int) -> int:
    """The steps of one product of fractions of `bits` bits, reduced to lowest terms."""
    return min(HUGE, 1 + (bits >> 8) + (bits * bits >> 19))


def short_steps(bits: int) -> int:
    """The steps of a product with a short fraction."""
    return min(HUGE, 1 + (bits >> 11))


def effort(channel: Channel) -> Effort:
    """What the closed forms cost; by default of a node whose ratio and likelihood are short formulas."""
    costed = facet(channel, Costed)
    return summed(channel, Effort()) if costed is None else costed.effort()


def summed(channel: Channel, known: Effort) -> Effort:
    """An effort with the cost of extremes and delta where they are computed from the law."""
    outputs = outputs_of(channel)
    if outputs is None or channel.publics:  # they refuse at once
        return known._replace(extremes=1, delta=1)
    entries = channel.inputs * outputs
    law, pairs = entries * known.likelihood * steps(known.bits), entries * channel.inputs
    return known._replace(
        extremes=1 if entries > MAX_SUMMED else law,
        delta=1 if pairs > MAX_PAIRED else law + pairs * steps(known.bits + 256),
    )


def tries(channel: Channel) -> Fraction:
    """The mean number of ids that a device draws until one is accepted: nodes read independent words of the id."""
    readers = (facet(node, PublicCoins) for node in (channel, *nested(channel)))
    return prod((reader.tries for reader in readers if reader is not None), start=Fraction(1))


def check_nodes(plain: object) -> None:
    """Refuse too many nodes before any of them is built."""
    nodes = list(_nodes(plain))
    if len(nodes) > MAX_NODES:
        raise SpecError(f"The channel of a specification has at most {MAX_NODES} nodes. Got {len(nodes)}.")
    vectors = sum(node in VECTORS for node in nodes)
    if vectors > 1 + ("projected" in nodes):  # a projected channel holds another one
        raise SpecError(f"A specification holds one channel for vectors. Got {vectors}.")


def _nodes(plain: object) -> list[Any]:
    """The kinds of all nodes in plain data."""
    kinds: list[Any] = []
    left: list[Any] = [plain]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            if isinstance(item.get("node"), str):
                kinds.append(item["node"])
            left += item.values()
        elif isinstance(item, list):
            left += item
    return kinds


class Budget:
    """The exact arithmetic that is left for a text or file of `size` bytes, however many specifications it holds."""

    __slots__ = ("_left", "_left_for_rounds")

    def __init__(self, size: int) -> None:
        self._left = MAX_STEPS + size // _BYTES
        self._left_for_rounds = MAX_DESIGN

    def spend(self, needed: int) -> None:
        """Spend steps, or refuse if too few are left."""
        _check("steps of exact arithmetic to find its privacy loss", needed, self._left)
        self._left -= needed

    def spend_on_rounds(self, needed: int) -> None:
        """Spend steps on what a protocol designs between its rounds; they are paid for when the protocol is read."""
        _check("steps of work to find its rounds", needed, self._left_for_rounds)
        self._left_for_rounds -= needed


def check_work(channel: Channel, needed: int, budget: Budget) -> None:
    """Refuse a channel that a device should not compute with, with an error that names the resource and its limit.

    `needed` are the steps of its guarantee's check.
    """
    drawn = tries(channel)
    budget.spend(needed)
    _check("random words for a report", channel.words, MAX_WORDS)
    _check("bits for a report", channel.payload_bits, MAX_PAYLOAD)
    _check("ids drawn until one is accepted, on average,", -(-drawn.numerator // drawn.denominator), MAX_TRIES)


def _check(what: str, needed: int, most: int) -> None:
    if needed > most:
        raise SpecError(f"This specification needs {count_text(needed)} {what} where {most} are allowed.")
