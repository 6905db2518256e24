"""Declarations of a channel that the audit relies on: its codes, its parts and its small instances."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from sottovoce.core.channel import Channel
from sottovoce.core.channel.base import nested

WRONG_CODES = "The channel does not list all codes that it takes."
OTHER_CLASSES = "A small instance is made of other classes than the channel, so it proves nothing."

HIDDEN_PART = "A channel holds another one that it does not list among its parts, so that one is not audited."


def code_problems(channel: Channel) -> Iterator[str]:
    """A code that is not listed would not be audited. Of numbers and tuples, a continuum, only some are listed."""
    codes, taken = channel.codes(), range(channel.inputs)
    if channel.codes_are_indices and codes != taken and any(a != b for a, b in zip_longest(codes, taken)):
        yield WRONG_CODES


def part_problems(channel: Channel) -> Iterator[str]:
    """Memos and public words are searched in the parts, so every part must be listed."""
    for node in (channel, *nested(channel)):
        held = (getattr(node, name) for name in getattr(node, "__dataclass_fields__", ()))
        every = (one for value in held for one in (value if isinstance(value, tuple) else (value,)))
        if {one for one in every if isinstance(one, Channel)} - {*node.parts}:
            yield HIDDEN_PART


def instance_problems(channel: Channel, instance: Channel) -> Iterator[str]:
    """A closed form is proven only on instances made of the same classes as the channel."""
    if _classes(instance) != _classes(channel):
        yield OTHER_CLASSES


def _classes(channel: Channel) -> set[type[Channel]]:
    return {type(part) for part in (channel, *nested(channel))}
