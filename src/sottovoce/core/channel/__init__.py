"""Channel nodes: the few building blocks whose composition is every mechanism. Each is loaded when first used."""

from typing import TYPE_CHECKING, Any

from sottovoce.core.channel.base import Channel, Contrast, Rates, Scale, channel_from_spec
from sottovoce.core.late import load

if TYPE_CHECKING:
    from sottovoce.core.channel.bits import Bits
    from sottovoce.core.channel.block import Block, HadamardSets
    from sottovoce.core.channel.compose import Chain, Then
    from sottovoce.core.channel.each import Each
    from sottovoce.core.channel.half_space import HalfSpace
    from sottovoce.core.channel.hints import Hints
    from sottovoce.core.channel.keyed import Keyed
    from sottovoce.core.channel.mix import Mix
    from sottovoce.core.channel.noise import Noise
    from sottovoce.core.channel.place import Place, SignedSets, Slots
    from sottovoce.core.channel.projected import Projected
    from sottovoce.core.channel.public import HashMap, PoolMap, Public
    from sottovoce.core.channel.rounding import Rounding
    from sottovoce.core.channel.signs import Signs
    from sottovoce.core.channel.some import Some
    from sottovoce.core.channel.sphere import Cap
    from sottovoce.core.channel.subset import Subset
    from sottovoce.core.channel.table import Table
    from sottovoce.core.channel.window import Window

_HOMES = {
    "Bits": "bits",
    "Block": "block",
    "HadamardSets": "block",
    "Cap": "sphere",
    "Chain": "compose",
    "Then": "compose",
    "Each": "each",
    "HalfSpace": "half_space",
    "Hints": "hints",
    "Keyed": "keyed",
    "Mix": "mix",
    "Noise": "noise",
    "Place": "place",
    "SignedSets": "place",
    "Slots": "place",
    "Projected": "projected",
    "HashMap": "public",
    "PoolMap": "public",
    "Public": "public",
    "Rounding": "rounding",
    "Signs": "signs",
    "Some": "some",
    "Subset": "subset",
    "Table": "table",
    "Window": "window",
}

__all__ = [
    "Bits",
    "Block",
    "Cap",
    "Chain",
    "Channel",
    "Contrast",
    "Each",
    "HadamardSets",
    "HalfSpace",
    "HashMap",
    "Hints",
    "Keyed",
    "Mix",
    "Noise",
    "Place",
    "PoolMap",
    "Projected",
    "Public",
    "Rates",
    "Rounding",
    "Scale",
    "SignedSets",
    "Signs",
    "Slots",
    "Some",
    "Subset",
    "Table",
    "Then",
    "Window",
    "channel_from_spec",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(f"core.channel.{_HOMES[name]}:{name}")
