"""Channels: the shipped sampler, enumerated, against every closed form; and mutants, which must be found out."""

from __future__ import annotations

import hashlib
import itertools
import pickle
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sottovoce.core import channel as nodes
from sottovoce.core.arithmetic.hashing import bucket_start, collision, derived_words, hash_value, id_bytes, id_words
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import (
    Bits,
    Block,
    Chain,
    Channel,
    Contrast,
    HadamardSets,
    HashMap,
    Public,
    Rates,
    Subset,
    Table,
    Then,
    channel_from_spec,
)
from sottovoce.core.channel.base import NO_WORDS
from sottovoce.core.channel.compose import public as public_module
from sottovoce.core.channel.facets import Supporting, facet, need, rates_of
from sottovoce.core.channel.finite import block as block_module
from sottovoce.core.channel.finite import subset as subset_module
from sottovoce.core.coins import Coins, TapeCoins
from sottovoce.core.domain import Integers
from sottovoce.core.errors import ParameterError, PrivacyError, SpecError, TooLargeError
from sottovoce.core.exact import law, law_of, public_words, worst_ratio
from sottovoce.core.registry import mechanism
from sottovoce.core.specs import canonical
from tests.each import for_each

U = UNIT
ODD = (U * 618033988749895) // 10**15  # a probability without a pattern


def share(text: str) -> int:
    """A decimal probability in units."""
    return int(Fraction(text) * U)


def subset(k: int, w: int, over: str) -> Subset:
    """A subset channel whose keep lies between chance (0) and certainty (1)."""
    chance = Fraction(w, k)
    return Subset(k, w, int((chance + (1 - chance) * Fraction(over)) * U) or 1)


