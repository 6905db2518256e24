"""Batches give the same reports as the scalar samplers from the same words, for any cut and any number of threads."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.arithmetic.rational import FINE, UNIT
from sottovoce.core.channel import (
    ArcSets,
    Bits,
    Block,
    Chain,
    Channel,
    Each,
    HadamardSets,
    HashMap,
    Histogram,
    Hitting,
    ListedSets,
    Mix,
    NodeSets,
    Noise,
    PoolSets,
    ProjectiveSets,
    Public,
    Rounding,
    ShiftSets,
    Sparing,
    Subset,
    Table,
    Then,
    Window,
)
from sottovoce.core.channel.facets import outputs_of, rounding_of
from sottovoce.core.channel.finite.bits import MAX_MASK
from sottovoce.core.coins import TapeCoins, flip_levels, flips_span
from sottovoce.core.domain import Integers
from sottovoce.core.errors import ReportError
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.batch import checked, draw, privatize
from sottovoce.fast.kernels.arithmetic import divisor, last_start, remainder, remainder_by_float
from sottovoce.fast.kernels.base import Draws, empty_reports, last_node, sampler
from sottovoce.fast.kernels.compose.fakes import _below
from sottovoce.fast.kernels.masks import add_masks
from sottovoce.fast.kernels.pick import find, weights
from sottovoce.fast.threads import items_at_a_time
from sottovoce.fast.words import WordStream
from sottovoce.mechanisms.mean import common

SIZES = (2, 3, 5, 63, 64, 65, 128, 200)
ORACLES = [name for name in sv.names(sv.Frequency) if name != "rr"]  # which takes two categories only
MEANS = sv.names(sv.Mean)
SHORT = 8  # bits of a coin in tests: rejection really happens


@dataclass(frozen=True)
class Bare:
    """A channel that is drawn from like a mechanism, without a domain or a claim."""

    channel: Channel
    words = Mechanism.words
    draw = Mechanism.draw
    _public = Mechanism._public
    _takes = Mechanism._takes


# --- channels ----------------------------------------------------------------------------------------------------
sizes = st.sampled_from(SIZES)
round_units = st.sampled_from([1, 1 << 45, 1 << 44, 1 << 52, 3 << 51, 255 << 45, UNIT - 2])


@st.composite
def probabilities(draw_from: Any, above: int = 0) -> int:
    """Units strictly between a bound and 1, often with few bits."""
    rough = draw_from(round_units)
    return rough if rough > above and draw_from(st.booleans()) else draw_from(st.integers(above + 1, UNIT - 1))


@st.composite
def indices(draw_from: Any, k: int | None = None) -> Subset:
    k = k or draw_from(sizes)
    return Subset(k, 1, draw_from(probabilities(above=UNIT // k)))


@st.composite
def subsets(draw_from: Any, k: int | None = None) -> Subset:
    k = k or draw_from(sizes.filter(lambda size: size > 2))
    w = draw_from(st.integers(2, k - 1))
    return Subset(k, w, draw_from(probabilities(above=UNIT * w // k)))


@st.composite
def bits(draw_from: Any, encoding: str, k: int | None = None, ones: int = 1) -> Bits:
    k = k or draw_from(sizes)
    uneven = draw_from(st.booleans()) and (encoding != "mask" or k <= MAX_MASK)
    places = k if uneven else 1
    q = [draw_from(st.one_of(round_units, st.integers(1, UNIT - 2))) for _ in range(places)]
    p = [draw_from(probabilities(above=low)) for low in q]
    shape = draw_from(st.sampled_from(["both", "p", "q"])) if places > 1 else "none"
    if shape == "p":
        return Bits(k, tuple(max(p) for _ in p), min(q), encoding, ones)
    if shape == "q":
        return Bits(k, max(p), tuple(min(q) for _ in q), encoding, ones)
    return Bits(k, tuple(p), tuple(q), encoding, ones) if shape == "both" else Bits(k, p[0], q[0], encoding, ones)


@st.composite
def masks(draw_from: Any) -> Bits:
    k = draw_from(st.sampled_from([1, 7, 63, 64, 65, 130]))
    return draw_from(bits("mask", k, draw_from(st.integers(0, k))))


@st.composite
def blocks(draw_from: Any, groups: int | None = None) -> Block:
    order = draw_from(st.sampled_from([2, 4, 8, 64]))
    count = groups or draw_from(st.integers(2, 256 // order))
    codes = draw_from(st.integers(2, max(2, count * (order - 1))))
    if count * (order - 1) < 2:
        order, codes = 4, 3
    sets = HadamardSets(codes, order, count)
    return Block(sets, draw_from(probabilities(above=UNIT * sets.size // sets.outputs)))


@st.composite
def patterns(draw_from: Any) -> Block:
    """Shifts of patterns, and the same sets listed one by one."""
    cells = draw_from(st.integers(3, 40))
    texts = ["1" + "0" * (cells - 1)]
    for _ in range(draw_from(st.integers(0, 2))):
        texts.append("".join(draw_from(st.sampled_from(["0", "0", "1"])) for _ in range(cells)))
    shifts = ShiftSets(draw_from(st.integers(2, cells)), texts)
    table = ("".join("01"[shifts.member(code, y)] for code in range(shifts.codes)) for y in range(shifts.outputs))
    sets = draw_from(st.sampled_from([shifts, ListedSets(table)]))
    return Block(sets, draw_from(probabilities(above=UNIT * sets.size // sets.outputs)))


@st.composite
def tables(draw_from: Any, width: int | None = None, codes: int | None = None) -> Table:
    width = width or draw_from(sizes)
    rows = []
    for _ in range(codes or draw_from(st.integers(1, 5))):
        cuts = sorted(draw_from(st.lists(st.integers(0, UNIT), min_size=width - 1, max_size=width - 1)))
        rows.append([high - low for low, high in zip([0, *cuts], [*cuts, UNIT], strict=True)])
    return Table(rows)


@st.composite
def hashed(draw_from: Any, depth: int) -> Channel:
    channel: Channel = draw_from(indices(draw_from(st.integers(2, 9))))
    for _ in range(depth):
        channel = Public(HashMap(draw_from(st.integers(2, 300)), channel.inputs), channel)
    return channel


@st.composite
def thens(draw_from: Any) -> Then:
    width = draw_from(st.integers(2, 70))
    second = draw_from(st.one_of(indices(width), subsets(max(3, width)), hashed(1)))
    return Then(draw_from(tables(second.inputs)), second)


@st.composite
def chains(draw_from: Any) -> Chain:
    k = draw_from(sizes)
    first = draw_from(bits(draw_from(st.sampled_from(["onehot", "optional"])), k))
    return Chain(first, draw_from(bits("mask", k, 0)))


@st.composite
def windows(draw_from: Any, k: int | None = None) -> Window:
    k = k or draw_from(st.integers(2, 40))
    stride, width = draw_from(st.integers(1, 5)), draw_from(st.integers(1, 50))
    outputs = (k - 1) * stride + width
    return Window(k, stride, width, draw_from(probabilities(above=UNIT * width // outputs)))


@st.composite
def noises(draw_from: Any, k: int | None = None) -> Noise:
    steps = k - 1 if k else draw_from(st.integers(1, 20))
    centre = draw_from(st.integers(1, steps))
    budget = Decimal(draw_from(st.sampled_from(["0.2", "1", "3", "8"])))
    return common.noise("a test", budget, common.level(centre), common.level(steps))


@st.composite
def rounded(draw_from: Any, ends: tuple[Any, Any] | None = None) -> Then:
    low, high = ends or draw_from(st.sampled_from([(0, 1), ("-0.3", "0.1"), (-7, 100), ("1000000.1", "1000000.2")]))
    k = draw_from(st.integers(2, 30))
    kinds = [indices(k), tables(codes=k), windows(k), noises(k)] + ([] if ends else [mixes(k), hashed(1)])
    second = draw_from(st.one_of(kinds))
    return Then(Rounding(low, high, second.inputs - 1), second)


@st.composite
def mixes(draw_from: Any, k: int | None = None) -> Mix:
    k = k or draw_from(st.integers(2, 30))
    kinds = [indices(k), tables(codes=k), windows(k), noises(k)]
    channels = [draw_from(st.one_of(kinds))]
    channels += draw_from(st.lists(st.one_of([*kinds, rounded((0, k - 1))]), min_size=1, max_size=3))
    cuts = draw_from(st.sets(st.integers(1, UNIT - 1), min_size=len(channels) - 1, max_size=len(channels) - 1))
    borders = [0, *sorted(cuts), UNIT]
    shares = [high - low for low, high in pairwise(borders)]
    return Mix(tuple(shares), tuple(draw_from(st.permutations(channels))))


@st.composite
def several(draw_from: Any) -> Each:
    kinds = [indices(), subsets(), bits("onehot"), blocks(), tables(), rounded(), mixes()]
    plain = st.one_of(kinds).filter(lambda channel: not channel.publics)
    return Each(tuple(draw_from(st.lists(plain, min_size=1, max_size=5))))


@st.composite
def registered_means(draw_from: Any) -> Channel:
    epsilon = draw_from(st.sampled_from(["0.1", "0.5", "1", "1.5", "3", "6"]))
    domain = draw_from(st.sampled_from([sv.Interval(0, 100), sv.Interval("-0.1", "0.3"), Integers(-3, 40)]))
    return sv.mechanism(draw_from(st.sampled_from(MEANS)), domain, epsilon=epsilon).channel


@st.composite
def registered(draw_from: Any) -> Channel:
    name = draw_from(st.sampled_from(ORACLES))
    epsilon = draw_from(st.sampled_from(["0.1", "0.5", "1", "1.5", "3", "6"]))
    return sv.mechanism(name, Integers(0, draw_from(sizes) - 1), epsilon=epsilon).channel


@st.composite
def hittings(draw_from: Any) -> Hitting:
    most, items = draw_from(st.integers(1, 5)), draw_from(st.integers(6, 140))
    picked = draw_from(st.integers(1, max(1, items // (2 * most))))
    return Hitting(items, most, picked, UNIT // 4 * 3)


CHANNELS = {
    "index": indices(),
    "subset": subsets(),
    "onehot": bits("onehot"),
    "optional": bits("optional"),
    "mask": masks(),
    "one block": blocks(groups=1),
    "several blocks": blocks(),
    "patterns": patterns(),
    "table": tables(),
    "then": thens(),
    "chain": chains(),
    "hitting": hittings(),
    "public": hashed(depth=1),
    "nested public": hashed(depth=2),
    "window": windows(),
    "noise": noises(),
    "rounded": rounded(),
    "mix": mixes(),
    "several": several(),
    "registered": registered(),
    "registered mean": registered_means(),
}


def most_outcomes(channel: Channel) -> int:
    """The largest number of outcomes that a draw of the channel may have."""
    if isinstance(channel, Subset):
        return channel.k - 1
    if isinstance(channel, Block):
        return max(channel.sets.size, channel.sets.outputs - channel.sets.size)
    if isinstance(channel, Hitting):
        return channel.elements
    if isinstance(channel, Window):
        return max(channel.width, channel.outputs - channel.width)
    if isinstance(channel, (Mix, Each)):
        return max(map(most_outcomes, channel.channels))
    parts = [getattr(channel, name) for name in ("inner", "first", "second") if hasattr(channel, name)]
    return max((most_outcomes(part) for part in parts), default=1)


def some_codes(channel: Channel, count: int, seed: int) -> np.ndarray[Any, Any]:
    """Codes as batches hold them: indices, masks as rows of words, positions of numbers, a column for each part."""
    rng = np.random.default_rng(seed)
    if isinstance(channel, Each):
        columns = [some_codes(part, count, seed + place) for place, part in enumerate(channel.channels)]
        return np.stack([column.astype(np.uint64) for column in columns], axis=1)
    rounding = rounding_of(channel)
    if rounding is not None:
        last = rounding.steps << 32
        found = rng.integers(0, last, count, dtype=np.uint64, endpoint=True)
        found[: min(count, 4)] = [0, last, last - (1 << 32), 1][: min(count, 4)]
        return found
    if isinstance(channel, Hitting) or (isinstance(channel, Bits) and channel.encoding == "mask"):
        size = channel.items if isinstance(channel, Hitting) else channel.k
        if isinstance(channel, Hitting):
            chosen = [rng.permutation(size)[: rng.integers(channel.most + 1)] for _ in range(count)]
        elif channel.ones:
            chosen = [rng.permutation(size)[: channel.ones] for _ in range(count)]
        else:
            chosen = [np.flatnonzero(rng.random(size) < 0.5) for _ in range(count)]
        flags = np.zeros((count, 64 * -(-size // 64)), np.uint8)
        for row, places in enumerate(chosen):
            flags[row, places] = 1
        return np.packbits(flags, axis=1, bitorder="little").view("<u8")
    codes = rng.integers(0, channel.inputs, count).astype(np.uint32)
    codes[: min(count, 2)] = [0, channel.inputs - 1][: min(count, 2)]  # the ends always
    return codes


def as_code(channel: Channel, code: Any) -> Any:
    """A code of a batch as the scalar sampler takes it."""
    if isinstance(channel, Each):
        return tuple(as_code(part, own) for part, own in zip(channel.channels, code, strict=True))
    rounding = rounding_of(channel)
    if rounding is not None:
        return Fraction(rounding.low) + rounding.step * Fraction(int(code), 1 << 32)
    return as_number(code)


def as_number(code: Any) -> int:
    return int(code) if np.ndim(code) == 0 else int.from_bytes(code.tobytes(), "little")


def scalar(channel: Channel, code: Any, stream: Any, report: int, short: int) -> tuple[tuple[int, int], int, int]:
    """Public words, report, and how many overflow words were read."""
    read = []

    def counted() -> Iterator[int]:
        for word in stream.overflow(report):
            read.append(word)
            yield word

    coins = TapeCoins(stream.rows(report, 1).tobytes(), counted(), bits=short)
    public, value = Bare(channel).draw(as_code(channel, code), coins)
    return public, value, len(read)


def assert_equal_to_scalar(channel: Channel, codes: Any, stream: Any, short: int, batch: Any) -> None:
    values = list(batch)
    assert len(values) == len(codes)
    assert batch.payload.ndim == (2 if outputs_of(last_node(channel)) is None else 1)
    assert values == [as_number(row) for row in batch.payload]  # no bits beyond the last position
    for report, code in enumerate(codes):
        public, value, _ = scalar(channel, code, stream, report, short)
        assert values[report] == value
        if channel.publics:
            assert tuple(map(int, batch.public[report])) == public


# --- the invariant -----------------------------------------------------------------------------------------------
LONG = {"mix", "several", "optional", "registered mean"}  # kinds of channels that take seconds


@pytest.mark.parametrize("kind", [pytest.param(k, marks=[pytest.mark.slow] if k in LONG else []) for k in CHANNELS])
@settings(max_examples=20)
@given(data=st.data())
def test_batches_equal_the_scalar_sampler(kind: str, data: Any) -> None:
    channel = data.draw(CHANNELS[kind])
    short = data.draw(st.sampled_from([FINE, SHORT] if most_outcomes(channel) <= 1 << SHORT else [FINE]))
    count = data.draw(st.integers(0, 40))
    codes = some_codes(channel, count, data.draw(st.integers(0, 99)))
    stream = WordStream.seeded(Bare(channel).words, data.draw(st.integers(0, 99)))
    chunk_bytes = 8 * stream.words * data.draw(st.integers(1, 45)) + data.draw(st.integers(0, 7))
    threads = data.draw(st.integers(1, 3))
    batch = draw(Bare(channel), codes, stream, threads=threads, chunk_bytes=chunk_bytes, bits=short)
    assert_equal_to_scalar(channel, codes, stream, short, batch)


REJECTING = {
    "index": Subset(66, 1, UNIT // 2),
    "subset": Subset(70, 9, UNIT // 2),
    "large subset": Subset(70, 69, UNIT - 7),
    "one block": Block(HadamardSets(60, 64, 1), UNIT // 8 * 7),
    "several blocks": Block(HadamardSets(20, 8, 3), UNIT // 2),
    "nodes": Block(NodeSets(41, 2), UNIT // 2),
    "pool of maps": Block(PoolSets(40, 2, 5, 2), UNIT // 2),
    "pool of bits": Block(PoolSets(60, 2, 2, 5), UNIT // 4 * 3),
    "shifts": Block(ShiftSets(20, ("1" * 9 + "0" * 21, "10" * 15)), UNIT // 4 * 3),
    "listed": Block(ListedSets(("1100", "0110", "0011", "1001", "1011", "0100", "0000")), UNIT // 4 * 3),
    "public": Public(HashMap(50, 6), Subset(6, 1, UNIT // 2)),
    "nested": Public(HashMap(50, 9), Public(HashMap(9, 6), Subset(6, 1, UNIT // 2))),
    "then": Then(Table([[UNIT // 8] * 8] * 3), Subset(8, 1, UNIT // 2)),
    "window": Window(9, 3, 20, UNIT // 2),
    "rounded window": Then(Rounding("0.1", "0.4", 8), Window(9, 3, 20, UNIT // 2)),
    "mix": Mix(
        (UNIT // 4, UNIT // 2, UNIT // 4),
        (
            Window(7, 2, 30, UNIT // 2 + UNIT // 4),
            Then(Rounding(0, 6, 4), Subset(5, 1, UNIT // 2)),
            Subset(7, 1, UNIT // 2),
        ),
    ),
    "several": Each(
        (Subset(66, 1, UNIT // 2), Subset(70, 9, UNIT // 2), Then(Rounding(0, 1, 2), Subset(3, 1, UNIT // 2)))
    ),
    "sparing": Sparing(90, tuple(range(10, 80)), UNIT // 140),
    "histogram": Histogram(4, Subset(6, 1, UNIT // 2)),
    "hitting": Hitting(70, 3, 9, UNIT // 4 * 3),
    "one of a hitting": Hitting(9, 3, 1, UNIT // 4 * 3),
    "then subset": Then(Table([[UNIT // 8] * 8] * 3), Subset(8, 3, UNIT // 4 * 3)),
}


@pytest.mark.parametrize("kind", REJECTING)
def test_short_coins_mark_exactly_the_reports_that_read_overflow(kind: str) -> None:
    channel = REJECTING[kind]
    count = 600
    codes = some_codes(channel, count, 1)
    stream = WordStream.seeded(Bare(channel).words, 2)
    words = stream.rows(0, count)
    public = np.ascontiguousarray(words[:, :2]) if channel.publics else None
    draws = Draws(words, public, np.zeros(count, np.uint8), SHORT)
    sampler(channel)(codes, draws, 2 if channel.publics else 0, empty_reports(channel, count))
    overflowed = [scalar(channel, code, stream, row, SHORT)[2] > 0 for row, code in enumerate(codes)]
    assert draws.redo.tolist() == overflowed
    # Where every number of outcomes divides 2**8 nothing is ever rejected: half of a block's outputs, maps to bits.
    assert any(overflowed) == (kind not in ("one block", "pool of bits"))
    for threads, chunk_bytes in ((1, 1 << 20), (3, 999)):
        batch = draw(Bare(channel), codes, stream, threads=threads, chunk_bytes=chunk_bytes, bits=SHORT)
        assert_equal_to_scalar(channel, codes, stream, SHORT, batch)


def test_at_full_width_nothing_is_redone() -> None:
    channel = Subset(1000, 250, UNIT // 2)
    count = 2000
    draws = Draws(WordStream.seeded(252, 1).rows(0, count), None, np.zeros(count, np.uint8))
    sampler(channel)(some_codes(channel, count, 1), draws, 0, empty_reports(channel, count))
    assert not draws.redo.any()


@pytest.mark.parametrize(
    "channel",
    [
        Subset(300, 1, UNIT // 2),
        Subset(300, 4, UNIT // 2),
        Block(ProjectiveSets(50, 5, 5), UNIT // 2),
        Block(ArcSets(300, 300, 9), UNIT // 2),
        Block(NodeSets(300, 1), UNIT // 2),
        Block(PoolSets(300, 2, 7, 3), UNIT // 2),
    ],
)
def test_a_coin_with_too_few_outcomes_is_refused(channel: Channel) -> None:
    stream = WordStream.seeded(Bare(channel).words, 1)
    with pytest.raises(ValueError, match="outcomes"):
        draw(Bare(channel), np.zeros(3, np.uint32), stream, bits=SHORT)


class CraftedStream:
    """Given words for every report, and an overflow that counts."""

    simulated = True

    def __init__(self, table: np.ndarray[Any, Any]) -> None:
        self.table, self.words, self.overflowed = table, table.shape[1], 0

    def rows(self, first: int, count: int) -> np.ndarray[Any, Any]:
        return self.table[first : first + count].copy()

    def chunks(self, first: int, last: int, size: int) -> Iterator[np.ndarray[Any, Any]]:
        for start in range(first, last, size):
            yield self.rows(start, min(size, last - start))

    def overflow(self, report: int) -> Iterator[int]:
        for number in range(10**6):
            self.overflowed += 1
            yield (0x9E3779B97F4A7C15 * (number + 7 * report + 1)) % 2**64


@pytest.mark.parametrize("k", [64, 65, 128, 200])
@pytest.mark.parametrize("q", [UNIT // 3, UNIT - 5, (1 << 45) - 1, (170 << 45) + 12345])
def test_lanes_that_all_stay_undecided_read_the_reserve_and_then_the_overflow(k: int, q: int) -> None:
    channel = Bits(k, UNIT - 1, q)
    lanes = -(-k // 64)
    count = 5
    table = WordStream.seeded(Bare(channel).words, 3).rows(0, count).copy()
    for level in range(flip_levels(q)):  # words that copy the bits of the numerator
        table[:4, level * lanes : (level + 1) * lanes] = 2**64 - 1 if q >> (FINE - 1 - level) & 1 else 0
    reserve = flips_span(k, q) - flip_levels(q) * lanes
    assert 0 < reserve < k
    stream = CraftedStream(table)
    codes = np.array([0, k - 1, k // 2, 1, 2], np.uint32)
    draws = Draws(stream.rows(0, count), None, np.zeros(count, np.uint8))
    sampler(channel)(codes, draws, 0, empty_reports(channel, count))
    assert draws.redo.tolist() == [1, 1, 1, 1, 0]
    batch = draw(Bare(channel), codes, stream, threads=1)
    assert stream.overflowed == 4 * (k - reserve)
    assert_equal_to_scalar(channel, codes, stream, FINE, batch)


@pytest.mark.parametrize("k", [64, 65, 200])
def test_the_reserve_is_used_up_to_its_last_word(k: int) -> None:
    q = UNIT // 3
    channel = Bits(k, UNIT - 1, q)
    lanes, levels = -(-k // 64), flip_levels(q)
    reserve = flips_span(k, q) - levels * lanes
    table = WordStream.seeded(Bare(channel).words, 5).rows(0, 2).copy()
    for row, undecided in enumerate((reserve, reserve + 1)):
        for level in range(levels):
            same = (1 << k) - 1 if q >> (FINE - 1 - level) & 1 else 0
            drawn = same if level else same ^ ((1 << k) - (1 << undecided))  # the first bit decides the other lanes
            table[row, level * lanes : (level + 1) * lanes] = np.frombuffer(drawn.to_bytes(8 * lanes, "little"), "<u8")
    stream = CraftedStream(table)
    codes = np.array([k - 1, k - 1], np.uint32)
    batch = draw(Bare(channel), codes, stream, threads=1)
    assert stream.overflowed == 1
    assert_equal_to_scalar(channel, codes, stream, FINE, batch)


def test_a_numerator_of_eight_bits_leaves_equal_lanes_false() -> None:
    q = 171 << 45
    channel = Bits(70, UNIT - 1, q)
    table = np.zeros((1, Bare(channel).words), np.uint64)
    for level in range(8):
        table[0, 2 * level : 2 * level + 2] = 2**64 - 1 if q >> (FINE - 1 - level) & 1 else 0
    stream = CraftedStream(table)
    batch = draw(Bare(channel), np.array([3], np.uint32), stream, threads=1)
    assert list(batch) == [1 << 3] and stream.overflowed == 0


# --- arithmetic --------------------------------------------------------------------------------------------------
def divisors() -> list[int]:
    powers = [1 << bit for bit in range(FINE + 1)]
    return sorted({n for power in powers for n in (power - 1, power, power + 1) if 0 < n <= UNIT} | {3, 127, 641})


def test_remainders_are_exact_at_the_edges() -> None:
    for n in divisors():
        last = (UNIT - 1) // n
        dividends = {0, 1, UNIT - 1, UNIT - 2, UNIT // 2}
        for multiple in {1, 2, 3, last // 3, last // 2, last - 1, last}:
            dividends |= {multiple * n - 1, multiple * n, multiple * n + 1}
        for r in dividends:
            if 0 <= r < UNIT:
                assert remainder(np.uint64(r), *divisor(n)) == r % n, (r, n)
                assert n >= 1 << 32 or remainder_by_float(r, n, 1 / n) == r % n, (r, n)


@given(st.integers(0, UNIT - 1), st.integers(1, UNIT))
def test_remainders_are_exact(r: int, n: int) -> None:
    assert remainder(np.uint64(r), *divisor(n)) == r % n
    few = 1 + n % ((1 << 32) - 1)
    assert remainder_by_float(r, few, 1 / few) == r % few


@pytest.mark.parametrize("n", [-1, 0, (1 << FINE) + 1])
def test_draws_of_no_outcome_or_too_many_are_refused(n: int) -> None:
    for make in (lambda: divisor(n), lambda: last_start(n, FINE)):
        with pytest.raises(ValueError, match="outcomes"):
            make()


def test_the_rejected_draws_are_those_of_the_scalar_coin() -> None:
    for n in range(1, 257):
        rejected = [r for r in range(256) if r - r % n > int(last_start(n, SHORT))]
        assert rejected == list(range(256 - 256 % n, 256)), n


@given(st.lists(st.one_of(st.integers(1, UNIT - 1), st.integers(1, 1023).map(lambda t: t << 43)), max_size=40))
def test_an_index_is_found_as_the_scalar_coin_finds_it(cuts: list[int]) -> None:
    borders = [0, *sorted(set(cuts)), UNIT]
    tables = weights([high - low for low, high in pairwise(borders)])
    numbers = {near for border in borders for near in (border - 1, border, border + 1) if 0 <= near < UNIT}
    for fine in numbers:
        assert find(np.uint64(fine), *tables) == bisect_right(borders[1:], fine)


@pytest.mark.parametrize("k", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 4094, 4095, 4096, 4104, 9001])
def test_masks_are_counted_bit_by_bit(k: int, count: int) -> None:
    rng = np.random.default_rng(k)
    flags = np.zeros((count, 64 * -(-k // 64)), np.uint8)
    flags[:, :k] = rng.random((count, k)) < rng.random(k)
    flags[:, 0] = 1
    cells = np.full(k, 5, np.int64)
    add_masks(np.packbits(flags, axis=1, bitorder="little").view("<u8"), cells)
    assert np.array_equal(cells, 5 + flags[:, :k].sum(axis=0, dtype=np.int64))


# --- words -------------------------------------------------------------------------------------------------------
def test_words_are_a_published_vector_of_aes_in_counter_mode() -> None:
    """NIST SP 800-38A, F.5.5, CTR-AES256.Encrypt: key, initial counter, output blocks."""
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    first = int("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", 16)
    expected = (
        "0bdf7df1591716335e9a8b15c860c502"
        "5a6e699d536119065433863c8f657b94"
        "1bc12c9c01610d5d0d8bd6a3378eca62"
        "2956e1c8693536b1bee99c73a31576b6"
    )
    assert WordStream(key, 2).rows(first, 4).tobytes().hex() == expected
    assert WordStream(key, 4).rows(first // 2, 2).tobytes().hex()[32:] == expected[:96]


@given(st.integers(0, 2**40), st.integers(0, 30), st.sampled_from([2, 4, 10, 152]))
def test_words_are_encrypted_counters(first: int, count: int, words: int) -> None:
    stream = WordStream(bytes(range(32)), words)
    blocks = range(first * words // 2, (first + count) * words // 2)
    encryptor = Cipher(algorithms.AES(stream.key), modes.ECB()).encryptor()
    expected = encryptor.update(b"".join(block.to_bytes(16, "big") for block in blocks))
    assert stream.rows(first, count).tobytes() == expected


def test_overflow_words_lie_above_all_spans() -> None:
    stream = WordStream(bytes(range(32)), 2)
    counters = [2**127 + 5 * 2**32 + block for block in range(3)]
    encryptor = Cipher(algorithms.AES(stream.key), modes.ECB()).encryptor()
    expected = encryptor.update(b"".join(counter.to_bytes(16, "big") for counter in counters))
    assert b"".join(word.to_bytes(8, "little") for word in islice(stream.overflow(5), 6)) == expected


@given(st.integers(0, 1000), st.integers(1, 200), st.integers(1, 200))
def test_rows_do_not_depend_on_the_cut(first: int, count: int, size: int) -> None:
    stream = WordStream.seeded(6, 1)
    whole = stream.rows(first, count)
    pieces = [rows.copy() for rows in stream.chunks(first, first + count, size)]
    assert np.array_equal(np.concatenate(pieces), whole)
    assert np.array_equal(stream.rows(first + count - 1, 1)[0], whole[-1])
    assert stream.rows(first, 0).shape == (0, 6)


def test_large_rows_are_filled_to_the_end() -> None:
    stream = WordStream.seeded(2, 1)
    whole = stream.rows(0, 20_001)  # more than one call of the cipher, and not a multiple of it
    assert np.array_equal(whole[-1], stream.rows(20_000, 1)[0])
    assert len(np.unique(whole)) == whole.size


@pytest.mark.parametrize("name", [*ORACLES, *MEANS])
def test_secure_calls_differ_and_a_seed_reproduces(name: str) -> None:
    mechanism = sv.mechanism(name, Integers(0, 99), epsilon=1)
    values = np.arange(100).repeat(3)

    def content(batch: Any) -> tuple[bytes, bytes]:
        return batch.payload.tobytes(), b"" if batch.public is None else batch.public.tobytes()

    assert content(privatize(mechanism, values)) != content(privatize(mechanism, values))
    seeded = content(privatize(mechanism, values, seed=7))
    assert seeded == content(privatize(mechanism, values, seed=7, threads=1))
    assert seeded != content(privatize(mechanism, values, seed=8))


@pytest.mark.parametrize("name", [*ORACLES, *MEANS])
@pytest.mark.parametrize("k", [128, 1024])
def test_large_batches_on_threads_equal_small_ones(name: str, k: int) -> None:
    """Default chunks, several stretches; the last reports against the scalar sampler."""
    mechanism = sv.mechanism(name, Integers(0, k - 1), epsilon=1)
    count = 400_000 // mechanism.words + 10
    codes = some_codes(mechanism.channel, count, 4)
    stream = WordStream.seeded(mechanism.words, 4)
    batch = draw(mechanism, codes, stream, threads=3)
    small = draw(mechanism, codes, stream, threads=1, chunk_bytes=5000)
    assert np.array_equal(batch.payload, small.payload)
    tail = list(batch[count - 5 :])
    for back, report in enumerate(range(count - 5, count)):
        assert tail[back] == scalar(mechanism.channel, codes[report], stream, report, FINE)[1]


def test_an_index_may_be_the_mask_of_the_next_stage() -> None:
    channel = Then(Subset(8, 1, UNIT // 2), Bits(3, UNIT // 2, UNIT // 4, "mask", 0))
    codes, stream = some_codes(channel, 40, 1), WordStream.seeded(Bare(channel).words, 1)
    assert_equal_to_scalar(channel, codes, stream, FINE, draw(Bare(channel), codes, stream))


def test_subsets_behind_another_stage_are_checked_too() -> None:
    channel = Then(Table([[UNIT // 8] * 8] * 3), Subset(8, 3, UNIT // 4 * 3))
    with pytest.raises(ReportError, match="Report 1 is invalid"):
        checked(Bare(channel), np.array([[0b111], [0b11]], np.uint64), None)


def test_tables_in_a_mix_are_checked_for_outputs_that_no_row_gives() -> None:
    half = UNIT // 2
    channel = Mix((half, half), (Subset(2, 1, half + 1), Table([[half, 0, half], [half - 1, 0, half + 1]])))
    reports = np.array([0, 1, 2, 4], np.uint8)
    assert checked(Bare(channel), reports, None).payload.tolist() == [0, 1, 2, 4]
    for wrong in (3, 5):
        with pytest.raises(ReportError, match="Report 1 is invalid"):
            checked(Bare(channel), np.array([0, wrong]), None)


@pytest.mark.slow
@settings(max_examples=20)
@given(several(), st.data())
def test_every_part_of_a_report_is_checked(channel: Each, data: Any) -> None:
    payload = np.frombuffer(
        data.draw(st.binary(min_size=8 * -(-channel.payload_bits // 64), max_size=8 * -(-channel.payload_bits // 64))),
        np.uint64,
    ).reshape(1, -1)
    if channel.contains(as_number(payload[0])):
        assert len(checked(Bare(channel), payload, None)) == 1
    else:
        with pytest.raises(ReportError, match="Report 0 is invalid"):
            checked(Bare(channel), payload, None)
    codes = some_codes(channel, 10, 1)
    batch = draw(Bare(channel), codes, WordStream.seeded(Bare(channel).words, 1))
    assert len(checked(Bare(channel), batch.payload, None)) == 10


def test_a_thread_takes_whole_chunks_a_few_at_a_time() -> None:
    found = [items_at_a_time(total, 10, 2) for total in (0, 1, 10, 80, 81, 10 * 8 * 31, 10 * 8 * 32, 10**9)]
    assert found == [10, 10, 10, 10, 20, 310, 320, 320]


def test_numbers_below_a_bound_are_drawn_again_from_the_first_one_beyond_the_last_full_run() -> None:
    words = np.arange(16, dtype=np.uint64)[:, None] << np.uint64(60)
    for outcomes, first in ((3, 15), (5, 15), (6, 12), (4, 16), (16, 16)):
        numbers, again = _below(Draws(words, None, np.zeros(16, np.uint8), 4), 0, outcomes)
        assert numbers.tolist() == [drawn % outcomes for drawn in range(16)]
        assert again.tolist() == [drawn >= first for drawn in range(16)]
