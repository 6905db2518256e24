"""Channel nodes: the few building blocks whose composition is every mechanism. Each is loaded when first used."""

from typing import TYPE_CHECKING, Any

from sottovoce.core.channel.base import Channel, Contrast, Rates, Scale, channel_from_spec
from sottovoce.core.late import load

if TYPE_CHECKING:
    from sottovoce.core.channel.compose.cohorts import Cohorts
    from sottovoce.core.channel.compose.each import Each
    from sottovoce.core.channel.compose.keyed import Keyed
    from sottovoce.core.channel.compose.mix import Mix
    from sottovoce.core.channel.compose.public import HashMap, PoolMap, Public
    from sottovoce.core.channel.compose.stages import Chain, Then
    from sottovoce.core.channel.finite.bits import Bits
    from sottovoce.core.channel.finite.block import Block, HadamardSets
    from sottovoce.core.channel.finite.subset import Subset
    from sottovoce.core.channel.finite.table import Table
    from sottovoce.core.channel.numeric.noise import Noise
    from sottovoce.core.channel.numeric.rounding import Rounding
    from sottovoce.core.channel.numeric.window import Window
    from sottovoce.core.channel.vector.half_space import HalfSpace
    from sottovoce.core.channel.vector.hints import Hints
    from sottovoce.core.channel.vector.place import Place, SignedSets, Slots
    from sottovoce.core.channel.vector.projected import Projected
    from sottovoce.core.channel.vector.sampled import Some
    from sottovoce.core.channel.vector.signs import Signs
    from sottovoce.core.channel.vector.sphere import Cap

_HOMES = {
    "Bits": "finite.bits",
    "Block": "finite.block",
    "HadamardSets": "finite.block",
    "Cap": "vector.sphere",
    "Chain": "compose.stages",
    "Then": "compose.stages",
    "Cohorts": "compose.cohorts",
    "Each": "compose.each",
    "HalfSpace": "vector.half_space",
    "Hints": "vector.hints",
    "Keyed": "compose.keyed",
    "Mix": "compose.mix",
    "Noise": "numeric.noise",
    "Place": "vector.place",
    "SignedSets": "vector.place",
    "Slots": "vector.place",
    "Projected": "vector.projected",
    "HashMap": "compose.public",
    "PoolMap": "compose.public",
    "Public": "compose.public",
    "Rounding": "numeric.rounding",
    "Signs": "vector.signs",
    "Some": "vector.sampled",
    "Subset": "finite.subset",
    "Table": "finite.table",
    "Window": "numeric.window",
}

__all__ = [
    "Bits",
    "Block",
    "Cap",
    "Chain",
    "Channel",
    "Cohorts",
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
