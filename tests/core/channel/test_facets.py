"""Which members a channel has, which are facets, and where a node and its kernels are found."""

from __future__ import annotations

import inspect
import subprocess
import sys
from fractions import Fraction
from importlib.util import find_spec

import pytest

from sottovoce.core import fits
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import (
    NODES,
    Bits,
    Block,
    Chain,
    Channel,
    Each,
    HashMap,
    Hitting,
    Keyed,
    Mix,
    Place,
    PoolMap,
    Public,
    Rounding,
    SampledCoordinates,
    SignedSets,
    Subset,
    Table,
    Then,
    facets,
)
from sottovoce.core.channel.facets import Facet, facet, need
from sottovoce.core.domain import Sparse
from sottovoce.core.late import load
from tests.each import for_each

MEMBERS = {
    "tag", "inputs", "codes", "codes_are_indices", "words", "sample", "payload_bits", "contains", "publics", "accepts",
    "exact", "ratio", "likelihood", "parts", "miniatures",
}  # fmt: skip
FACETS = {name: kind for name, kind in vars(facets).items() if isinstance(kind, type) and issubclass(kind, Facet)}
CLASSES = {kind: load(home) for kind, home in NODES.items()}

COIN, GRID = Subset(2, 1, 3 * UNIT // 4), Rounding(0, 1, 1)
PAIR = Subset(4, 2, UNIT // 2 + 1)
MASK = Bits(2, UNIT // 2, UNIT // 4, "mask", 0)
SIGNED = Block(SignedSets(2, 4, 1), 3 * UNIT // 4)
BENT = Table([(UNIT // 2, UNIT // 4, UNIT // 4), (UNIT // 4, UNIT // 2, UNIT // 4), (1, 1, UNIT - 2)])


def own_names(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")} - {"lacking", "has"}


def test_a_channel_has_the_members_that_every_node_implements() -> None:
    names = own_names(Channel) | set(inspect.get_annotations(Channel))
    assert names == MEMBERS


@for_each("kind", NODES)
def test_a_node_without_a_facet_has_none_of_its_members(kind: str) -> None:
    node = CLASSES[kind]
    assert node.kind == kind and issubclass(node, Channel)
    for name, one in FACETS.items():
        if not issubclass(node, one):
            assert not own_names(one) & set(dir(node)), f"{kind} has members of {name}"


@pytest.mark.parametrize(
    ("channel", "has", "lacks"),
    [
        (COIN, {"Numbered", "Supporting", "Numeric", "Extremal"}, set()),
        (PAIR, {"Supporting"}, {"Numbered", "Numeric", "Extremal"}),
        (Bits(3, UNIT // 2, UNIT // 4), {"Supporting", "Masked"}, set()),
        (Bits(3, UNIT // 2, UNIT // 4, "optional"), {"Supporting", "Masked"}, set()),
        (Bits(4, UNIT // 2, UNIT // 4, "blocks", 2), {"Masked"}, {"Supporting"}),
        (Bits(3, 3 * UNIT // 4, UNIT // 2, "signed"), set(), {"Supporting", "Masked"}),
        (MASK, {"Masked"}, {"Supporting"}),
        (Hitting(4, 2, 1, 3 * UNIT // 4), {"Numbered"}, set()),
        (Hitting(4, 2, 2, 3 * UNIT // 4), set(), {"Numbered"}),
        (SIGNED, {"Numbered"}, {"Supporting"}),
        (BENT, {"Numbered", "Extremal", "Divergent"}, {"Numeric"}),
        (Then(GRID, COIN), {"Rounded", "Numeric", "Numbered", "Extremal", "Divergent"}, {"Vectors", "Slotted"}),
        (Then(COIN, COIN), {"Numbered"}, {"Rounded", "Numeric", "Extremal", "Divergent"}),
        (Then(GRID, Bits(2, UNIT // 2, UNIT // 4)), {"Rounded"}, {"Numeric", "Numbered"}),
        (Then(Place(Sparse(2, 1)), SIGNED), {"Vectors", "Slotted", "Numbered"}, {"Rounded"}),
        (Chain(Bits(2, UNIT // 2, UNIT // 4), MASK), {"Memoised", "Supporting"}, {"Numbered"}),
        (
            Chain(Bits(4, UNIT // 2, UNIT // 4, "blocks", 2), Bits(4, UNIT // 2, UNIT // 4, "mask", 0)),
            {"Masked"},
            {"Supporting"},
        ),
        (Chain(COIN, COIN), {"Memoised", "Numbered", "Supporting", "Numeric", "Extremal"}, {"Masked"}),
        (
            Chain(COIN, Table([(UNIT // 2, UNIT // 2), (1, UNIT - 1)])),
            {"Memoised", "Numbered"},
            {"Supporting", "Masked", "Numeric"},
        ),
        (Then(GRID, Chain(COIN, COIN)), {"Memoised", "Numeric", "Rounded"}, {"Supporting"}),
        (Public(HashMap(3, 2), COIN), {"Supporting", "Numbered", "PublicCoins", "Relaying"}, {"Pooled"}),
        (Public(PoolMap(3, 2, 2), COIN), {"Pooled", "Numbered"}, set()),
        (Public(PoolMap(3, 2, 2), Public(HashMap(2, 2), COIN)), {"Supporting"}, {"Pooled"}),
        (Public(HashMap(3, 3), BENT), {"Numbered"}, {"Supporting"}),
        (Public(HashMap(3, 3), Bits(2, UNIT // 2, UNIT // 4, "optional")), set(), {"Supporting"}),
        (Mix((UNIT // 2,) * 2, (COIN, COIN)), {"Numeric"}, set()),
        (Mix((UNIT // 2,) * 2, (Subset(3, 1, UNIT // 2), BENT)), {"Numbered", "Extremal"}, {"Numeric"}),
        (Keyed(Subset(3, 1, UNIT // 2), COIN, (UNIT // 2,) * 2), {"Numbered"}, set()),
        (Keyed(PAIR, COIN, (UNIT // 2,) * 2), set(), {"Numbered"}),
        (SampledCoordinates((GRID,) * 2, COIN, 1), {"Coordinates", "Vectors", "PublicCoins"}, set()),
    ],
    ids=lambda value: value.kind if isinstance(value, Channel) else "",
)
def test_an_instance_has_the_facets_that_its_parameters_and_parts_allow(
    channel: Channel, has: set[str], lacks: set[str]
) -> None:
    assert {name for name in has | lacks if facet(channel, FACETS[name])} == has
    for name in lacks:
        with pytest.raises(TypeError, match=f"a {channel.kind} channel {FACETS[name].lacking}"):
            need(channel, FACETS[name])


def test_deep_maps_answer_at_once() -> None:
    """Each level asks the one below once: asked twice, 40 levels would take for ever."""
    channel: Channel = COIN
    for _ in range(40):
        channel = Public(HashMap(2, 2), channel)
    assert need(channel, facets.Supporting).rates().own == Fraction(3, 4)  # type: ignore[union-attr]
    assert need(channel, facets.Numbered).outputs == 2


def test_parts_are_what_a_channel_is_made_of() -> None:
    assert COIN.parts == () and Then(GRID, COIN).parts == (GRID, COIN)
    assert Each((COIN, COIN, PAIR)).parts == (COIN, COIN, PAIR)
    assert SampledCoordinates((GRID,) * 5, COIN, 2).parts == (GRID, COIN)


# --- one line for each node --------------------------------------------------------------------------------------
@for_each("kind", NODES)
def test_the_kernels_of_a_node_lie_in_the_same_folder(kind: str) -> None:
    """Its own, or those of a node that it is a case of."""
    homes = [base.__module__ for base in CLASSES[kind].__mro__ if getattr(base, "kind", None) in NODES]
    assert any(find_spec(home.replace("core.channel", "fast.kernels")) for home in homes)


def test_kernels_are_loaded_when_first_used() -> None:
    code = (
        "import sys; from sottovoce.core.channel import Subset; from sottovoce.fast.kernels.base import sampler;"
        "homes = tuple(f'sottovoce.fast.kernels.{name}.' for name in ('compose', 'finite', 'numeric', 'vector'));"
        "loaded = lambda: [name for name in sys.modules if name.startswith(homes)];"
        "before = loaded(); sampler(Subset(2, 1, 1 << 52 | 1)); print(before, loaded())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] ['sottovoce.fast.kernels.finite.subset']"


def test_each_pair_of_domain_and_channel_is_judged_once() -> None:
    pairs = [(kind, node) for kind, node, _ in fits.PAIRS]
    assert len(set(pairs)) == len(pairs) and pairs[-1] == (None, None)
    assert {node for _, node in pairs if isinstance(node, str)} <= set(NODES)


def test_small_instances_are_no_larger_than_what_they_stand_for() -> None:
    one, two = (SampledCoordinates((Rounding(0, 1, 1),) * size, Subset(2, 1, UNIT - 9), 1) for size in (1, 2))
    assert {small.dimensions for small in one.miniatures()} == {1}  # type: ignore[attr-defined]
    assert {small.dimensions for small in two.miniatures()} == {2, 3}  # type: ignore[attr-defined]
    assert [HashMap(k, 3).miniatures(3)[0].k for k in (2, 3, 4, 900)] == [2, 3, 4, 4]
    assert HashMap(9, 5).miniatures(5) == ()
