"""Channel nodes: the few building blocks whose composition is every mechanism."""

from sottovoce.core.channel.base import Channel, Contrast, Rates, channel_from_spec
from sottovoce.core.channel.bits import Bits
from sottovoce.core.channel.block import Block, HadamardSets
from sottovoce.core.channel.compose import Chain, Then
from sottovoce.core.channel.public import HashMap, Public
from sottovoce.core.channel.subset import Subset
from sottovoce.core.channel.table import Table

__all__ = [
    "Bits",
    "Block",
    "Chain",
    "Channel",
    "Contrast",
    "HadamardSets",
    "HashMap",
    "Public",
    "Rates",
    "Subset",
    "Table",
    "Then",
    "channel_from_spec",
]