IDENTITY3 = [[U, 0, 0], [0, U, 0], [0, 0, U]]
ROUNDING = [[U, 0, 0], [U - ODD, ODD, 0], [0, U, 0], [0, ODD, U - ODD], [0, 0, U]]
DESIGNED = [
    [U // 2, U // 4, U // 8, U // 8],
    [U // 4, U // 2, U // 8, U // 8],
    [ODD // 2, ODD // 4, U - ODD, ODD - ODD // 2 - ODD // 4],
]
BLUR = [
    [share("0.75"), share("0.125"), share("0.125")],
    [share("0.5"), share("0.25"), share("0.25")],
    [U // 4, U // 4, U // 2],
]

CHANNELS: dict[str, Channel] = {
    **{f"subset {k} {w} {t}": subset(k, w, t) for k, w in ((2, 1), (3, 1), (5, 1), (9, 1)) for t in ("0.1", "0.9")},
    **{
        f"subset {k} {w}": subset(k, w, "0.3")
        for k, w in ((3, 2), (4, 2), (4, 3), (5, 2), (5, 3), (5, 4), (6, 3), (7, 2), (6, 5))
    },
    "subset, hardly informative": Subset(3, 1, U // 3 + 1),
    "subset, hardly private": Subset(3, 1, U - 1),
    "subset, hardly private set": Subset(5, 2, U - 1),
    "onehot 2": Bits(2, U // 2, U // 3),
    "onehot 4": Bits(4, share("0.8"), share("0.05")),
    "onehot, symmetric": Bits(3, ODD, U - ODD),
    "onehot, extreme": Bits(3, U - 1, 1),
    "onehot, each its own p": Bits(3, (U // 2, U // 3, ODD), U // 5),
    "onehot, each its own q": Bits(3, U // 2, (U // 4, U // 5, 1)),
    "onehot, all apart": Bits(4, (U // 2, share("0.9"), ODD, 7), (U // 4, share("0.1"), U // 5, 5)),
    "optional 1": Bits(1, share("0.9"), share("0.2"), "optional"),
    "optional 3": Bits(3, share("0.6"), share("0.2"), "optional"),
    "optional, all apart": Bits(3, (U // 2, share("0.99"), ODD), (U // 4, U // 3, share("0.01")), "optional"),
    "any mask 1": Bits(1, U // 2, U // 4, "mask", 0),
    "any mask 3": Bits(3, share("0.7"), share("0.3"), "mask", 0),
    "any mask, all apart": Bits(3, (U // 2, share("0.99"), ODD), (U // 4, U // 3, share("0.01")), "mask", 0),
    "mask of 1": Bits(3, share("0.7"), share("0.2"), "mask", 1),
    "mask of 2": Bits(4, share("0.7"), share("0.2"), "mask", 2),
    "mask of 2, all apart": Bits(4, (U // 2, share("0.9"), ODD, 7), (U // 4, share("0.1"), U // 5, 5), "mask", 2),
    "mask of 3 of 4, own p": Bits(4, (U // 2, share("0.9"), ODD, U - 1), U // 5, "mask", 3),
    "mask of all": Bits(2, U // 2, U // 4, "mask", 2),
    **{
        f"hadamard {codes} {order} {groups}": Block(HadamardSets(codes, order, groups), share(inside))
        for codes, order, groups, inside in (
            (2, 4, 1, "0.6"), (3, 4, 1, "0.9"), (5, 8, 1, "0.7"), (7, 8, 1, "0.51"), (6, 4, 2, "0.5"), (5, 4, 2, "0.3"),
            (7, 4, 4, "0.5"), (5, 4, 3, "0.6"), (2, 2, 2, "0.6"), (3, 2, 3, "0.4"), (14, 8, 2, "0.9"),
        )
    },
    "hash 4 to 2": Public(HashMap(4, 2, 4), subset(2, 1, "0.5")),
    "hash 3 to 3": Public(HashMap(3, 3, 4), subset(3, 1, "0.5")),
    "hash 2 to 4": Public(HashMap(2, 4, 4), subset(4, 1, "0.2")),
    "hash to sets": Public(HashMap(3, 4, 4), subset(4, 2, "0.2")),
    "hash to bits": Public(HashMap(3, 2, 4), Bits(2, U // 2, U // 3)),
    "hash to a row": Public(HashMap(3, 3, 4), Block(HadamardSets(3, 4, 1), share("0.8"))),

    "table": Table(DESIGNED),
    "table, one row": Table([[U // 2, U // 2]]),
    "table, equal rows": Table([[1, U - 1]] * 3),
    "rounded, then subset": Then(Table(ROUNDING), subset(3, 1, "0.4")),
    "rounded, then table": Then(Table(ROUNDING), Table(DESIGNED)),
    "rounded, then bits": Then(Table(ROUNDING), Bits(3, U // 2, U // 3)),
    "rounded, then hashed": Then(Table(IDENTITY3), Public(HashMap(3, 2, 4), subset(2, 1, "0.4"))),
    "blurred, then subset": Then(Table(BLUR), subset(3, 1, "0.4")),
    "subset, then subset": Then(subset(3, 1, "0.4"), subset(3, 1, "0.6")),
    "mask of 1, then subset": Then(Bits(2, share("0.7"), share("0.2"), "mask", 1), subset(4, 1, "0.5")),
    "set, then bits": Then(subset(4, 2, "0.4"), Bits(4, share("0.7"), share("0.4"), "mask", 0)),
    "then, then": Then(Then(subset(3, 1, "0.4"), Table(BLUR)), Then(Table(BLUR), subset(3, 1, "0.6"))),
    "rappor 2": Chain(Bits(2, share("0.75"), share("0.25")), Bits(2, share("0.7"), share("0.4"), "mask", 0)),
    "rappor 3": Chain(Bits(3, share("0.75"), share("0.25")), Bits(3, share("0.7"), share("0.4"), "mask", 0)),
    "rappor, all apart": Chain(
        Bits(2, (ODD, share("0.9")), (U // 5, U // 7)),
        Bits(2, (share("0.7"), share("0.6")), (share("0.4"), share("0.1")), "mask", 0),
    ),
    "rappor, optional": Chain(Bits(2, U // 2, U // 4, "optional"), Bits(2, share("0.7"), share("0.4"), "mask", 0)),
    "rappor of one-bit masks": Chain(
        Bits(2, U // 2, U // 4, "mask", 1), Bits(2, share("0.7"), share("0.4"), "mask", 0)
    ),
    "chain of sets": Chain(subset(3, 2, "0.4"), Bits(3, share("0.7"), share("0.4"), "mask", 0)),
    "rappor of masks": Chain(Bits(2, U // 2, U // 4, "mask", 0), Bits(2, share("0.7"), share("0.4"), "mask", 0)),
    "chain of subsets": Chain(subset(3, 1, "0.4"), subset(3, 1, "0.6")),
}  # fmt: skip


# --- enumeration against closed forms -----------------------------------------------------------------


def alphabet(channel: Channel) -> list[int]:
    """Every number that the channel says can be a report."""
    return [report for report in range(-2, (1 << channel.payload_bits) + 2) if channel.contains(report)]


Laws = dict[int, dict[tuple[tuple[int, int], int], Fraction]]


def enumerate_laws(channel: Channel) -> Laws:
    return {code: law(channel, code) for code in channel.codes()}


def check_law(channel: Channel, laws: Laws) -> None:
    """The enumerated law sums to one, is the likelihood, has the ratio, and fills the alphabet."""
    codes = list(channel.codes())
    ids = list(public_words(channel))
    reports = alphabet(channel)
    for code in codes:
        assert sum(laws[code].values()) == 1
        for words in ids:
            for report in reports:
                enumerated = laws[code].get((words, report), Fraction(0)) * len(ids)
                assert enumerated == channel.likelihood(report, code, words)
        assert {report for _, report in laws[code]} == set(reports)  # whatever the code is
    assert worst_ratio(list(laws.values())) == channel.ratio()


def check_rates(channel: Channel, laws: Laws) -> None:
    """Support rates, for every pair of codes."""
    rates = rates_of(channel)
    if rates is None:
        return
    candidates = [v for v in channel.codes() if not is_none_of(channel, v)]
    for code in channel.codes():
        enumerated = laws[code]
        for candidate in candidates:
            plus = supported(channel, enumerated, candidate)
            known = rates_of(channel, candidate)
            if isinstance(known, Contrast):
                check_contrast(channel, enumerated, code, candidate, known, plus)
            else:
                assert isinstance(known, Rates)
                assert plus == (known.own if candidate == code else known.other)
                assert known.own > known.other
            if not need(channel, Supporting).rates_vary:
                assert known == rates


def is_none_of(channel: Channel, code: int) -> bool:
    """The code of an optional encoding that sets no bit: nothing supports it."""
    first = channel.first if isinstance(channel, Chain) else channel
    return isinstance(first, Bits) and first.encoding == "optional" and code == first.k


def supported(channel: Channel, enumerated: dict[Any, Fraction], *candidates: int) -> Fraction:
    """The probability that a report supports all candidates."""
    supports = need(channel, Supporting).supports
    found = (p for (words, y), p in enumerated.items() if all(supports(y, v, words) for v in candidates))
    return sum(found, Fraction(0))


def check_contrast(
    channel: Channel, enumerated: dict[Any, Fraction], code: int, candidate: int, known: Contrast, plus: Fraction
) -> None:
    assert isinstance(channel, Block) and isinstance(channel.sets, HadamardSets)
    order, groups = channel.sets.order, channel.sets.groups
    group = candidate % groups
    hit = sum((p for (_, y), p in enumerated.items() if y // order == group), Fraction(0))
    assert hit == (known.hit_own if code % groups == group else known.hit_other)
    if candidate == code:
        assert plus == known.plus_own
        assert plus - (hit - plus) == known.slope > 0
    else:
        assert plus == hit - plus  # +1 and -1 equally often


def check_pairs(channel: Channel, laws: Laws) -> None:
    """Joint supports of two codes."""
    supporting = facet(channel, Supporting)
    known = supporting and supporting.pair()
    if known is None:
        return
    for code in channel.codes():
        enumerated = laws[code]
        for a, b in itertools.combinations(range(channel.inputs), 2):
            if not is_none_of(channel, b):
                expected = known[0] if code in (a, b) else known[1]
                assert supported(channel, enumerated, a, b) == expected


def check_everything(channel: Channel) -> None:
    laws = enumerate_laws(channel)
    check_law(channel, laws)
    check_rates(channel, laws)
    check_pairs(channel, laws)


@pytest.mark.parametrize("name", CHANNELS)
def test_closed_forms_are_what_the_sampler_does(name: str) -> None:
    check_everything(CHANNELS[name])


@for_each("name", CHANNELS)
def test_a_sampler_passes_exactly_its_span(name: str, seed: int) -> None:
    channel = CHANNELS[name]
    draw = random.Random(f"{seed} {name}")
    seen = set()
    for code in channel.codes():
        for turn in range(40):
            words = [draw.getrandbits(64) if turn > 1 else -turn % (1 << 64) for _ in range(2 + channel.words)]
            coins = TapeCoins(words, iter(lambda: draw.getrandbits(64), None), bits=draw.choice([8, 53]))
            coins.begin(2 + channel.words)
            public = (coins.word(), coins.word())
            report = channel.sample(code, coins, public)
            assert coins.position == 2 + channel.words
            assert type(report) is int and channel.contains(report) and report < 1 << channel.payload_bits
            seen.add(report)
    assert len(seen) > 1


@pytest.mark.parametrize(
    "channel",
    [
        Subset(2, 1, 129 << 45),
        Subset(5, 1, 100 << 45),
        Block(HadamardSets(3, 4, 1), 150 << 45),
        Table([[1 << 45, 55 << 45, 200 << 45], [200 << 45, 55 << 45, 1 << 45]]),
    ],
    ids=lambda c: f"{c.kind} {c.inputs}",
)
def test_words_give_the_enumerated_law(channel: Channel) -> None:
    """Eight bits of each word, all of them walked through: no draw of these channels can be rejected."""
    for code in list(channel.codes())[-1:]:
        counts: Counter[int] = Counter()
        for words in itertools.product(range(256), repeat=channel.words):
            coins = TapeCoins([word << 56 | 0xABCDEF for word in words], bits=8)
            coins.begin(channel.words)
            counts[channel.sample(code, coins)] += 1
        by_words = {(NO_WORDS, report): Fraction(count, 256**channel.words) for report, count in counts.items()}
        assert by_words == law(channel, code)


@for_each("name", CHANNELS)
def test_channels_are_plain_data(name: str) -> None:
    channel = CHANNELS[name]
    again = channel_from_spec(channel.spec())
    assert type(again) is type(channel) is getattr(nodes, type(channel).__name__)
    assert again == channel and hash(again) == hash(channel) and canonical(again.spec()) == canonical(channel.spec())
    assert pickle.loads(pickle.dumps(channel)) == channel
    assert not hasattr(channel, "__dict__")
    with pytest.raises((AttributeError, TypeError)):
        channel.kind = "other"  # type: ignore[misc]
    for key in channel.spec():
        with pytest.raises(SpecError):
            channel_from_spec({k: v for k, v in channel.spec().items() if k != key})
        for wrong in (True, "1", None, 1.5):
            with pytest.raises((SpecError, ParameterError)):
                channel_from_spec({**channel.spec(), key: wrong})
    with pytest.raises(SpecError):
        channel_from_spec({**channel.spec(), "more": 0})


def test_a_kind_that_is_no_text_is_refused() -> None:
    for spec in (
        {"node": []},
        {**CHANNELS["hash 3 to 3"].spec(), "map": {"kind": {}}},
        {**CHANNELS["hadamard 3 4 1"].spec(), "sets": {"kind": []}},
    ):
        with pytest.raises(SpecError):
            channel_from_spec(spec)


def test_a_composed_channel_from_its_spec_keeps_its_closed_forms() -> None:
    """Regression: classes made twice by `slots=True` were registered in their first form."""
    chain = channel_from_spec(Chain(Bits(30, U // 2, U // 4), Bits(30, U // 2, U // 4, "mask", 0)).spec())
    assert isinstance(chain, Chain) and isinstance(chain.first, Bits)
    assert chain.ratio() > 1 and isinstance(chain.rates(29), Rates)


# --- miniatures -----------------------------------------------------------------------------------------


@for_each("name", CHANNELS)
def test_miniatures_are_small_and_of_the_same_kind(name: str) -> None:
    channel = CHANNELS[name]
    if name == "subset, hardly informative":
        return  # its miniatures are rounded to chance, and refused
    for small in channel.miniatures():
        assert type(small) is type(channel)
        assert small.inputs <= 16 and small.payload_bits <= 8
        assert small.ratio() <= channel.ratio() or isinstance(channel, (Then, Chain, Table, Bits))


BUILT = [(name, epsilon) for name in ("grr", "subset", "sue", "oue", "olh", "hadamard") for epsilon in ("0.5", "3")]


@pytest.mark.parametrize(("name", "epsilon"), BUILT)
def test_miniatures_of_the_registry_prove_their_closed_forms(name: str, epsilon: str) -> None:
    big = mechanism(name, Integers(0, 999), epsilon=epsilon).channel
    small = big.miniatures()
    for channel in small:
        assert type(channel) is type(big)
        assert 0 <= big.ratio() - channel.ratio() < Fraction(1, 10**9)
        check_everything(channel)
    assert small


# --- hashing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [4, 6])
def test_the_hash_family_is_exactly_pairwise_independent(bits: int) -> None:
    half = 1 << bits // 2
    size = 1 << bits
    for u, v in itertools.combinations(range(half), 2):
        joint = Counter(
            ((a * u + b) % size // half, (a * v + b) % size // half) for a in range(size) for b in range(size)
        )
        assert joint == dict.fromkeys(itertools.product(range(half), repeat=2), size)


@pytest.mark.parametrize("bits", [4, 6])
def test_collisions_have_the_stated_probability(bits: int) -> None:
    half, size = 1 << bits // 2, 1 << bits
    pairs = list(itertools.combinations(range(half), 2))
    for g in range(1, half + 1):
        for u, v in pairs if bits == 4 else random.Random(g).sample(pairs, 3):
            same = sum(
                hash_value(a, b, u, g, bits) == hash_value(a, b, v, g, bits) for a in range(size) for b in range(size)
            )
            assert Fraction(same, size * size) == collision(g, bits)


def test_collisions_with_eight_bits() -> None:
    for g, (u, v) in ((3, (0, 15)), (7, (6, 14)), (16, (1, 2))):
        same = sum(hash_value(a, b, u, g, 8) == hash_value(a, b, v, g, 8) for a in range(256) for b in range(256))
        assert Fraction(same, 1 << 16) == collision(g, 8)


@pytest.mark.parametrize("g", [2, 3, 5, 1000, (1 << 20) - 1, 1 << 20])
def test_buckets_of_full_words(g: int, seed: int) -> None:
    draw = random.Random(seed)
    assert bucket_start(0, g) == 0 and bucket_start(g, g) == 1 << 32
    for y in {1, g - 1, *(draw.randrange(1, g) for _ in range(20))}:
        start = bucket_start(y, g)
        assert start * g >> 32 == y and (start - 1) * g >> 32 == y - 1
    if g <= 1000:
        sizes = [bucket_start(y + 1, g) - bucket_start(y, g) for y in range(g)]
        assert collision(g) == Fraction(sum(size * size for size in sizes), 1 << 64)
    assert Fraction(1, g) <= collision(g) < Fraction(1, g) * (1 + Fraction(g, 1 << 32)) ** 2
    a, b, v = (draw.getrandbits(64) for _ in range(3))
    v >>= 32
    assert bucket_start(hash_value(a, b, v, g), g) <= (a * v + b) % 2**64 // 2**32
    assert (a * v + b) % 2**64 // 2**32 < bucket_start(hash_value(a, b, v, g) + 1, g)


@pytest.mark.parametrize("bits", [4, 6, 8])
def test_buckets_of_short_words(bits: int) -> None:
    half = 1 << bits // 2
    for g in range(1, half + 1):
        first = {}
        for x in range(half):
            first.setdefault(hash_value(0, x << bits // 2, 0, g, bits), x)
        assert first == {y: bucket_start(y, g, bits) for y in range(g)}


def test_hash_by_hand() -> None:
    # a = 2**63 + 2**33, v = 3: a v mod 2**64 = 2**63 + 3 * 2**33; its upper half is 2**31 + 6; times 10 / 2**32: 5.
    assert hash_value((1 << 63) + (1 << 33), 0, 3, 10) == 5
    assert hash_value(0, (1 << 64) - 1, 12345, 10) == 9
    assert hash_value(0, 0, 12345, 10) == 0


def test_public_words_of_nested_nodes_are_apart() -> None:
    words = (0x0123456789ABCDEF, 0xFEDCBA9876543210)
    raw = id_bytes(words)
    assert raw == bytes.fromhex("efcdab8967452301" + "1032547698badcfe") and id_words(raw) == words
    assert derived_words(words, 0) == words
    digest = hashlib.sha256(raw + b"\x02").digest()
    assert derived_words(words, 2) == (int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little"))
    inner = Public(HashMap(3, 3), subset(3, 1, "0.5"))
    outer = Public(HashMap(1000, 3), inner)
    assert (inner.publics, outer.publics) == (1, 2)
    for code in (0, 999):
        first = hash_value(*derived_words(words, 1), code, 3)
        second = hash_value(*words, first, 3)
        enumerated = law_of(lambda coins, c=code: outer.sample(c, coins, words))
        assert enumerated == {y: inner.inner.likelihood(y, second) for y in range(3)}
        assert all(outer.likelihood(y, code, words) == p for y, p in enumerated.items())
        assert outer.supports(second, code, words)
    assert outer.ratio() == inner.inner.ratio()


def test_full_words_are_too_many_to_enumerate() -> None:
    with pytest.raises(TooLargeError):
        law(Public(HashMap(3, 3), subset(3, 1, "0.5")), 0)


# --- sets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "order", "groups"), [(2, 4, 1), (7, 8, 1), (31, 32, 1), (14, 8, 2), (9, 4, 3), (4, 2, 4), (40, 16, 4)]
)
def test_hadamard_sets_are_numbered_without_gaps(codes: int, order: int, groups: int) -> None:
    sets = HadamardSets(codes, order, groups)
    assert (sets.outputs, sets.size) == (order * groups, order // 2)
    members = []
    for code in range(codes):
        inside = [sets.output(code, i, True) for i in range(sets.size)]
        outside = [sets.output(code, i, False) for i in range(sets.outputs - sets.size)]
        assert sorted(inside + outside) == list(range(sets.outputs))
        assert all(sets.member(code, y) for y in inside) and not any(sets.member(code, y) for y in outside)
        members.append(set(inside))
    for a, b in itertools.combinations(range(codes), 2):
        assert len(members[a] & members[b]) == (order // 4 if a % groups == b % groups else 0)


# --- what a node refuses ------------------------------------------------------------------------------------

REFUSED: list[Callable[[], Channel]] = [
    lambda: Subset(1, 1, U // 2),
    lambda: Subset(3, 0, U // 2),
    lambda: Subset(3, 3, U // 2),
    lambda: Subset(3, 1, 0),
    lambda: Subset(3, 1, U),
    lambda: Subset(3, 1, U // 3),  # chance: the report says nothing
    lambda: Subset(3, 1, 1),  # the true code less often than others
    lambda: Subset(2, True, U - 1),
    lambda: Subset(3, 1, 0.5),  # type: ignore[arg-type]
    lambda: Subset((1 << 32) + 1, 1, U - 1),
    lambda: Bits(1, U // 2, U // 4),
    lambda: Bits(2, U // 4, U // 2),
    lambda: Bits(2, U // 2, U // 2),
    lambda: Bits(2, U, U // 2),
    lambda: Bits(2, U // 2, 0),
    lambda: Bits(2, (U // 2,), U // 4),
    lambda: Bits(2, (U // 2, U // 5), U // 4),
    lambda: Bits(2, (U // 2, True), U // 4),
    lambda: Bits(2, [U // 2, U // 2], U // 4),  # type: ignore[arg-type]
    lambda: Bits(2, U // 2, U // 4, "unary"),
    lambda: Bits(2, U // 2, U // 4, "onehot", 2),
    lambda: Bits(2, U // 2, U // 4, "mask", 3),
    lambda: Bits((1 << 24) + 1, U // 2, U // 4),
    lambda: Block(HadamardSets(3, 4, 1), U // 2),  # chance
    lambda: Block(HadamardSets(3, 4, 1), U // 4),
    lambda: Block(HadamardSets(3, 4, 1), U),
    lambda: Block(HadamardSets(4, 4, 1), U - 1),  # only three rows
    lambda: Block(HadamardSets(3, 6, 1), U - 1),
    lambda: Public(HashMap(3, 3), subset(4, 1, "0.5")),
    lambda: Public(HashMap(3, 3, 5), subset(3, 1, "0.5")),
    lambda: Public(HashMap(5, 3, 4), subset(3, 1, "0.5")),  # five codes in words of four bits
    lambda: Public(HashMap((1 << 32) + 1, 3), subset(3, 1, "0.5")),
    lambda: Table([]),
    lambda: Table([[U]]),
    lambda: Table([[U, 0], [U]]),
    lambda: Table([[U, 1], [U, 0]]),
    lambda: Table([[U + 1, -1], [U, 0]]),
    lambda: Table([[U - 1, 0], [U, 0]]),
    lambda: Then(Table(IDENTITY3), subset(4, 1, "0.5")),
    lambda: Then(Public(HashMap(3, 2), subset(2, 1, "0.5")), subset(2, 1, "0.5")),
    lambda: Chain(Bits(2, U // 2, U // 4), Bits(2, U // 2, U // 4)),  # masks are not onehot codes
    lambda: Chain(Bits(2, U // 2, U // 4), Bits(3, U // 2, U // 4, "mask", 0)),
]


@for_each("index", range(len(REFUSED)))
def test_a_wrong_node_is_refused(index: int) -> None:
    with pytest.raises(ParameterError) as caught:
        REFUSED[index]()
    assert str(caught.value).endswith(".")


def test_different_supports_have_no_ratio() -> None:
    for rows in (IDENTITY3, ROUNDING, [[U - 1, 1], [U, 0]]):
        with pytest.raises(PrivacyError):
            Table(rows).ratio()
    assert Table([[U // 2, U // 2, 0]] * 2).ratio() == 1  # an output that never occurs tells nothing


def test_a_composition_with_different_supports_has_no_ratio() -> None:
    for composed in (Then, Chain):
        with pytest.raises(PrivacyError):
            composed(Table([[U, 0], [U // 2, U // 2]]), Table([[U, 0], [0, U]])).ratio()


def test_an_output_that_never_occurs_is_no_report() -> None:
    assert not Table([[U // 2, U // 2, 0]] * 2).contains(2)


def test_weights_of_a_table_are_integers() -> None:
    for rows in ([[U / 2, U / 2]] * 2, [[True, U - 1]] * 2, [["1", U - 1]] * 2, [[None, U]] * 2):
        with pytest.raises(ParameterError):
            Table(rows)


@pytest.mark.parametrize("whole", [np.int64, np.uint64])
def test_a_node_keeps_plain_integers(whole: type) -> None:
    """NumPy's would overflow in the closed forms, and no specification holds them."""
    for plain, same in (
        (Subset(5, 2, U // 2), Subset(whole(5), whole(2), whole(U // 2))),
        (Bits(2, U // 2, U // 4), Bits(whole(2), whole(U // 2), whole(U // 4), "onehot", whole(1))),
        (Bits(2, (U // 2, 7), (3, 4)), Bits(2, (whole(U // 2), whole(7)), (whole(3), whole(4)))),
        (HashMap(5, 3), HashMap(whole(5), whole(3), whole(64))),
        (HadamardSets(3, 4, 1), HadamardSets(whole(3), whole(4), whole(1))),
        (Block(HadamardSets(3, 4, 1), U - 1), Block(HadamardSets(3, 4, 1), whole(U - 1))),
        (Table([[1, U - 1]]), Table([[whole(1), whole(U - 1)]])),
    ):
        assert same == plain and canonical(same.spec()) == canonical(plain.spec())


def test_the_code_that_sets_no_bit_has_no_rates() -> None:
    for channel in (CHANNELS["optional 3"], CHANNELS["rappor, optional"]):
        assert rates_of(channel, channel.inputs - 1) is None
        assert isinstance(rates_of(channel, channel.inputs - 2), Rates)


@for_each("name", CHANNELS)
def test_a_channel_says_whether_its_codes_are_indices(name: str) -> None:
    """A domain is fitted to `inputs`; an error for some of its values would tell them."""
    channel = CHANNELS[name]
    codes = list(channel.codes())
    assert channel.codes_are_indices is (codes == list(range(channel.inputs)))
    for code in set(range(min(channel.inputs, 16))) - set(codes):
        coins = TapeCoins([0] * channel.words)
        coins.begin(channel.words)
        with pytest.raises(ValueError):
            channel.sample(code, coins)


@pytest.mark.parametrize("node", ["after rounding", "after a hash"])
def test_a_code_that_cannot_be_sampled_is_refused_beforehand(node: str) -> None:
    inner = Bits(2, share("0.75"), U // 4, "mask", 1)
    identity = Table([[U if i == j else 0 for j in range(4)] for i in range(4)])
    build: dict[str, Callable[[], Channel]] = {
        "after rounding": lambda: Then(identity, inner),
        "after a hash": lambda: Public(HashMap(10, 4), inner),
    }
    with pytest.raises(ParameterError):
        build[node]()


# --- timing by structure --------------------------------------------------------------------------------------


class Traced(TapeCoins):
    """Coins that write down what is asked of them."""

    __slots__ = ("asked",)

    def __init__(self, words: list[int]) -> None:
        super().__init__(words)
        self.asked: list[tuple[str, int]] = []

    def _take(self, words: int) -> int:
        self.asked.append(("take", words))
        return super()._take(words)


@pytest.mark.parametrize("name", ["onehot 4", "onehot, all apart", "mask of 2", "table", "hadamard 6 4 2"])
def test_the_words_read_do_not_depend_on_the_code(name: str, seed: int) -> None:
    channel = CHANNELS[name]
    draw = random.Random(seed)
    for _ in range(50):
        words = [draw.getrandbits(64) for _ in range(channel.words)]
        traces = []
        for code in channel.codes():
            coins = Traced(words)
            coins.begin(channel.words)
            channel.sample(code, coins)
            traces.append(coins.asked)
        assert all(trace == traces[0] for trace in traces)


# --- power: a law that is wrong by one per cent, or in one detail, is found -------------------------------------


def percent(num: int) -> int:
    return num + num // 100


Sampler = Callable[..., int]


def wrong_keep(right: Sampler) -> Sampler:
    return lambda self, code, coins, public=NO_WORDS: right(Subset(self.k, self.w, percent(self.keep)), code, coins)


def wrong_p(right: Sampler) -> Sampler:
    def sample(self: Bits, code: int, coins: Coins, public: Any = NO_WORDS) -> int:
        p = tuple(map(percent, self.p)) if isinstance(self.p, tuple) else percent(self.p)
        return right(Bits(self.k, p, self.q, self.encoding, self.ones), code, coins)

    return sample


def wrong_q(right: Sampler) -> Sampler:
    def sample(self: Bits, code: int, coins: Coins, public: Any = NO_WORDS) -> int:
        q = tuple(map(percent, self.q)) if isinstance(self.q, tuple) else percent(self.q)
        return right(Bits(self.k, self.p, q, self.encoding, self.ones), code, coins)

    return sample


def keeps_the_background(right: Sampler) -> Sampler:
    """A sampler that forgets to clear the bits of the code before it draws them."""

    def sample(self: Bits, code: int, coins: Coins, public: Any = NO_WORDS) -> int:
        return coins.flips(self.k, self.q) | right(self, code, coins) & self.mask(code)

    return sample


def wrong_inside(right: Sampler) -> Sampler:
    return lambda self, code, coins, public=NO_WORDS: right(Block(self.sets, percent(self.inside)), code, coins)


def wrong_row(right: Sampler) -> Sampler:
    def sample(self: Table, code: int, coins: Coins, public: Any = NO_WORDS) -> int:
        row = list(self.rows[code])
        top = row.index(max(row))
        row[top], row[top - 1] = row[top] - row[top] // 100, row[top - 1] + row[top] // 100
        return coins.pick(list(itertools.accumulate(row)))

    return sample


def swapped_stages(right: Sampler) -> Sampler:
    return lambda self, code, coins, public=NO_WORDS: self.second.sample(code, coins, public)


MUTANTS: list[tuple[type[Channel], Callable[[Sampler], Sampler], str]] = [
    (Subset, wrong_keep, "subset 5 1 0.1"),
    (Subset, wrong_keep, "subset 5 2"),
    (Subset, wrong_keep, "hash 3 to 3"),
    (Subset, wrong_keep, "hash to sets"),
    (Subset, wrong_keep, "rounded, then subset"),
    (Subset, wrong_keep, "chain of subsets"),
    (Bits, wrong_p, "onehot 4"),
    (Bits, wrong_p, "mask of 2"),
    (Bits, wrong_p, "any mask 3"),
    (Bits, wrong_p, "optional 3"),
    (Bits, wrong_p, "rappor 2"),
    (Bits, wrong_q, "onehot 4"),
    (Bits, wrong_q, "onehot, each its own q"),
    (Bits, wrong_q, "rappor 3"),
    (Bits, keeps_the_background, "onehot 2"),
    (Block, wrong_inside, "hadamard 3 4 1"),
    (Block, wrong_inside, "hadamard 6 4 2"),
    (Block, wrong_inside, "hash to a row"),
    (Table, wrong_row, "table"),
    (Table, wrong_row, "rounded, then table"),
    (Then, swapped_stages, "subset, then subset"),
    (Chain, swapped_stages, "chain of subsets"),
]


@pytest.mark.parametrize(("node", "mutate", "name"), MUTANTS, ids=lambda x: getattr(x, "__name__", x))
def test_a_wrong_sampler_is_found(
    node: type[Channel], mutate: Callable[[Sampler], Sampler], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = CHANNELS[name]
    monkeypatch.setattr(node, "sample", mutate(node.sample))
    laws = enumerate_laws(channel)
    with pytest.raises(AssertionError):
        check_law(channel, laws)
    if rates_of(channel) is not None:
        with pytest.raises(AssertionError):
            check_rates(channel, laws)


DETAILS: list[tuple[Any, str, Any, str]] = [
    (subset_module, "_skip", lambda index, code: index, "subset 3 1 0.1"),
    (subset_module, "_skip", lambda index, code: index + 1 if index > code else index, "subset 5 2"),
    (block_module.HadamardSets, "_half", lambda self, code, index, parity: index + parity, "hadamard 3 4 1"),
    (block_module.HadamardSets, "_beyond", lambda self, code, index: index, "hadamard 6 4 2"),
    (public_module, "hash_value", lambda a, b, v, g, bits: ((a * v + b) % 16 & 3) * g >> 2, "hash 3 to 3"),
    (public_module, "hash_value", lambda a, b, v, g, bits: (a * v % 16 >> 2) * g >> 2, "hash 4 to 2"),
    (public_module, "collision", lambda g, bits: Fraction(1, g), "hash 3 to 3"),
    (Subset, "ratio", lambda self: Fraction(self.keep * (self.k - 1), UNIT - self.keep), "subset 5 2"),
    (Subset, "rates", lambda self, code=0: Rates(Fraction(self.keep, U), Fraction(1, self.k)), "subset 5 2"),
    (Subset, "pair", lambda self: (Fraction(0), Fraction(0)), "subset 5 2"),
    (Bits, "ratio", lambda self: Fraction(self.p, self.q), "onehot 4"),
    (Chain, "ratio", lambda self: self.second.ratio(), "rappor 2"),
    (Then, "ratio", lambda self: self.second.ratio(), "blurred, then subset"),
    (Subset, "contains", lambda self, report: 0 <= report < 1 << self.k, "subset 5 2"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("owner", "attribute", "wrong", "name"), DETAILS, ids=lambda x: x if isinstance(x, str) else ""
)
def test_a_wrong_detail_is_found(
    owner: Any, attribute: str, wrong: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = CHANNELS[name]
    monkeypatch.setattr(owner, attribute, wrong)
    with pytest.raises((AssertionError, OverflowError)):
        check_everything(channel)
