"""A room of the museum: samplers whose decisions have the right law one by one, and are wrong at the level of words.

An enumeration that only branches at decisions finds nothing wrong with them. Most are tables or bits that inherit the
closed forms of their honest parent. Where decisions depend on each other no law can be stated, so the audit states
none: `epsilon` is infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds, units
from sottovoce.core.channel import Bits, Each, Keyed, Mix, Public, Rounding, SampledCoordinates, Subset, Table, Then
from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.compose.public import HashMap
from sottovoce.core.coins import Coins
from sottovoce.core.exact import BEYOND, COARSE, ENDS, NO_LAW, STALE, TWICE, TreeCoins
from sottovoce.core.mechanism import Mechanism
from sottovoce.privacy.declared import OTHER_CLASSES, WRONG_CODES
from sottovoce.privacy.drawn import NOT_REPEATABLE, WRONG_DRAWS
from sottovoce.privacy.follow import AGAIN, SPAN
from sottovoce.privacy.problems import INFINITE
from tests.museum.channels import INF, Exhibit, sent, subset, unary


class OneWordForAllBits(Bits):
    """Goes back to the same word for each bit: where the others are set, so is the true one."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        begin, report = coins.position, 0
        for place in range(self.k):
            rewind(coins, begin)
            report |= coins.flip(self.p if place == code else self.q) << place
        coins.seek(begin + self.words)
        return report


class FirstWordAgain(Subset):
    """Whether the value is kept, and which other is sent, are read from one word."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        begin = coins.position
        kept = coins.flip(self.keep)
        rewind(coins, begin)
        index = coins.below(self.k - 1)
        coins.seek(begin + self.words)
        return code if kept else index + (index >= code)


class NewWords(Subset):
    """Loads the span again before its second decision: on replayed words that is the first word again."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        kept = coins.flip(self.keep)
        coins.begin(self.words)
        index = coins.below(self.k - 1)
        coins.seek(self.words)
        return code if kept else index + (index >= code)


class OldCoins(Table):
    """Keeps the coins of the report before and draws from those: two reports from one word."""

    __slots__ = ()
    kept: ClassVar[list[Coins]] = []

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        source = self.kept[0] if self.kept else coins
        self.kept[:] = [coins]
        if source is not coins:
            rewind(source, source.position - 1)
            coins.seek(coins.position + 1)
        return source.pick(self.cumulative(code))


class Neighbours(Table):
    """Reads the word after its own, which belongs to the next channel, and goes back."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        end = coins.position + 1
        coins.seek(end)
        report = coins.pick(self.cumulative(code))
        rewind(coins, end)
        return report


class Greedy(Table):
    """Reads one word more than it declares."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        coins.flip(UNIT // 2)
        return coins.pick(self.cumulative(code))


class Lazy(Subset):
    """Leaves the word that it does not need to the next channel, whose words then depend on the answer."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        if coins.flip(self.keep):
            return code
        index = coins.below(self.k - 1)
        return index + (index >= code)


class HonestWhenEnumerated(Table):
    """Looks at the kind of its coins: an enumeration sees the law, a collector the truth."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        drawn = coins.pick(self.cumulative(code))
        return drawn if isinstance(coins, TreeCoins) else code


