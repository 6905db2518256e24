"""A museum of broken channels: mistakes of papers and of released code, each beside its honest sibling.

An exhibit is what would ship. Most inherit the closed forms of an honest node, so that only a look at the sampler
itself, or at the bytes it sends, can tell. `epsilon` is the exact loss that the audit must find (None where the
instance is too large to enumerate and the closed form of the parent is what it states), `problem` a sentence that
must be among its findings.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import ClassVar

from sottovoce.core.arithmetic.hashing import hash_value, id_bytes, id_words
from sottovoce.core.arithmetic.rational import UNIT, ceil_unit, floor_unit, odds
from sottovoce.core.channel import Bits, Chain, Channel, HashMap, Public, Subset, Then
from sottovoce.core.channel.base import NO_WORDS, Words
from sottovoce.core.channel.facets import stages_of
from sottovoce.core.coins import Coins
from sottovoce.core.domain import Integers
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.core.registry import mechanism
from sottovoce.core.specs import Spec
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.privacy.drawn import NOT_REPEATABLE, UNREADABLE, WRONG_ID, WRONG_SUPPORT
from sottovoce.privacy.forever import WRONG_MEMO
from sottovoce.privacy.problems import INFINITE, LENGTH, WRONG_LAW, WRONG_RATIO
from tests.museum.tables import (
    aaa,
    answer_at_random,
    budget,
    group_nprr,
    group_nprr_loss,
    histogram_encoding,
    laplace,
    rounding,
    unequal_supports,
)

MORE = "more than the"
NOT_FOLLOWED = "cannot be followed"
INF = math.inf
Subject = Mechanism | Channel


@dataclass(frozen=True)
class Exhibit:
    """What is wrong, what ships, what should ship, for which claim, and what the audit must find."""

    title: str
    broken: Subject
    honest: Subject
    claim: str
    epsilon: float | None
    problem: str


# --- samplers that are not what their closed forms say ---------------------------------------------------
class NeighbourNeverDrawn(Subset):
    """Subset selection that skips the value after the true one (erratum 14)."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        kept = coins.flip(self.keep)
        pool = [v for v in range(self.k) if v not in (code, (code + 1) % self.k)]
        if self.w == 1:
            return code if kept else pool[coins.below(len(pool))]
        report = 1 << code if kept else 0
        for _ in range(self.w - kept):
            report |= 1 << pool.pop(coins.below(len(pool)))
        return report


class UnshuffledPermutation(Subset):
    """The others are taken from a permutation that was never shuffled."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        kept = coins.flip(self.keep)
        others = [v for v in range(self.w + 1) if v != code][: self.w]
        return code if kept else others[0]


class UnevenEnds(Subset):
    """Another value by rounding a uniform number: both ends get half of what is theirs."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        if coins.flip(self.keep):
            return code
        index = (coins.below(2 * (self.k - 2)) + 1) // 2
        return index + (index >= code)


class OnePercentOff(Subset):
    """A keep probability that was typed a second time, one per cent too high."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        if coins.flip(self.keep * 101 // 100):
            return code
        index = coins.below(self.k - 1)
        return index + (index >= code)


class FloatSampler(Subset):
    """Right probabilities, but from the floating-point generator of the language."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        if random.random() < self.keep / UNIT:
            return code
        index = int(random.random() * (self.k - 1))
        return index + (index >= code)


class FloatLiar(FloatSampler):
    """The same, and a closed form that agrees with a law without coins."""

    __slots__ = ()

    def ratio(self) -> Fraction:
        return Fraction(1)


class RawWords(Subset):
    """Reads words itself: biased by a remainder, and not to be enumerated."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        return code if coins.flip(self.keep) else coins.word() % self.k


class FirstIsTrue(Subset):
    """Keeps state: the first report after a start is the truth."""

    __slots__ = ()
    fresh: ClassVar[list[bool]] = [True]

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        first, FirstIsTrue.fresh[0] = FirstIsTrue.fresh[0], False
        return code if first else Subset.sample(self, code, coins, public)


def restart() -> None:
    """A device starts anew."""
    FirstIsTrue.fresh[0] = True


class EveryTenthIsTrue(Subset):
    """Keeps state: a forgotten line for debugging lets each tenth report through."""

    __slots__ = ()
    count: ClassVar[list[int]] = [0]

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        EveryTenthIsTrue.count[0] += 1
        return code if EveryTenthIsTrue.count[0] % 10 == 0 else Subset.sample(self, code, coins, public)


class NeverCleared(Bits):
    """RAPPOR as it was borrowed (erratum 14): a set bit stays set."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        return Bits.sample(self, code, coins, public) | self.mask(code)


