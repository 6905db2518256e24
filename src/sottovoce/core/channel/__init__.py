"""Channel nodes: the few building blocks whose composition is every mechanism. Each is loaded when first used."""

from typing import TYPE_CHECKING, Any

from sottovoce.core.channel.base import Channel, Contrast, Rates, channel_from_spec
from sottovoce.core.late import load

if TYPE_CHECKING:
    from sottovoce.core.channel.bits import Bits
    from sottovoce.core.channel.block import Block, HadamardSets
    from sottovoce.core.channel.compose import Chain, Then
    from sottovoce.core.channel.public import HashMap, PoolMap, Public
    from sottovoce.core.channel.subset import Subset
    from sottovoce.core.channel.table import Table

_HOMES = {
    "Bits": "bits",
    "Block": "block",
    "HadamardSets": "block",
    "Chain": "compose",
    "Then": "compose",
    "HashMap": "public",
    "PoolMap": "public",
    "Public": "public",
    "Subset": "subset",
    "Table": "table",
}

__all__ = [
    "Bits",
    "Block",
    "Chain",
    "Channel",
    "Contrast",
    "HadamardSets",
    "HashMap",
    "PoolMap",
    "Public",
    "Rates",
    "Subset",
    "Table",
    "Then",
    "channel_from_spec",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(f"core.channel.{_HOMES[name]}:{name}")