class BehindTheCoins(Table):
    """Reads bytes past the coins: a bit of the last word lets the truth through."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        drawn = coins.pick(self.cumulative(code))
        return code if coins._raw and coins._raw[-1] & 1 else drawn


class UsesWhatDoesNotCount(Table):
    """Looks into a draw that must not count, which no enumeration branches at: half of the reports are the truth."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        seen: list[bool] = []

        def look(coins: Coins) -> int:
            seen.append(coins.flip(UNIT // 2))
            return 0

        drawn = coins.either(False, look, lambda coins: coins.pick(self.cumulative(code)))
        return code if seen[0] else drawn


class RarelyUsesWhatDoesNotCount(Table):
    """One report in a thousand is the truth, by a draw that does not count: too few for any comparison of counts."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        seen: list[bool] = []

        def look(coins: Coins) -> int:
            seen.append(coins.flip(UNIT // 1000))
            return 0

        drawn = coins.either(False, look, lambda coins: coins.pick(self.cumulative(code)))
        return code if seen[0] else drawn


class BeyondTheLastOutcome(Table):
    """Its rows end before one, and what falls behind them is the truth; the law that it states leaves that out."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        *before, last = self.cumulative(code)
        drawn = coins.pick([*before, last - UNIT // 1000])
        return drawn if drawn < self.inputs else code

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        missing = UNIT // 1000 if report == self.inputs - 1 else 0
        return units(self.rows[code][report] - missing)

    def ratio(self) -> Fraction:
        rows = [[self.likelihood(report, code) for report in self.codes()] for code in self.codes()]
        return max(max(column) / min(column) for column in zip(*rows, strict=True))


class MoreThanCertain(Table):
    """A coin that always falls on one side, and for an enumeration with weights 3 and -2: they cancel what is lost."""

    __slots__ = ()

    @property
    def words(self) -> int:
        return 2

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        certain = coins.flip(3 * UNIT)
        return code ^ coins.flip(3 * UNIT // 8 if certain else 5 * UNIT // 16)


class CoarseCoins(Table):
    """Reads eight bits of each word: 0.9933 becomes 255 of 256."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        coins.bits = 8
        return coins.pick(self.cumulative(code))


class HidesACode(Table):
    """Lists one code twice instead of the one that it sends in clear."""

    __slots__ = ()

    def codes(self) -> Iterable[int]:
        return [code - (code == 1) for code in range(self.inputs)]

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        drawn = coins.pick(self.cumulative(code))
        return code if code == 1 else drawn


class HonestWhenSmall(Subset):
    """Its small instances are those of an honest channel, and it is honest where large ones are looked at."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        drawn = Subset.sample(self, code, coins, public)
        return drawn if code in (0, self.k // 2, self.k - 1) else code

    def miniatures(self) -> tuple[Channel, ...]:
        return Subset(self.k, self.w, self.keep).miniatures()


class AsksForMore(Mechanism):
    """Loads more words than the channel declares, where a batch has none."""

    def randomize(self, value: object, coins: Coins | None = None) -> bytes:
        assert coins is not None
        code = self.domain.encode(value)
        coins.begin(self.channel.words + 10)
        public = (coins.word(), coins.word())
        report = self.payload(code, coins, public)
        coins.seek(self.channel.words + 10)
        return public[0].to_bytes(8, "little") + public[1].to_bytes(8, "little") + report


class OneBitClear(Bits):
    """A vector of noisy bits, one of which is sent as it is (`make_randomized_response_bitvec` of OpenDP 0.14)."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        last = 1 << (self.k - 1)
        return Bits.sample(self, code, coins, public) & ~last | self.mask(code) & last


def rewind(coins: Coins, position: int) -> None:
    """Go back, past the coins where they refuse to."""
    if isinstance(coins, TreeCoins) or not coins._raw:
        coins.seek(position)
    else:
        coins._at = 8 * position


def grr(kind: type[Table], k: int, epsilon: str = "1") -> Table:
    """Randomized response as a table, which has no supports that could be counted."""
    e = odds(Decimal(epsilon))
    other = UNIT - floor_unit(e / (e + k - 1))
    rows = [[other // (k - 1)] * k for _ in range(k)]
    for code, row in enumerate(rows):
        row[code] += UNIT - sum(row)
    return kind(rows)


def words() -> Iterator[Exhibit]:
    """Samplers that do not keep to their words."""
    for k in (2, 3, 64):
        broken, honest = unary(OneWordForAllBits, k), unary(Bits, k)
        yield Exhibit(f"one word for all bits, k = {k}", broken, honest, "1", INF, TWICE)
    for k in (4, 256):
        for kind, problem in ((FirstWordAgain, TWICE), (NewWords, AGAIN)):
            yield Exhibit(f"{kind.__name__}, k = {k}", subset(kind, k), subset(Subset, k), "1", INF, problem)
        yield Exhibit(f"asks for more words, k = {k}", *sent(AsksForMore, "grr", k), "1", 1.0, SPAN)
    for kind, epsilon, problem in (
        (OldCoins, INF, STALE),
        (Greedy, 1.0, BEYOND),
        (HonestWhenEnumerated, 1.0, WRONG_DRAWS),
        (BehindTheCoins, 1.0, NOT_REPEATABLE),
        (UsesWhatDoesNotCount, 1.0, NOT_REPEATABLE),
    ):
        yield Exhibit(kind.__name__, grr(kind, 4), grr(Table, 4), "1.000001", epsilon, problem)
    for build in COMPOSED:
        honest = build(grr(Table, 2, "0.2"), subset(Subset, 2, epsilon="0.2"))
        for part, problem in ((Neighbours, BEYOND), (Greedy, BEYOND)):
            broken = build(grr(part, 2, "0.2"), subset(Subset, 2, epsilon="0.2"))
            yield Exhibit(f"{part.__name__} in {honest.kind}", broken, honest, "1", None, problem)
        if build is not _mixed:
            broken = build(grr(Table, 2, "0.2"), subset(Lazy, 2, epsilon="0.2"))
            yield Exhibit(f"Lazy in {honest.kind}", broken, honest, "1", None, ENDS)


def stated() -> Iterator[Exhibit]:
    """Samplers whose enumerated law is not theirs, or is not all of it."""
    for kind, epsilon, problem in (
        (RarelyUsesWhatDoesNotCount, 1.0, NOT_REPEATABLE),
        (BeyondTheLastOutcome, INF, NO_LAW),
        (HidesACode, None, WRONG_CODES),
    ):
        yield Exhibit(kind.__name__, grr(kind, 5), grr(Table, 5), "1.01", epsilon, problem)
    half = UNIT // 2
    even = Table(((half, half), (half, half)))
    yield Exhibit("MoreThanCertain", MoreThanCertain(even.rows), even, "0.01", INF, NO_LAW)
    yield Exhibit("CoarseCoins", grr(CoarseCoins, 2, "5"), grr(Table, 2, "5"), "5.000001", INF, COARSE)
    yield Exhibit(
        "HonestWhenSmall", subset(HonestWhenSmall, 9000), subset(Subset, 9000), "1.000001", None, OTHER_CLASSES
    )


def released() -> Iterator[Exhibit]:
    """Noisy bit vectors as they were released."""
    for k in (4, 64):
        quarter = UNIT // 4
        broken, honest = OneBitClear(k, 3 * quarter, quarter), Bits(k, 3 * quarter, quarter)
        small = INF if k < 9 else None
        yield Exhibit(f"one bit without noise, k = {k} (OpenDP 0.14)", broken, honest, "2.197225", small, INFINITE)


def _side_by_side(table: Table, plain: Subset) -> Channel:
    return Each((table, plain, Subset(2, 1, UNIT // 2 + (1 << 40))))


def _one_after_the_other(table: Table, plain: Subset) -> Channel:
    return Then(table, plain)


def _hashed(table: Table, plain: Subset) -> Channel:
    return Public(HashMap(4, 2, 4), Then(plain, table))


def _mixed(table: Table, plain: Subset) -> Channel:
    return Mix((UNIT // 2, UNIT // 2), (table, Subset(2, 1, plain.keep)))


def _behind_a_key(table: Table, plain: Subset) -> Channel:
    return Keyed(plain, table, (UNIT // 2, UNIT // 2))


def _of_coordinates(table: Table, plain: Subset) -> Channel:
    return SampledCoordinates((Rounding(0, 1, 1),) * 2, Then(table, plain), 1, 2)


COMPOSED = (_side_by_side, _one_after_the_other, _hashed, _mixed, _behind_a_key, _of_coordinates)
ROOMS: tuple[Callable[[], Iterator[Exhibit]], ...] = (words, stated, released)


def restart() -> None:
    """A device starts anew."""
    OldCoins.kept.clear()