class PerBitBudget(Bits):
    """Spends epsilon on each bit and calls p / q the ratio (erratum 4: two bits differ, so it is twice that)."""

    __slots__ = ()

    def ratio(self) -> Fraction:
        p, q = self._each(self.p)[0], self._each(self.q)[0]
        return Fraction(p, q)


class BiasedRounding(Then):
    """Between the grid's points three of four go down, where the table says one half."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        level, between = divmod(code, 2)
        up = between and not coins.flip(3 * UNIT // 4)
        return self.second.sample(level + up, coins, public)


# --- wrong at full size only: the small instances are innocent --------------------------------------------
class LargeInClear(Subset):
    """A shortcut for long lists that was meant to be temporary."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        return code if self.k > 64 else Subset.sample(self, code, coins, public)


class WrapsAtSixtyFour(Bits):
    """A mask kept in one machine word: later bits are lost."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        return Bits.sample(self, code, coins, public) % (1 << 64)


class ProvenOnAnother(UnevenEnds):
    """Offers small instances of its honest parent as the proof."""

    __slots__ = ()

    def miniatures(self) -> tuple[Channel, ...]:
        return Subset(self.k, self.w, self.keep).miniatures()


class OneValueTooMany(HashMap):
    """A hash onto g + 1 values: the last is none of the inner channel's codes, and passes through it."""

    __slots__ = ()

    def apply(self, words: Words, code: int) -> int:
        return hash_value(words[0], words[1], code, self.g + 1, self.bits)


# --- what leaves the device: type, order, length, id ------------------------------------------------------
class TypeTells(Mechanism):
    """The true value is sent as an integer, a random one as a float."""

    def payload(self, code: int, coins: Coins, public: Words = NO_WORDS) -> bytes:
        report = self.channel.sample(code, coins, public)
        return repr(report if report == code else float(report)).encode()


class BooleanTells(Mechanism):
    """`True` where an expression kept its type, 1 where a coin replaced it."""

    def payload(self, code: int, coins: Coins, public: Words = NO_WORDS) -> bytes:
        report = self.channel.sample(code, coins, public)
        return json.dumps([v == code if v == report == code else int(v == report) for v in range(3)]).encode()


class TrueFirst(Mechanism):
    """A subset sent as a list, the true value always first where it is in it."""

    def payload(self, code: int, coins: Coins, public: Words = NO_WORDS) -> bytes:
        subset = self.channel
        assert isinstance(subset, Subset)
        chosen = [code] if coins.flip(subset.keep) else []
        pool = [v for v in range(subset.k) if v != code]
        while len(chosen) < subset.w:
            chosen.append(pool.pop(coins.below(len(pool))))
        return json.dumps(chosen).encode()


