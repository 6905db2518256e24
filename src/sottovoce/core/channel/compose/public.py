"""`Public`: a map chosen by public words, then an inner channel on the mapped code."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Protocol, cast

from sottovoce.core.arithmetic.field import MAX_ORDER, dot, is_order, polynomial
from sottovoce.core.arithmetic.hashing import WORD, collision, derived_words, hash_value
from sottovoce.core.arithmetic.rational import units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.compose.maps import AskedMap, MultiplierMap, NumberedMap, with_collisions
from sottovoce.core.channel.facets import (
    Costed,
    Facet,
    Masked,
    Numbered,
    Pooled,
    PublicCoins,
    Rates,
    Relaying,
    Supporting,
    check_memos,
    facet,
    stages_of,
    trusted,
)
from sottovoce.core.channel.finite.bits import Bits
from sottovoce.core.channel.finite.block import ArcSets, Block
from sottovoce.core.channel.shapes import Asking
from sottovoce.core.coins import Coins
from sottovoce.core.declared import INTEGER, Declared, Form, declared, delegated, from_kinds, integer, part
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer, count_text, reject
from sottovoce.core.spec_cost import Effort, effort, summed
from sottovoce.core.specs import Spec


class Map(Protocol):
    """A function of public words and code."""

    @property
    def inputs(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def bits(self) -> int: ...
    def apply(self, words: Words, code: int) -> int: ...
    def accepts(self, words: Words) -> bool: ...
    @property
    def tries(self) -> Fraction: ...
    def rates(self, inner: Rates) -> Rates | None: ...
    def miniatures(self, outputs: int) -> tuple[Map, ...]: ...
    def spec(self) -> Spec: ...


@declared
class HashMap(Declared):
    """The hash family of `sottovoce.core.arithmetic.hashing` from k codes to g values."""

    kind: ClassVar[str] = "hash"
    tries: ClassVar[Fraction] = Fraction(1)
    k: int = integer()
    g: int = integer()
    bits: int = integer(default=WORD)
    inputs = delegated("k")
    outputs = delegated("g")

    def check_fields(self) -> None:
        if self.bits not in (4, 6, 8, WORD):
            raise reject("bits", self.kind, "64 (4, 6 or 8 in proofs)", self.bits)
        half = self.bits // 2
        check_integer("k", self.kind, self.k, 2, 1 << half)
        check_integer("g", self.kind, self.g, 2, 1 << min(20, half))

    def apply(self, words: Words, code: int) -> int:
        return hash_value(words[0], words[1], code, self.g, self.bits)

    def accepts(self, words: Words) -> bool:
        return True

    def rates(self, inner: Rates) -> Rates:
        """Another code supports a report through a collision with the true one, or by chance."""
        return with_collisions(inner, collision(self.g, self.bits))

    def miniatures(self, outputs: int) -> tuple[HashMap, ...]:
        return (type(self)(min(self.k, 4), outputs, 4),) if outputs <= 4 else ()


@declared
class PoolMap(NumberedMap):
    """A balanced pool: every linear map from vectors of `digits` elements of the field of order g to that field.

    A code is the vector of its digits in base g. Two different codes collide under exactly one in g of the
    g**digits maps, so a tally per map and value is decoded without bias, for any candidates, at any later time.
    """

    kind: ClassVar[str] = "pool"
    derived: ClassVar[Mapping[str, Form]] = {"polynomial": INTEGER}
    k: int = integer()
    g: int = integer(2, MAX_ORDER)
    digits: int = integer(1, 24)
    bits: int = integer(default=WORD)
    outputs = delegated("g")

    def check_fields(self) -> None:
        if not is_order(self.g):
            raise reject("g", self.kind, "a prime, or a power of two up to 256", self.g)
        check_integer("k", self.kind, self.k, 2, self.seeds)
        self.check_seeds("digits")

    @property
    def polynomial(self) -> int:
        """The polynomial of the field of g elements."""
        return polynomial(self.g)

    @property
    def seeds(self) -> int:
        return int(self.g**self.digits)

    def value(self, seed: int, code: int) -> int:
        """The value of a code under the map with this number."""
        return dot(seed, code, self.g, self.digits)

    def rates(self, inner: Rates) -> Rates:
        """Two codes collide under exactly one in g of the maps."""
        return Rates(inner.own, (inner.own + (self.g - 1) * inner.other) / self.g)

    def signed_rates(self, own: Fraction) -> Rates | None:
        """Signs agree half the time: in a field of characteristic two the values of two codes differ by a uniform
        pattern of bits."""
        return None if self.g & (self.g - 1) else Rates(own, Fraction(1, 2))

    def miniatures(self, outputs: int) -> tuple[PoolMap, ...]:
        if not is_order(outputs) or outputs > 4:
            return ()
        digits = 3 if outputs == 2 else 2
        return (type(self)(min(self.k, 6), outputs, digits, 4),)

    def smallest(self, outputs: int) -> tuple[PoolMap, ...]:
        digits = {2: 2, 3: 1, 4: 1}.get(outputs)
        return () if digits is None else (type(self)(min(self.k, outputs**digits), outputs, digits, 2),)


MAPS = {
    "hash": "core.channel.compose.public:HashMap",
    "pool": "core.channel.compose.public:PoolMap",
    "multiplier": "core.channel.compose.maps:MultiplierMap",
    "asked": "core.channel.compose.maps:AskedMap",
    "bloom": "core.channel.compose.rows:BloomMap",
    "parities": "core.channel.compose.parities:ParityMap",
    "rows": "core.channel.compose.rows:RowMap",
    "permutations": "core.channel.compose.rows:PermutationMap",
    "fragments": "core.channel.compose.fragments:FragmentMap",
}


def map_from_spec(spec: object) -> Map:
    """The public map that a specification describes."""
    public_map: Map = from_kinds(MAPS, spec, "The map of a public channel must have a kind")
    return public_map


@declared
class Public(Channel, Relaying, PublicCoins, Numbered, Supporting, Masked, Pooled, Asking, Costed):
    """The report is that of the inner channel; the public words are the report's id and not sent again."""

    kind: ClassVar[str] = "public"
    map: Map = part("map", map_from_spec)
    inner: Channel = part("channel", channel_from_spec)
    last = delegated("inner")
    inputs = delegated("map.inputs")
    words = delegated("inner.words")
    payload_bits = delegated("inner.payload_bits")
    outputs = delegated("inner.outputs")
    contains = delegated("inner.contains")
    public_bits = delegated("map.bits")
    tries = delegated("map.tries")
    seeds = delegated("pool.seeds")
    bit_rate = delegated("inner.bit_rate")

    def check_fields(self) -> None:
        if self.map.outputs != self.inner.inputs or not self.inner.codes_are_indices:
            raise ParameterError(
                f"A public map with {self.map.outputs} values needs an inner channel with as many codes;"
                f" it has {count_text(self.inner.inputs)}."
            )
        check_memos(self)

    def _words(self, public: Words) -> Words:
        return derived_words(public, self.inner.publics)

    def mapped(self, code: int, public: Words) -> int:
        """The code that the inner channel randomizes."""
        return self.map.apply(self._words(public), code)

    @property
    def parts(self) -> tuple[Channel, ...]:
        return (self.inner,)

    def has(self, kind: type[Facet]) -> bool:
        if kind is Numbered or kind is Masked:
            return facet(self.inner, kind) is not None
        if kind is Supporting:
            return self.rates() is not None
        if kind is Asking:
            stages = stages_of(self.inner) or (self.inner,)
            bits = stages[0] if isinstance(self.map, AskedMap) and facet(self.inner, Masked) is not None else None
            return isinstance(bits, Bits) and bits.encoding == "optional" and not self.inner.rates_vary  # type: ignore[attr-defined]
        return kind is not Pooled or (isinstance(self.map, NumberedMap) and not self.inner.publics)

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        # An inner channel that declares no public words is audited without them, so it is given none.
        return self.inner.sample(self.mapped(code, public), coins, public if self.inner.publics else NO_WORDS)

    @property
    def publics(self) -> int:
        return self.inner.publics + 1

    def accepts(self, public: Words) -> bool:
        return self.map.accepts(self._words(public)) and self.inner.accepts(public)

    @property
    def pool(self) -> NumberedMap:
        if not isinstance(self.map, NumberedMap):
            raise TypeError("The maps of this channel are not numbered.")
        return self.map

    def seed(self, public: Words) -> int:
        return self.pool.seed(self._words(public))

    def ratio(self) -> Fraction:
        """Given the public words, the law is the inner one on mapped codes; some words map two codes apart."""
        return self.inner.ratio()

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        return self.inner.likelihood(report, self.mapped(code, public), public)

    def supports(self, report: int, code: int, public: Words = NO_WORDS) -> bool:
        if isinstance(self.inner, Bits):
            return self.inner.supports(report, self.mapped(code, public))  # signed ones have no support by themselves
        return trusted(self.inner, Supporting).supports(report, self.mapped(code, public), public)

    def rates(self, code: int = 0) -> Rates | None:
        """None if the inner rates depend on the code, or if no report supports the last inner code.

        Where only some codes are asked about, that one stands for all others, and no report may support it.
        """
        if isinstance(self.inner, Bits) and self.inner.encoding == "signed":
            return self.map.signed_rates(self.inner.own_rate) if isinstance(self.map, NumberedMap) else None
        if isinstance(self.inner, Public):  # asking for its facet first would double the work for each nested map
            nested = self.inner.rates()
            return None if nested is None or isinstance(self.map, AskedMap) else self.map.rates(nested)
        if isinstance(self.map, MultiplierMap) and isinstance(self.inner, Block):
            inside, sets = units(self.inner.inside), self.inner.sets
            return self.map.rates_of_sets(inside, sets.size) if isinstance(sets, ArcSets) else None
        inner = facet(self.inner, Supporting)
        if inner is None or inner.rates_vary:
            return None
        first, last = inner.rates(), inner.rates(self.inner.inputs - 1)
        if isinstance(self.map, AskedMap):
            return self.map.rates(first) if isinstance(first, Rates) and last is None else None
        return self.map.rates(first) if isinstance(first, Rates) and isinstance(last, Rates) else None

    def support_sizes(self) -> tuple[int, int] | None:
        """Public sets of arcs lose those beyond the last code."""
        if not isinstance(self.map, MultiplierMap) or not isinstance(self.inner, Block):
            return None
        sets, beyond = self.inner.sets, self.map.outputs - self.map.inputs
        arcs = isinstance(sets, ArcSets) and sets.codes == sets.outputs
        return (max(0, sets.size - beyond), sets.size) if arcs else None

    @property
    def asked(self) -> tuple[AskedMap, Rates]:
        return cast(AskedMap, self.map), trusted(self.inner, Masked).bit_rate(0)

    def mask(self, code: int, public: Words = NO_WORDS) -> int:
        return trusted(self.inner, Masked).mask(self.mapped(code, public), public)

    def effort(self) -> Effort:
        return summed(self, effort(self.inner))

    def miniatures(self) -> tuple[Channel, ...]:
        if isinstance(self.map, NumberedMap) and isinstance(self.inner, Bits):  # masks have many outcomes for each id
            small = self.inner.smallest()
            return tuple(type(self)(few, small) for few in self.map.smallest(small.inputs))
        kept = isinstance(self.map, NumberedMap) and self.map.keeps_inner
        inners = (self.inner,) if kept else self.inner.miniatures()
        if isinstance(self.map, AskedMap) and isinstance(self.inner, Bits):  # fewer bits, times as many ids as codes
            inners = (Bits(min(self.inner.k, 2), self.inner.p, self.inner.q, self.inner.encoding),)
        return tuple(type(self)(small, inner) for inner in inners for small in self.map.miniatures(inner.inputs))


def public_layers(channel: Channel) -> tuple[Public, ...]:
    """The public maps that a report's id chooses, outermost first, each with the channel behind it."""
    return (channel, *public_layers(channel.inner)) if isinstance(channel, Public) else ()


def behind_maps(channel: Channel) -> Channel:
    """The channel behind all public maps."""
    layers = public_layers(channel)
    return layers[-1].inner if layers else channel


def numbered_functions(channel: Channel) -> tuple[NumberedMap, Channel]:
    """The public functions of a channel that are counted one by one, and the channel behind them."""
    if not isinstance(channel, Public) or not isinstance(channel.map, NumberedMap):
        raise TypeError(f"The reports of a {channel.kind} channel are not counted by public function.")
    return channel.map, channel.inner
