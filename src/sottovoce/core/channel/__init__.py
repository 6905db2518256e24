"""Channel nodes: the few building blocks whose composition is every mechanism. Each is loaded when first used."""

from typing import Any

from sottovoce.core.late import attribute, by_name

# One line for each node: its kind, and where it lives. `fast/kernels` has the same folders, so the kernels of
# "core.channel.finite.bits:Bits" are those of the module "fast.kernels.finite.bits".
NODES = {
    "bits": "core.channel.finite.bits:Bits",
    "asked-key": "core.channel.vector.key_values:AskedKey",
    "block": "core.channel.finite.block:Block",
    "cap": "core.channel.vector.sphere:Cap",
    "chain": "core.channel.compose.stages:Chain",
    "cohorts": "core.channel.compose.cohorts:Cohorts",
    "drawn-item": "core.channel.compose.drawn_item:DrawnItem",
    "each": "core.channel.compose.each:Each",
    "fakes": "core.channel.compose.fakes:Fakes",
    "half-space": "core.channel.vector.half_space:HalfSpace",
    "histogram": "core.channel.compose.histogram:Histogram",
    "hitting": "core.channel.finite.hitting:Hitting",
    "hints": "core.channel.vector.sign_hints:Hints",
    "key-ends": "core.channel.vector.key_values:KeyEnds",
    "keyed": "core.channel.compose.keyed:Keyed",
    "mix": "core.channel.compose.mix:Mix",
    "noise": "core.channel.numeric.noise:Noise",
    "options": "core.channel.compose.options:AskedOptions",
    "place": "core.channel.vector.place:Place",
    "projected": "core.channel.vector.projected:Projected",
    "public": "core.channel.compose.public:Public",
    "rounding": "core.channel.numeric.rounding:Rounding",
    "sampled-key": "core.channel.vector.key_values:SampledKey",
    "sampled-coordinates": "core.channel.vector.sampled:SampledCoordinates",
    "signs": "core.channel.vector.signs:Signs",
    "sparing": "core.channel.finite.sensitive_response:Sparing",
    "spread": "core.channel.compose.spread:Spread",
    "subset": "core.channel.finite.subset:Subset",
    "table": "core.channel.finite.table:Table",
    "then": "core.channel.compose.stages:Then",
    "wheel": "core.channel.compose.wheel:Wheel",
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
    "core.channel.compose.parities:ParityMap",
    "core.channel.compose.fragments:FragmentMap",
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
_NAMES = by_name(*NODES.values(), *_OTHERS)  # type checkers read them in the stub, written by `scripts.write_stub`


def __getattr__(name: str) -> Any:
    return attribute(__name__, _NAMES, name)
