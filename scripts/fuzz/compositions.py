"""Random small channels made of every node, nested, with extreme weights; and all that must hold for each of them.

Law against closed forms, closed forms against sums over the law, kernels against the scalar sampler from the same
words, tallies against their definition. `python -m scripts.fuzz.channels` runs as many as there is time for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import comb
from random import Random
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, floor_unit
from sottovoce.core.channel import (
    AskedKey,
    AskedMap,
    AskedOptions,
    Bits,
    Block,
    Chain,
    Channel,
    Cohorts,
    DrawnItem,
    Each,
    Fakes,
    HadamardSets,
    HalfSpace,
    HashMap,
    Hints,
    Histogram,
    Hitting,
    Keyed,
    KeyEnds,
    ListedSets,
    Mix,
    MultiplierMap,
    NodeSets,
    Noise,
    Place,
    PoolMap,
    PoolSets,
    ProjectiveSets,
    Public,
    Rounding,
    SampledCoordinates,
    SampledKey,
    ShiftSets,
    SignedSets,
    Signs,
    Sparing,
    Spread,
    Subset,
    Table,
    Then,
    Wheel,
    Window,
)
from sottovoce.core.channel.compose.keyed import neutral_law
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.domain.sparse import Sparse
from sottovoce.core.errors import SottovoceError
from sottovoce.core.exact import public_bits
from sottovoce.core.spec_cost import HUGE, effort, steps

Make = Callable[["Maker", int], Channel]
SHORT_WORD, LONG_WORD = 4, 64  # bits of public words: short for enumeration, and those in use
ATTEMPTS = 200
MAX_WORK = 1 << 14


class Maker:
    """Random channels from one generator; two makers of one seed and different words make the same channels."""

    def __init__(self, seed: int, word: int) -> None:
        self.rng, self.word = Random(seed), word

    # --- weights ---------------------------------------------------------------------------------------------------
    def units(self, above: int = 0) -> int:
        """A probability strictly between a bound and one: next to its ends, next to a border of rounding, or any."""
        near = [above + 1, above + 2, UNIT - 1, UNIT - 2, UNIT // 2, UNIT // 2 + 1, (1 << 45) - 1, 1 << 45, 255 << 45]
        choice = self.rng.choice([*near, self.rng.randrange(above + 1, UNIT)])
        return choice if above < choice < UNIT else self.rng.randrange(above + 1, UNIT)

    def split(self, parts: int, least: int = 1) -> list[int]:
        """Weights that sum to one, some of them as small as they may be."""
        if parts > 1 and self.rng.random() < 0.3:
            listed = [least] * (parts - 1)
            listed.insert(self.rng.randrange(parts), UNIT - sum(listed))
            return listed
        cuts = sorted(self.rng.sample(range(1, UNIT - parts), parts - 1))
        return [high - low for low, high in pairwise([0, *cuts, UNIT])]

    def falling(self, length: int) -> list[int]:
        """Weights in falling order."""
        return sorted(self.split(length), reverse=True)

    # --- channels --------------------------------------------------------------------------------------------------
    def channel(self, depth: int) -> Channel:
        """Any channel, composed of others up to a depth."""
        return self._first([*INDEXED, *(COMPOSED * 2 if depth else []), *APART], depth)

    def indexed(self, depth: int, inputs: int | None = None, *, numbered: bool = False) -> Channel:
        """A channel whose codes are indices, as many as asked for; with numbered reports where these are needed."""
        makes: list[Make] = [*INDEXED, *([then, then, mix] if depth else [])]

        def fits(channel: Channel) -> bool:
            return (
                channel.codes_are_indices
                and not channel.publics
                and inputs in (None, channel.inputs)
                and not (numbered and outputs_of(channel) is None)
            )

        return self._first(makes, depth, fits, inputs)

    def _first(
        self,
        makes: Sequence[Make],
        depth: int,
        fits: Callable[[Channel], bool] = lambda channel: True,
        inputs: int | None = None,
    ) -> Channel:
        """The first that its node accepts and that is small enough."""
        for _ in range(ATTEMPTS):
            self.inputs = inputs or self.rng.choice((2, 2, 3, 3, 4, 5))
            try:
                channel = self.rng.choice(makes)(self, depth)
            except (SottovoceError, ValueError):
                continue
            if fits(channel):
                return channel
        return Subset(inputs or 3, 1, UNIT - 1)

    def rounding(self, steps: int) -> Rounding:
        """A grid with this number of steps."""
        low, high = self.rng.choice((("0", "1"), ("-0.3", "0.1"), ("1000000.1", "1000000.2")))
        return Rounding(low, high, steps)


# --- channels of indices: as many as `maker.inputs` -----------------------------------------------------------------
def subset(maker: Maker, depth: int) -> Channel:
    k = maker.inputs
    w = maker.rng.choice((1, 1, maker.rng.randrange(1, k)))
    return Subset(k, w, maker.units(UNIT * w // k))


def bits(maker: Maker, depth: int) -> Channel:
    encoding = maker.rng.choice(("onehot", "optional", "mask"))
    k = {"onehot": maker.inputs, "optional": maker.inputs - 1, "mask": max(1, maker.inputs.bit_length() - 1)}[encoding]
    ones = maker.rng.choice((0, 0, maker.rng.randrange(k + 1))) if encoding == "mask" else 1
    uneven = maker.rng.random() < 0.4
    q = tuple(maker.units() for _ in range(k)) if uneven else maker.units()
    p = tuple(maker.units(low) for low in q) if isinstance(q, tuple) else maker.units(q)
    return Bits(k, p, q, encoding, ones)


def block(maker: Maker, depth: int) -> Channel:
    kind = maker.rng.choice(("rows", "rows", "nodes", "pool", "listed", "shifts"))
    sets: Any
    if kind == "rows":
        sets = HadamardSets(maker.inputs, maker.rng.choice((2, 4, 8)), maker.rng.choice((1, 1, 2, 3)))
    elif kind == "nodes":
        sets = NodeSets(maker.inputs, maker.rng.randrange(1, maker.inputs))
    elif kind == "listed":
        sets = _listed_sets(maker)
    elif kind == "shifts":
        sets = _shift_sets(maker)
    else:
        width, g = maker.rng.randrange(1, maker.inputs), maker.rng.choice((2, 2, 3, 4, 5))
        odd = maker.rng.randrange(2) if g == 2 else 0
        sets = PoolSets(maker.inputs, width, g, 3 if g == 2 else 2, odd)
    return Block(sets, maker.units(UNIT * sets.size // sets.outputs))


def _listed_sets(maker: Maker) -> ListedSets:
    outputs = maker.rng.randrange(2, 9)
    size = maker.rng.randrange(1, outputs)
    columns = [set(range(size))]  # the second differs from the first: codes must differ in some output
    columns.append({outputs - 1, *range(size - 1)})
    columns += [set(maker.rng.sample(range(outputs), size)) for _ in range(maker.inputs - 2)]
    return ListedSets(tuple("".join("01"[y in column] for column in columns) for y in range(outputs)))


def _shift_sets(maker: Maker) -> ShiftSets:
    cells = maker.inputs + maker.rng.randrange(3)
    patterns = ["".join(maker.rng.choice("01") for _ in range(cells)) for _ in range(maker.rng.randrange(2))]
    first = maker.rng.randrange(1, cells)
    return ShiftSets(maker.inputs, ("1" * first + "0" * (cells - first), *patterns))


def hyperplanes(maker: Maker, depth: int) -> Channel:
    order = maker.rng.choice((2, 3))
    sets = ProjectiveSets(maker.inputs, order, 3 if maker.inputs > order + 1 else 2)
    return Block(sets, maker.units(UNIT * sets.size // sets.outputs))


def sparing(maker: Maker, depth: int) -> Channel:
    count = maker.rng.randrange(1, maker.inputs)
    sensitive = sorted(maker.rng.sample(range(maker.inputs), count))
    return Sparing(maker.inputs, tuple(sensitive), maker.rng.randrange(1, UNIT // (count + 1)))


def table(maker: Maker, depth: int) -> Channel:
    width = maker.rng.choice((2, 3, 5, 8))
    if maker.rng.random() < 0.2:  # some code reports each output with probability 1
        width = maker.inputs
        rows = [[UNIT if y == row else 0 for y in range(width)] for row in range(maker.inputs)]
        maker.rng.shuffle(rows)
        return Table(rows)
    return Table([maker.split(width, maker.rng.choice((0, 1, 1))) for _ in range(maker.inputs)])


def window(maker: Maker, depth: int) -> Channel:
    stride, width = maker.rng.randrange(1, 4), maker.rng.randrange(1, 5)
    outputs = (maker.inputs - 1) * stride + width
    return Window(maker.inputs, stride, width, maker.units(UNIT * width // outputs))


def noise(maker: Maker, depth: int) -> Channel:
    steps = maker.inputs - 1
    cycle = [UNIT // steps] * (steps - 1)
    flat = [UNIT - sum(cycle), *cycle]
    bands = maker.falling(maker.rng.choice((3, 4, 5)))
    cycle = maker.rng.choice((flat, maker.falling(steps)))
    return Noise(steps, tuple(maker.falling(maker.rng.randrange(1, steps + 1))), tuple(cycle), tuple(bands))


def mix(maker: Maker, depth: int) -> Channel:
    k, count = maker.inputs, maker.rng.choice((2, 2, 3))
    branches = [maker.indexed(depth - 1, k, numbered=True) for _ in range(count - 1)]
    if maker.rng.random() < 0.4:
        second = maker.indexed(0, maker.rng.randrange(2, 5), numbered=True)
        branches.append(Then(Rounding(0, k - 1, second.inputs - 1), second))
    else:
        branches.append(maker.indexed(depth - 1, k, numbered=True))
    maker.rng.shuffle(branches)
    return Mix(tuple(maker.split(count)), tuple(branches))


def then(maker: Maker, depth: int) -> Channel:
    first = maker.indexed(depth - 1, maker.inputs)
    reports = outputs_of(first) or 1 << first.payload_bits
    if reports > 32:
        raise ValueError("There are too many reports between two stages.")
    return Then(first, maker.indexed(depth - 1, reports))


# --- others ---------------------------------------------------------------------------------------------------------
def chain(maker: Maker, depth: int) -> Channel:
    if maker.rng.random() < 0.5:
        composed = then(maker, depth)
        return Chain(composed.first, composed.second)  # type: ignore[attr-defined]
    k = maker.rng.choice((2, 3))
    q = maker.units()
    first = Bits(k, maker.units(q), q, maker.rng.choice(("onehot", "optional")))
    low = maker.units()
    return Chain(first, Bits(k, maker.units(low), low, "mask", 0))


def cohorts(maker: Maker, depth: int) -> Channel:
    chained = chain(maker, depth)
    if chained.inputs not in (2, 3, 4):
        raise ValueError("The map has too few values.")
    digits = maker.rng.choice((1, 2)) if chained.inputs == 2 else 1
    k = maker.rng.randrange(2, chained.inputs**digits + 1)
    short = 2 if maker.word == SHORT_WORD else LONG_WORD  # a chain has many outcomes for each id
    return Cohorts(PoolMap(k, chained.inputs, digits, short), chained)


def public(maker: Maker, depth: int) -> Channel:
    channel = maker.indexed(depth - 1, maker.rng.choice((2, 3, 4)))
    for _ in range(maker.rng.choice((1, 1, 2))):
        k = maker.rng.choice((2, 3, 4))
        kind = maker.rng.choice(("hash", "hash", "pool", "pool", "other"))
        if kind == "hash":
            channel = Public(HashMap(k, channel.inputs, maker.word), channel)
        elif kind == "other" and channel.inputs == 3 and maker.rng.random() < 0.5:
            channel = Public(MultiplierMap(min(k, 3), 3, maker.word), channel)
        elif kind == "other":
            channel = Public(AskedMap(max(k, channel.inputs - 1), channel.inputs - 1, maker.word), channel)
        else:
            channel = Public(PoolMap(k, channel.inputs, maker.rng.choice((1, 2, 3)), maker.word), channel)
    return channel


def public_then(maker: Maker, depth: int) -> Channel:
    second = public(maker, depth)
    return Then(Table([maker.split(second.inputs) for _ in range(maker.inputs)]), second)


def rounded(maker: Maker, depth: int) -> Channel:
    second = public(maker, depth) if maker.rng.random() < 0.2 else maker.indexed(depth - 1)
    return Then(maker.rounding(second.inputs - 1), second)


def each(maker: Maker, depth: int) -> Channel:
    parts = [maker.indexed(depth - 1) for _ in range(maker.rng.choice((1, 2, 2, 3)))]
    if maker.rng.random() < 0.3:
        parts[0] = rounded(maker, 0)
    return Each(tuple(parts))


def fakes(maker: Maker, depth: int) -> Channel:
    sizes = [maker.rng.choice((2, 3)) for _ in range(maker.rng.choice((1, 2, 2, 3)))]
    return Fakes(tuple(Subset(k, 1, maker.units(UNIT // k)) for k in sizes))


def histogram(maker: Maker, depth: int) -> Channel:
    return Histogram(maker.rng.choice((2, 3)), maker.indexed(0, 2, numbered=True))


def keyed(maker: Maker, depth: int) -> Channel:
    key: Any = subset(maker, 0)
    if maker.rng.random() < 0.4:
        q = maker.units()
        key = Bits(maker.inputs, maker.units(q), q)
    inner = maker.indexed(depth - 1, numbered=True)
    if maker.rng.random() < 0.6:
        inner = Then(maker.rounding(inner.inputs - 1), inner)
    neutral = neutral_law(inner)
    if all(neutral) and maker.rng.random() < 0.5:
        neutral = tuple(maker.split(len(neutral)))
    return Keyed(key, inner, neutral)


def some(maker: Maker, depth: int) -> Channel:
    inner, wide = maker.indexed(0, maker.rng.choice((2, 3)), numbered=True), maker.rng.choice((1, 2, 3))
    grids = tuple(maker.rounding(inner.inputs - 1) for _ in range(wide))
    short = 2 if maker.word == SHORT_WORD else LONG_WORD
    return SampledCoordinates(grids, inner, maker.rng.randrange(1, wide + 1), short)


def half_space(maker: Maker, depth: int) -> Channel:
    return HalfSpace(tuple(maker.rounding(1) for _ in range(maker.rng.randrange(1, 5))), maker.units())


def sparse(maker: Maker, depth: int) -> Channel:
    dimensions = maker.rng.choice((2, 3))
    vectors = Sparse(dimensions, maker.rng.randrange(1, min(dimensions, 2) + 1), maker.rng.choice(("1", "0.3")))
    kind = maker.rng.choice(("rows", "subset", "table", "signs", "hints"))
    if kind == "rows":
        groups = maker.rng.randrange(1, dimensions + 1)
        sets = SignedSets(dimensions, 1 << (-(-dimensions // groups)).bit_length(), groups)
        return Then(Place(vectors), Block(sets, maker.units(UNIT * sets.size // sets.outputs)))
    if kind in ("subset", "table"):
        maker.inputs = 2 * dimensions
        return Then(Place(vectors), (subset if kind == "subset" else table)(maker, 0))
    if kind == "signs":
        return Signs(vectors, maker.rng.randrange(1, vectors.most + 1), maker.units(UNIT // 4))
    speak = maker.rng.choice((1, 2, UNIT // 2 - 1, UNIT // 4, maker.rng.randrange(1, UNIT // 2)))
    return Hints(vectors, speak, tuple(maker.rng.choice((1, UNIT // 3, UNIT // 2 - 1)) for _ in range(vectors.most)))


def hitting(maker: Maker, depth: int) -> Channel:
    items = maker.rng.choice((2, 3, 4))
    most, picked = maker.rng.randrange(1, items + 1), maker.rng.randrange(1, items + 1)
    without = Fraction(comb(items, picked), comb(items + most, picked))
    return Hitting(items, most, picked, maker.units(floor_unit(1 - without)))


def spread(maker: Maker, depth: int) -> Channel:
    items, most, picked = maker.rng.choice((2, 3)), maker.rng.randrange(1, 3), maker.rng.randrange(1, 3)
    without = Fraction(comb(2, picked), comb(2 + most, picked))
    return Spread(items, Hitting(2, most, picked, maker.units(floor_unit(1 - without))), maker.word)


def options(maker: Maker, depth: int) -> Channel:
    items = maker.rng.choice((2, 3, 4))
    asked = maker.rng.randrange(1, 3)
    inner = Subset(1 << asked, 1, maker.units(UNIT >> asked))
    return AskedOptions(items, maker.rng.randrange(1, items + 1), inner, maker.word)


def drawn_item(maker: Maker, depth: int) -> Channel:
    slots = maker.rng.randrange(1, 3)
    items, most = maker.rng.choice((2, 3)), maker.rng.randrange(slots, 3)
    return DrawnItem(items, most, slots, Subset(items + slots, 1, maker.units(UNIT // (items + slots))))


def wheel(maker: Maker, depth: int) -> Channel:
    items, most, positions, bits = maker.rng.choice(((2, 1, 4, 3), (2, 2, 4, 4)))
    word = bits if maker.word == SHORT_WORD else LONG_WORD
    arc = maker.rng.randrange(1, 1 + (positions - 1) // most)
    low, high = UNIT // positions, UNIT // (arc * most)
    return Wheel(items, most, positions, arc, maker.rng.randrange(low + 1, high), word)


def keys_with_numbers(maker: Maker, depth: int) -> Channel:
    keys, most = maker.rng.choice(((2, 1), (2, 2), (3, 2)))
    vectors, kind = Sparse(keys, most, 1), maker.rng.randrange(3)
    if kind == 0:
        plain, ends = (
            Hitting(items, most, 1, maker.units(floor_unit(1 - Fraction(items, items + most))))
            for items in (keys, 2 * keys)
        )
        return KeyEnds(vectors, maker.rng.randrange(1, UNIT), plain, ends)
    if kind == 1:
        return AskedKey(vectors, Subset(3, 1, maker.units(UNIT // 3)), maker.word)
    kept = maker.units(UNIT // 2)
    inner = Then(Rounding(-1, 1, 1), Table([[kept, UNIT - kept], [UNIT - kept, kept]]))
    groups = keys + most
    key = Subset(groups, 1, maker.units(UNIT // groups))
    return SampledKey(vectors, Keyed(key, inner, (UNIT // 2, UNIT // 2)))


INDEXED: list[Make] = [subset, subset, bits, block, hyperplanes, table, window, noise]
COMPOSED: list[Make] = [then, mix, chain, cohorts, public, public_then, rounded, each, fakes, keyed]
APART: list[Make] = [
    some,
    half_space,
    sparse,
    sparse,
    sparse,
    sparse,
    sparse,
    histogram,
    sparing,
    hitting,
    spread,
    options,
    drawn_item,
    wheel,
    keys_with_numbers,
]


def pair_of_channels(seed: int, depth: int = 2) -> tuple[Channel, Channel]:
    """A channel with short public words, for proofs, and its twin with those in use."""
    makers = [Maker(seed, word) for word in (SHORT_WORD, LONG_WORD)]
    for _ in range(ATTEMPTS):
        short, long = (maker.channel(depth) for maker in makers)
        if work(short) <= MAX_WORK:
            break
    return short, long


def work(channel: Channel) -> int:
    """About how many products the whole law of a channel takes by its closed form."""
    known = effort(channel)
    reports = outputs_of(channel) or 1 << min(64, channel.payload_bits)
    if isinstance(channel, Hints):
        reports = 3**channel.dimensions
    ids = 1 << 2 * public_bits(channel) if channel.publics else 1
    return min(channel.inputs, HUGE) * reports * ids * known.likelihood * steps(known.bits)
