"""Channel nodes: the few building blocks whose composition is every mechanism. Each is loaded when first used."""

from typing import TYPE_CHECKING, Any

from sottovoce.core.late import load

# One line for each node: its kind, and where it lives. `fast/kernels` has the same folders, so the kernels of
# "core.channel.finite.bits:Bits" are those of the module "fast.kernels.finite.bits".
NODES = {
    "bits": "core.channel.finite.bits:Bits",
    "block": "core.channel.finite.block:Block",
    "cap": "core.channel.vector.sphere:Cap",
    "chain": "core.channel.compose.stages:Chain",
    "cohorts": "core.channel.compose.cohorts:Cohorts",
    "each": "core.channel.compose.each:Each",
    "fakes": "core.channel.compose.fakes:Fakes",
    "half-space": "core.channel.vector.half_space:HalfSpace",
    "histogram": "core.channel.compose.histogram:Histogram",
    "hints": "core.channel.vector.hints:Hints",
    "keyed": "core.channel.compose.keyed:Keyed",
    "mix": "core.channel.compose.mix:Mix",
    "noise": "core.channel.numeric.noise:Noise",
    "place": "core.channel.vector.place:Place",
    "projected": "core.channel.vector.projected:Projected",
    "public": "core.channel.compose.public:Public",
    "rounding": "core.channel.numeric.rounding:Rounding",
    "sampled-coordinates": "core.channel.vector.sampled:SampledCoordinates",
    "signs": "core.channel.vector.signs:Signs",
    "sparing": "core.channel.finite.sparing:Sparing",
    "subset": "core.channel.finite.subset:Subset",
    "table": "core.channel.finite.table:Table",
    "then": "core.channel.compose.stages:Then",
    "window": "core.channel.numeric.window:Window",
}
# What nodes are made of beside other nodes, and what every node is.
_OTHERS = (
    "core.channel.base:Channel",
    "core.channel.base:channel_from_spec",
    "core.channel.facets:Contrast",
    "core.channel.facets:Rates",
    "core.channel.facets:Scale",
    "core.channel.compose.public:HashMap",
    "core.channel.compose.maps:NumberedMap",
    "core.channel.compose.public:PoolMap",
    "core.channel.compose.rows:BloomMap",
    "core.channel.compose.rows:PermutationMap",
    "core.channel.compose.rows:RowMap",
    "core.channel.compose.maps:AskedMap",
    "core.channel.compose.maps:MultiplierMap",
    "core.channel.finite.block:ArcSets",
    "core.channel.finite.block:HadamardSets",
    "core.channel.finite.tree_sets:NodeSets",
    "core.channel.finite.tree_sets:PoolSets",
    "core.channel.finite.sets:ProjectiveSets",
    "core.channel.finite.patterns:ListedSets",
    "core.channel.finite.patterns:ShiftSets",
    "core.channel.vector.place:SignedSets",
    "core.channel.vector.place:Slots",
)
_HOMES = {home.partition(":")[2]: home for home in (*NODES.values(), *_OTHERS)}

if TYPE_CHECKING:  # for type checkers alone: to them any other node is of an unknown type
    from sottovoce.core.channel.base import Channel as Channel
    from sottovoce.core.channel.base import channel_from_spec as channel_from_spec
    from sottovoce.core.channel.compose.cohorts import Cohorts as Cohorts
    from sottovoce.core.channel.compose.each import Each as Each
    from sottovoce.core.channel.compose.fakes import Fakes as Fakes
    from sottovoce.core.channel.compose.histogram import Histogram as Histogram
    from sottovoce.core.channel.compose.keyed import Keyed as Keyed
    from sottovoce.core.channel.compose.maps import AskedMap as AskedMap
    from sottovoce.core.channel.compose.maps import MultiplierMap as MultiplierMap
    from sottovoce.core.channel.compose.maps import NumberedMap as NumberedMap
    from sottovoce.core.channel.compose.mix import Mix as Mix
    from sottovoce.core.channel.compose.public import HashMap as HashMap
    from sottovoce.core.channel.compose.public import PoolMap as PoolMap
    from sottovoce.core.channel.compose.public import Public as Public
    from sottovoce.core.channel.compose.rows import BloomMap as BloomMap
    from sottovoce.core.channel.compose.rows import PermutationMap as PermutationMap
    from sottovoce.core.channel.compose.rows import RowMap as RowMap
    from sottovoce.core.channel.compose.stages import Chain as Chain
    from sottovoce.core.channel.compose.stages import Then as Then
    from sottovoce.core.channel.facets import Contrast as Contrast
    from sottovoce.core.channel.facets import Rates as Rates
    from sottovoce.core.channel.facets import Scale as Scale
    from sottovoce.core.channel.finite.bits import Bits as Bits
    from sottovoce.core.channel.finite.block import ArcSets as ArcSets
    from sottovoce.core.channel.finite.block import Block as Block
    from sottovoce.core.channel.finite.block import HadamardSets as HadamardSets
    from sottovoce.core.channel.finite.patterns import ListedSets as ListedSets
    from sottovoce.core.channel.finite.patterns import ShiftSets as ShiftSets
    from sottovoce.core.channel.finite.sets import ProjectiveSets as ProjectiveSets
    from sottovoce.core.channel.finite.sparing import Sparing as Sparing
    from sottovoce.core.channel.finite.subset import Subset as Subset
    from sottovoce.core.channel.finite.table import Table as Table
    from sottovoce.core.channel.finite.tree_sets import NodeSets as NodeSets
    from sottovoce.core.channel.finite.tree_sets import PoolSets as PoolSets
    from sottovoce.core.channel.numeric.noise import Noise as Noise
    from sottovoce.core.channel.numeric.rounding import Rounding as Rounding
    from sottovoce.core.channel.numeric.window import Window as Window
    from sottovoce.core.channel.vector.half_space import HalfSpace as HalfSpace
    from sottovoce.core.channel.vector.hints import Hints as Hints
    from sottovoce.core.channel.vector.place import Place as Place
    from sottovoce.core.channel.vector.place import SignedSets as SignedSets
    from sottovoce.core.channel.vector.place import Slots as Slots
    from sottovoce.core.channel.vector.projected import Projected as Projected
    from sottovoce.core.channel.vector.sampled import SampledCoordinates as SampledCoordinates
    from sottovoce.core.channel.vector.signs import Signs as Signs
    from sottovoce.core.channel.vector.sphere import Cap as Cap


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(_HOMES[name])