class VariableLength(Mechanism):
    """As many bytes as the number needs: the length is a second, unplanned report."""

    def payload(self, code: int, coins: Coins, public: Words = NO_WORDS) -> bytes:
        report = self.channel.sample(code, coins, public)
        return report.to_bytes(-(-report.bit_length() // 8), "little")


class PaddedWhenKept(Mechanism):
    """One byte more where the coin kept the value."""

    def payload(self, code: int, coins: Coins, public: Words = NO_WORDS) -> bytes:
        report = self.channel.sample(code, coins, public)
        return codec.encode(self.channel, report) + b"\0" * (report == code)


class IdSearched(Mechanism):
    """Draws ids until the hash sends the value where the client likes it."""

    def randomize(self, value: object, coins: Coins | None = None) -> bytes:
        assert coins is not None and isinstance(self.channel, Public)
        code = self.domain.encode(value)
        coins.begin(self.channel.words + 200)
        public = (coins.word(), coins.word())
        while self.channel.mapped(code, public):
            public = (coins.word(), coins.word())
        return id_bytes(public) + self.payload(code, coins, public)


class IdRehashed(Mechanism):
    """The same without a further coin: the id is hashed on until the value collides with bucket 0."""

    def randomize(self, value: object, coins: Coins | None = None) -> bytes:
        assert coins is not None and isinstance(self.channel, Public)
        code = self.domain.encode(value)
        coins.begin(self.channel.words + 2)
        public = (coins.word(), coins.word())
        half = (1 << self.channel.public_bits) - 1
        while self.channel.mapped(code, public):
            a, b = id_words(hashlib.sha256(id_bytes(public)).digest())
            public = (a & half, b & half)
        return id_bytes(public) + self.payload(code, coins, public)


class IdMarked(Mechanism):
    """A harmless-looking bit of the id says whether the report is true."""

    def randomize(self, value: object, coins: Coins | None = None) -> bytes:
        message = bytearray(Mechanism.randomize(self, value, coins))
        message[15] = message[15] & 0xFE | (message[16] == self.domain.encode(value))
        return bytes(message)


class PassesThrough(Integers):
    """Codes whatever number comes along."""

    __slots__ = ()

    def encode(self, value: object) -> int:
        return value - self.low if isinstance(value, int) else Integers.encode(self, value)


class SilentlyOpen(PassesThrough):
    """The same, and declares nothing foreign."""

    __slots__ = ()

    def foreign(self) -> list[object]:
        return []


# --- memos --------------------------------------------------------------------------------------------------
class MemoDrawnAgain(Mechanism):
    """The device keeps the value itself, and draws the first stage again for each report."""

    def remember(self, value: object, coins: Coins | None = None, *, cohort: int = 0) -> int:
        return 1 << self.domain.encode(value)

    def answer_from(self, memo: int, coins: Coins | None = None, *, cohort: int = 0) -> bytes:
        stages = stages_of(self.channel)
        assert coins is not None and stages is not None
        code = memo.bit_length() - 1
        return Mechanism.answer_from(self, stages[0].sample(code, coins), coins)


@dataclass(frozen=True, slots=True)
class Diary(Channel):
    """All reports of one unchanged value, side by side: `times` of them, from one memo, or each from its own."""

    kind: ClassVar[str] = "diary"
    chain: Chain
    times: int
    redrawn: bool

    @property
    def parts(self) -> tuple[Channel, ...]:
        return (self.chain,)

    @property
    def inputs(self) -> int:
        return self.chain.inputs

    @property
    def words(self) -> int:
        return self.times * self.chain.words

    @property
    def payload_bits(self) -> int:
        return self.times * self.chain.payload_bits

    def contains(self, report: int) -> bool:
        return 0 <= report < 1 << self.payload_bits

    def _parts(self, report: int) -> Iterator[int]:
        bits = self.chain.payload_bits
        for place in range(self.times):
            yield report >> bits * place & ((1 << bits) - 1)

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        end = coins.position + self.words
        memo = self.chain.first.sample(code, coins)
        report = 0
        for place in range(self.times):
            memo = self.chain.first.sample(code, coins) if self.redrawn and place else memo
            report |= self.chain.second.sample(memo, coins) << self.chain.payload_bits * place
        coins.seek(end)
        return report

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        parts = list(self._parts(report))
        if self.redrawn:
            return math.prod((self.chain.likelihood(part, code) for part in parts), start=Fraction(1))
        first, second = self.chain.first, self.chain.second
        return sum(
            (
                math.prod((second.likelihood(part, m) for part in parts), start=first.likelihood(m, code))
                for m in range(second.inputs)
            ),
            Fraction(0),
        )

    def ratio(self) -> Fraction:
        columns = [[self.likelihood(r, c) for c in self.codes()] for r in range(1 << self.payload_bits)]
        return max(max(column) / min(column) for column in columns)

    def miniatures(self) -> tuple[Channel, ...]:
        return (self,)

    def spec(self) -> Spec:
        return {"node": self.kind, "chain": self.chain.spec(), "times": self.times, "redrawn": self.redrawn}


class ForeverByTheory(Diary):
    """Redraws the memo, and claims the ratio for ever that only a kept memo has."""

    __slots__ = ()

    def ratio(self) -> Fraction:
        return self.chain.ratio_forever()


# --- the rooms of the museum ----------------------------------------------------------------------------------
def subset(kind: type[Subset], k: int, w: int = 1, epsilon: str = "1") -> Subset:
    e = odds(Decimal(epsilon))
    return kind(k, w, floor_unit(e * w / (e * w + k - w)))


def unary(kind: type[Bits], k: int, epsilon: str = "1") -> Bits:
    return kind(k, UNIT // 2, ceil_unit(1 / (odds(Decimal(epsilon)) + 1)))


def sent(kind: type[Mechanism], name: str, k: int, epsilon: str = "1", **options: int) -> tuple[Mechanism, Mechanism]:
    """A mechanism of the registry, sent in another way, and itself."""
    honest = mechanism(name, Integers(0, k - 1), epsilon=epsilon, **options)
    return kind(honest.name, honest.question, honest.channel, honest.claimed, honest.statistic), honest


def rappor(kind: type[Mechanism], k: int) -> Mechanism:
    three_quarters = 3 * UNIT // 4
    chain = Chain(Bits(k, three_quarters, UNIT // 4), Bits(k, three_quarters, UNIT // 4, "mask", 0))
    return kind(
        "rappor", Frequency(Integers(0, k - 1)), chain, Decimal("1.1"), CountSupports(), claimed_forever=Decimal("2.2")
    )


def samplers() -> Iterator[Exhibit]:
    """Channels whose sampler is not what their closed forms say, small and large."""
    for k, w in ((4, 1), (5, 2), (256, 1), (256, 69)):
        small = INF if k < 9 else None
        yield _channel("a neighbour is never drawn", subset(NeighbourNeverDrawn, k, w), small, INFINITE)
    for k in (4, 256):
        e, small = math.e, k < 9
        ends = 1 + math.log(2 * (k - 2) / (k - 1)) if small else None
        off = math.log(1.01 * e * (k - 1) / (e + k - 1 - 1.01 * e)) if small else None
        yield _channel("ends are not uniform", subset(UnevenEnds, k), ends, WRONG_LAW)
        yield _channel("one per cent off", subset(OnePercentOff, k), off, MORE if small else WRONG_LAW)
        yield _channel(
            "a permutation is left unshuffled", subset(UnshuffledPermutation, k), INF if small else None, INFINITE
        )
        yield _channel("floating-point randomness", subset(FloatSampler, k), None, NOT_REPEATABLE)
        yield _channel("floating-point randomness, false form", subset(FloatLiar, k), None, NOT_REPEATABLE)
        yield _channel("raw words", subset(RawWords, k), INF, NOT_FOLLOWED)
        yield _channel("each tenth report is true", subset(EveryTenthIsTrue, k), INF, NOT_FOLLOWED)
        yield _channel("the first report is true", subset(FirstIsTrue, k), None, WRONG_LAW)
    for k in (4, 256):
        small = k < 9
        yield _channel("a bit is never cleared", unary(NeverCleared, k), INF if small else None, INFINITE)
        p = floor_unit(odds(Decimal(1)) / (odds(Decimal(1)) + 1))
        declared, hidden = Bits(k, p, UNIT - p), PerBitBudget(k, p, UNIT - p)
        yield Exhibit(f"per-bit epsilon, k = {k}", declared, unary(Bits, k), "1", 2.0, MORE)
        yield Exhibit(
            f"per-bit epsilon, false form, k = {k}", hidden, unary(Bits, k), "1", 2.0 if small else None, WRONG_RATIO
        )
    for levels in (3, 17, 100):
        inner = subset(Subset, levels)
        broken, honest = BiasedRounding(rounding(levels), inner), Then(rounding(levels), inner)
        yield Exhibit(f"rounding is biased, {levels} levels", broken, honest, "1", None, WRONG_LAW)


def full_size_only() -> Iterator[Exhibit]:
    """Channels whose small instances are innocent."""
    yield _channel("in clear when large", subset(LargeInClear, 256), None, WRONG_LAW)
    yield _channel("in clear when large", subset(LargeInClear, 100_000), None, WRONG_SUPPORT)
    yield _channel("a mask wraps at 64 bits", unary(WrapsAtSixtyFour, 256), None, WRONG_SUPPORT)
    yield _channel("a long mask wraps at 64 bits", unary(WrapsAtSixtyFour, 10_000), None, WRONG_SUPPORT)
    yield _channel("proven on another channel", subset(ProvenOnAnother, 256), None, WRONG_LAW)
    inner = subset(Subset, 4)
    yield Exhibit(
        "a hash has one value too many",
        Public(OneValueTooMany(256, 4), inner),
        Public(HashMap(256, 4), inner),
        "1",
        None,
        UNREADABLE,
    )


def messages() -> Iterator[Exhibit]:
    """Mechanisms whose channel is honest and whose bytes are not."""
    for k in (3, 256):
        small = k < 9
        inf = INF if small else None
        yield Exhibit(f"the type tells, k = {k}", *sent(TypeTells, "grr", k), "1", inf, INFINITE)
        yield Exhibit(f"a boolean tells, k = {k}", *sent(BooleanTells, "grr", k), "1", inf, INFINITE)
        yield Exhibit(f"one byte more when kept, k = {k}", *sent(PaddedWhenKept, "grr", k), "1", inf, INFINITE)
        yield Exhibit(f"the length varies, k = {k}", *sent(VariableLength, "grr", k), "1", 1.0, LENGTH)
        yield Exhibit(f"a bit of the id tells, k = {k}", *sent(IdMarked, "grr", k), "1", inf, INFINITE)
        yield Exhibit(f"the id is searched, k = {k}", *sent(IdSearched, "olh", k), "1", INF, NOT_FOLLOWED)
        yield Exhibit(f"the id is hashed on, k = {k}", *sent(IdRehashed, "olh", k), "1", None, WRONG_ID)
    for k, w in ((4, 2), (256, 69)):
        epsilon = INF if k < 9 else None
        yield Exhibit(
            f"the true value comes first, k = {k}", *sent(TrueFirst, "subset", k, w=w), "1", epsilon, INFINITE
        )
    for kind, problem in ((PassesThrough, "outside the domain"), (SilentlyOpen, "a code that the channel")):
        for k in (4, 256):
            honest = mechanism("grr", Integers(0, k - 1), epsilon=1)
            broken = Mechanism("grr", Frequency(kind(0, k - 1)), honest.channel, honest.claimed, honest.statistic)
            yield Exhibit(f"{kind.__name__}, k = {k}", broken, honest, "1", 1.0, problem)


def memos() -> Iterator[Exhibit]:
    """RAPPOR whose memo is not kept."""
    for k in (2, 64):
        broken, honest = rappor(MemoDrawnAgain, k), rappor(Mechanism, k)
        yield Exhibit(f"the device keeps no memo, k = {k}", broken, honest, "1.1", 2 * math.log(5 / 3), WRONG_MEMO)
    # A binary memo kept with 3/4 bounds all reports by ln 3; one report has ln(5/3), five redrawn ones five times that.
    stage = Subset(2, 1, 3 * UNIT // 4)
    chain = Chain(stage, stage)
    kept, redrawn, claimed = Diary(chain, 5, False), Diary(chain, 5, True), ForeverByTheory(chain, 5, True)
    loss = 5 * math.log(5 / 3)
    yield Exhibit("the memo is drawn again", redrawn, kept, "1.098613", loss, MORE)
    yield Exhibit("the memo is drawn again, false form", claimed, kept, "1.098613", loss, WRONG_RATIO)


def published() -> Iterator[Exhibit]:
    """Formulas as they are printed, or as the released code has them."""
    for epsilon, k, groups in (("1", 2, 2), ("4", 2, 2), ("4", 8, 2), ("2", 3, 3), ("4", 32, 8)):
        yield Exhibit(
            f"group NPRR, epsilon {epsilon}, k = {k}, {groups} groups (erratum 1)",
            group_nprr(epsilon, k, groups, neutral="published"),
            group_nprr(epsilon, k, groups, neutral="uniform"),
            epsilon,
            group_nprr_loss(float(epsilon), k),
            MORE,
        )
    for inputs in (5, 65):
        for scale, factor in (("0.5", 2), ("0.25", 4)):
            broken, honest = laplace("1", inputs, scale=scale), laplace("1", inputs)
            yield Exhibit(f"noise of {scale} of the scale, {inputs} inputs", broken, honest, "1", factor, MORE)
    for k in (4, 64):
        yield Exhibit(f"supports differ, k = {k}", unequal_supports(k), laplace("1", 5), "1", INF, INFINITE)
    e = budget("1")
    yield Exhibit(
        "randomized response, one p for another (erratum 4)",
        answer_at_random(e / (e + 1)), answer_at_random((e - 1) / (e + 1)), "1", math.log(2 * math.e + 1), MORE,
    )  # fmt: skip
    right, printed = histogram_encoding(Decimal(2)), histogram_encoding(Decimal("0.5"))
    yield Exhibit("histogram encoding with Lap(eps/2) (erratum 5)", printed, right, "1", 4.0, MORE)
    honest = laplace("1", 5)
    yield Exhibit("AAA, tails cut off (erratum 3)", aaa(1, 4, 12, tails=False), honest, "1", INF, INFINITE)
    yield Exhibit("AAA, tails kept (erratum 3)", aaa(1, 4, 12, tails=True), honest, "1", None, MORE)
    yield Exhibit("AAA, no floor (erratum 3)", aaa(1, 4, 12, tails=True, floor=0), honest, "1", INF, INFINITE)


@cache
def exhibits() -> tuple[Exhibit, ...]:
    """All of these, built once: tables of exact fractions take a while."""
    return tuple(exhibit for room in (samplers, full_size_only, messages, memos, published) for exhibit in room())


def _channel(title: str, broken: Subset | Bits, epsilon: float | None, problem: str) -> Exhibit:
    """A channel beside the node that it inherits from."""
    node = Subset if isinstance(broken, Subset) else Bits
    values = [getattr(broken, field.name) for field in fields(node)]
    size = f"k = {broken.k}" + (f", w = {broken.w}" if isinstance(broken, Subset) and broken.w > 1 else "")
    return Exhibit(f"{title}, {size}", broken, node(*values), "1", epsilon, problem)
