"""Samplers keep to their words: each is read once, in rising order, within the span that the channel declares."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import FINE, UNIT
from sottovoce.core.channel import (
    NODES,
    Bits,
    Cap,
    Chain,
    Channel,
    Cohorts,
    DrawnItem,
    Each,
    Hints,
    PoolMap,
    Public,
    Signs,
    Sparing,
    Subset,
    Table,
    Then,
)
from sottovoce.core.channel.base import NO_WORDS, Words, nested
from sottovoce.core.channel.compose.public import HashMap
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.vector.sign_hints import AGREES, DISAGREES, SILENT, TRIES
from sottovoce.core.coins import BACKWARD, Coins, SeededCoins, SystemCoins, TapeCoins
from sottovoce.core.errors import WordsError
from sottovoce.core.exact import BEYOND, COPIED, ENDS, NO_LAW, STALE, TWICE, TreeCoins, law_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.privacy.drawn import watch_messages, watch_nodes
from sottovoce.privacy.follow import AGAIN, SPAN, MessageCoins, WatchedCoins
from tests.core.test_limits import LINES, every_line

FLIP = Subset(2, 1, 3 * UNIT // 4)
HINTS = Hints(sv.Sparse(9, 4), UNIT // 3, (UNIT // 4, UNIT // 4, UNIT // 5, UNIT // 5))
UNREGISTERED: list[Channel] = [
    HINTS,
    Signs.of_ratio(sv.Sparse(9, 4), 3, Fraction(3)),
    Chain(Bits(3, 3 * UNIT // 4, UNIT // 4), Bits(3, 3 * UNIT // 4, UNIT // 4, "mask", 0)),
    Cohorts(PoolMap(9, 3, 2), Chain(Subset(3, 1, UNIT // 2), Subset(3, 1, UNIT // 2))),
    Bits(3, (UNIT // 2, UNIT // 3, UNIT // 4), (UNIT // 5, UNIT // 7, UNIT // 8)),
    Bits(70, UNIT // 2, UNIT // 5, "mask", 5),
    Sparing(5, (0, 3), UNIT // 4),
    DrawnItem(5, 3, 2, Subset(7, 1, UNIT // 2)),
    Each((FLIP, Then(FLIP, FLIP), Table([[UNIT // 4, 3 * UNIT // 4]] * 2))),
]


# --- every node -----------------------------------------------------------------------------------------------
@every_line
def test_every_line_of_the_registry_keeps_to_its_words(name: str) -> None:
    problems: list[str] = []
    watch_nodes(sv.mechanism(name, LINES[name], epsilon=2).channel, problems)
    assert problems == []


@pytest.mark.parametrize("channel", UNREGISTERED, ids=lambda channel: channel.kind)
def test_other_nodes_keep_to_their_words(channel: Channel) -> None:
    problems: list[str] = []
    watch_nodes(channel, problems)
    assert problems == []


@pytest.mark.slow
def test_every_node_is_among_the_watched_ones() -> None:
    channels = [*UNREGISTERED, *(sv.mechanism(name, domain, epsilon=2).channel for name, domain in LINES.items())]
    assert {node.kind for channel in channels for node in (channel, *nested(channel))} == set(NODES)


@pytest.mark.parametrize("seed", range(4))
def test_enumerated_and_drawn_reports_pass_the_same_words(seed: int) -> None:
    """A walk and real words end every primitive at the same place; of a repeated draw, the walk at its last try."""
    rng = random.Random(seed)
    steps: list[tuple[str, Any]] = []
    for _ in range(40):
        kind = rng.choice(["flip", "below", "pick", "flips", "flips", "seek"])
        number = rng.choice([0, 1, UNIT, UNIT // 2, UNIT >> 7, rng.randrange(UNIT)])
        lanes = rng.choice([1, 3, 64, 65, 1000])
        steps.append((kind, (lanes, number) if kind == "flips" else number))

    def places(coins: Coins) -> Iterator[int]:
        coins.begin(50_000)
        for kind, with_ in steps:
            if kind == "flips":
                coins.flips(*with_)
            elif kind == "seek":
                coins.seek(coins.position + with_ % 7)
            elif kind == "pick":
                coins.pick((with_, UNIT))
            else:
                getattr(coins, kind)(with_ if kind == "flip" else 1 + with_ % 5)
            yield coins.position

    problems: list[str] = []
    found = [list(places(c)) for c in (TreeCoins([]), SeededCoins(seed), watched(problems, 50_000, seed))]
    assert found[0] == found[1] == found[2] and problems == []


def watched(problems: list[str], words: int, seed: int = 0) -> WatchedCoins:
    return WatchedCoins(SeededCoins(seed), [words], problems)


def test_watched_coins_draw_what_seeded_ones_draw() -> None:
    def draws(coins: Coins) -> list[Any]:
        coins.begin(2000)
        return [
            coins.word(),
            coins.flip(UNIT // 3),
            coins.below(1000),
            coins.flips(300, UNIT // 3 + 1),
            [coins.until(lambda c: c.below(8), lambda drawn: drawn == 5) for _ in range(5)],
            coins.flips(5000, UNIT // 7),
            coins.extra(),
        ]

    problems: list[str] = []
    assert draws(watched(problems, 2000)) == draws(SeededCoins(0)) and problems == []


def test_a_draw_that_does_not_count_reads_the_complement_of_its_words() -> None:
    """Every bit of it differs from the word of the seed, and none is added: what depends on it comes out different."""

    def words(counts: bool) -> list[int]:
        coins = watched([], 3)
        coins.begin(3)
        return [coins.when(counts, lambda coins: coins.word()) for _ in range(3)]

    assert [one ^ other for one, other in zip(words(True), words(False), strict=True)] == [(1 << 64) - 1] * 3

    def lanes(counts: bool) -> int:
        coins = watched([], 64)
        coins.begin(64)
        return coins.when(counts, lambda coins: coins.flips(130, UNIT // 2))

    assert lanes(True) ^ lanes(False) == (1 << 130) - 1  # one bit for each flip of a fair coin


# --- what is noticed --------------------------------------------------------------------------------------------
def read_twice(coins: Coins) -> None:
    coins.flip(1)
    coins.seek(0)
    coins.flip(1)
    coins.seek(4)


def skip_and_return(coins: Coins) -> None:
    coins.seek(3)
    coins.flip(1)
    coins.seek(1)
    coins.below(2)
    coins.seek(4)


def skip_and_return_twice(coins: Coins) -> None:
    skip_and_return(coins)
    coins.seek(1)
    coins.pick((UNIT,))
    coins.seek(4)


def overlap(coins: Coins) -> None:
    coins.seek(2)
    coins.flip(1)
    coins.seek(1)
    coins.flips(65, UNIT // 2)
    coins.seek(4)


def return_and_read_on(coins: Coins) -> None:
    coins.seek(2)
    coins.seek(1)
    coins.flips(65, UNIT // 2)
    coins.seek(4)


def read_nothing_twice(coins: Coins) -> None:
    coins.flip(1)
    coins.seek(0)
    coins.flips(0, UNIT // 2)
    coins.seek(4)


def begin_again(coins: Coins) -> None:
    coins.seek(4)
    coins.begin(4)
    coins.seek(4)


def read_after_the_end(coins: Coins) -> None:
    coins.seek(4)
    coins.close()  # type: ignore[attr-defined]
    coins.flip(1)


def read_on(coins: Coins) -> None:
    coins.seek(4)
    coins.flip(1)


MISUSES: list[tuple[Callable[[Coins], None], set[str]]] = [
    (lambda coins: coins.seek(4), set()),
    (lambda coins: coins.seek(3), {ENDS}),
    (lambda coins: coins.seek(5), {ENDS}),
    (read_twice, {BACKWARD, TWICE}),
    (skip_and_return, {BACKWARD}),
    (skip_and_return_twice, {BACKWARD, TWICE}),
    (overlap, {BACKWARD, TWICE}),
    (return_and_read_on, {BACKWARD}),
    (read_nothing_twice, {BACKWARD}),
    (begin_again, {AGAIN}),
    (read_after_the_end, {STALE, BEYOND, ENDS}),
    (read_on, {BEYOND, ENDS}),
]


@pytest.mark.parametrize(("use", "expected"), MISUSES)
@pytest.mark.parametrize("kind", ["enumerated", "watched"])
def test_each_misuse_has_its_sentence(kind: str, use: Callable[[Coins], None], expected: set[str]) -> None:
    problems: list[str] = []
    coins = watched(problems, 4) if kind == "watched" else MessageCoins(TreeCoins([]), (), [4], problems)
    coins.begin(4)
    try:
        use(coins)
    except IndexError:
        assert BEYOND in expected
    coins.close()
    assert set(problems) == expected


def test_no_words_beyond_the_end_are_no_words() -> None:
    problems: list[str] = []
    coins = MessageCoins(TreeCoins([]), (), [4], problems)
    coins.begin(4)
    coins.seek(5)
    assert coins.flips(0, UNIT // 2) == 0
    coins.close()
    assert set(problems) == {ENDS}


def test_a_device_asks_for_the_words_of_its_channel() -> None:
    for asked, expected in ((4, []), (5, [SPAN]), (3, [SPAN])):
        problems: list[str] = []
        coins = watched(problems, 4)
        coins.begin(asked)
        coins.seek(asked)
        coins.close()
        assert problems == expected


EVERY_COINS = [SystemCoins(), SeededCoins(0), TapeCoins(bytes(800)), TreeCoins([])]


@pytest.mark.parametrize("coins", EVERY_COINS, ids=lambda coins: type(coins).__name__)
def test_no_coins_go_back(coins: Coins) -> None:
    coins.begin(100)
    coins.flips(64, UNIT // 4)
    coins.seek(coins.position)
    with pytest.raises(WordsError, match="goes back"):
        coins.seek(coins.position - 1)


class Silences(Subset):
    """Goes back, and hides that it was refused."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        kept = coins.flip(self.keep)
        with suppress(WordsError):
            coins.seek(coins.position - 1)
        index = coins.below(self.k - 1)
        return code if kept else index + (index >= code)


def test_an_error_that_is_hidden_is_seen() -> None:
    certificate = sv.audit(Silences(4, 1, UNIT // 2), epsilon=20)
    assert {BACKWARD, TWICE, ENDS} <= set(certificate.problems)
    assert certificate.ratio is None and certificate.how == "not to be followed"


class Copies(Cap):
    """Reads all words of a copy, and then its own."""

    __slots__ = ()

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        return Cap.sample(self, code, copy.copy(coins), public) & 0 | Cap.sample(self, code, coins, public)


def test_coins_that_are_copied_are_seen_even_where_nothing_is_enumerated() -> None:
    for node in (Cap, Copies):
        certificate = sv.audit(node(3, "sphere", Decimal("0.5"), UNIT // 2), epsilon=20)
        assert (COPIED in certificate.problems) == (node is Copies) == (not certificate.ok)


class SometimesTrue(Table):
    """An enumeration sees the law; of real reports, some are true."""

    __slots__ = ()

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        drawn = coins.pick(self.cumulative(code))
        true = not isinstance(coins, TreeCoins) and drawn == (code + 1) % self.inputs
        return code if true else drawn


def test_an_enumeration_is_compared_with_draws() -> None:
    """One in four of the reports is changed. The bound of Chernoff raises one false alarm in a million."""
    table = [[UNIT // 4] * 4] * 4
    assert sv.audit(Table(table), epsilon=1).ok
    assert not sv.audit(SometimesTrue(table), epsilon=1).ok


# --- repeated draws -----------------------------------------------------------------------------------------------
def third(coins: Coins) -> int:
    return coins.pick((UNIT // 8, UNIT // 4, UNIT))


@pytest.mark.parametrize("tries", [1, 2, 5])
def test_a_repeated_draw_has_the_law_given_acceptance(tries: int) -> None:
    law = {1: Fraction(1, 7), 2: Fraction(6, 7)}
    assert law_of(lambda coins: coins.until(third, bool, tries)) == law


def test_a_walk_counts_on_no_word_that_a_try_could_have_read() -> None:
    for tries in (1, 3):
        tree = TreeCoins([])
        tree.begin(3 + 2 * tries)
        tree.seek(3)
        tree.until(lambda coins: coins.below(2) + 2 * coins.flip(UNIT // 2), lambda drawn: drawn > 0, tries)
        assert tree.position == 3 + 2 * tries
        with pytest.raises(WordsError, match="beyond"):
            tree.flip(1)


def going_back(channel: Hints, code: Any, coins: Coins) -> int:
    """The sampler as it was when it went back and forth between slots and signs, word for word."""
    start = coins.position
    turn = coins.below(channel.most)
    first = coins.pick((*accumulate(channel.firsts), UNIT))
    held, said = 0, [0, 0]
    for entry, (place, number) in enumerate(code):
        slot = (entry + turn) % channel.most
        coins._at = 8 * (start + 2 + TRIES * slot)
        if slot == first:
            state = AGREES
        elif slot > first:
            state = channel._chance(coins)
        else:
            state = coins.until(channel._chance, lambda drawn: drawn != AGREES, TRIES)
        coins._at = 8 * (start + 2 + TRIES * channel.most + entry)
        plus = coins.flip(channel.position(number) << (FINE - PLACES))
        held |= 1 << place
        if state != SILENT:
            said[plus == (state == DISAGREES)] |= 1 << place
    coins._at = 8 * (start + channel.words - channel._background)
    speaking = coins.flips(channel.dimensions, 2 * channel.speak) & ~held
    signs = coins.flips(channel.dimensions, UNIT // 2)
    return (speaking & signs | said[0]) | (speaking & ~signs | said[1]) << channel.width


def test_hints_read_the_same_words_without_going_back() -> None:
    """Several slots that read on in the overflow range do so in the order of the slots, no longer of the entries."""
    code, rng = sv.Sparse(9, 4).encode({0: 1, 3: -1, 4: 0.25, 8: -0.5}), random.Random(7)
    compared = [0, 0]
    for _ in range(1000):
        tape, rest = ([rng.getrandbits(rng.choice([59, 64, 64])) for _ in range(n)] for n in (HINTS.words, 200))
        left = iter(rest), iter(rest)
        new, old = (TapeCoins(tape, overflow) for overflow in left)
        new.begin(HINTS.words)
        old.begin(HINTS.words)
        reports = HINTS.sample(code, new), going_back(HINTS, code, old)
        used = [len(rest) - len(list(overflow)) for overflow in left]
        assert used[0] == used[1]
        if used[0] < 2:
            assert reports[0] == reports[1]
            compared[used[0]] += 1
    assert min(compared) > 20


# --- messages -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["grr", "olh", "subset"])
def test_messages_are_watched_with_their_ids(name: str) -> None:
    problems: list[str] = []
    watch_messages(sv.mechanism(name, sv.Integers(0, 30), epsilon=1), [0, 15, 30], [7], problems)
    assert problems == []


class ReadsAgain(Cap):
    """Reads its first word once more."""

    __slots__ = ()

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        report = Cap.sample(self, code, coins, public)
        coins.seek(coins.position - self.words)
        coins.word()
        return report


def test_floats_are_watched_as_well() -> None:
    """What cannot be enumerated reads its words once all the same."""
    cap = Cap(3, "sphere", Decimal("0.5"), UNIT // 2)
    assert not cap.exact
    problems: list[str] = []
    watch_nodes(cap, problems)
    assert problems == []
    watch_nodes(ReadsAgain(3, "sphere", Decimal("0.5"), UNIT // 2), problems)
    assert BACKWARD in problems and TWICE in problems


class ReadsTheId(Table):
    """Sends the truth under one id in 64, which the collector sees, and declares that it reads none."""

    __slots__ = ()

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        drawn = coins.pick(self.cumulative(code))
        return code if public[0] & 63 == 1 else drawn


def test_a_channel_without_public_words_does_not_see_the_id() -> None:
    """Of such a channel the audit enumerates one id, so its law must be the same under all of them."""
    channel = ReadsTheId([[3 * UNIT // 4, UNIT // 4], [UNIT // 4, 3 * UNIT // 4]])
    fresh = ReadsTheId([[3 * UNIT // 4, UNIT // 4], [UNIT // 4, 3 * UNIT // 4]])
    mechanism = Mechanism("reads-id", Frequency(sv.Integers(0, 1)), channel, Decimal("1.1"), CountOutputs())
    chain = Mechanism(
        "keeps-memo",
        Frequency(sv.Integers(0, 1)),
        Chain(channel, fresh),
        Decimal("1.1"),
        CountOutputs(),
        claimed_forever=Decimal("1.1"),
    )
    for first in (0, 1, 65):
        other = TapeCoins([first, 7, (1 << 64) - 1])
        assert mechanism.randomize(0, other)[-1] == 1
        assert chain.answer_from(0, TapeCoins([first, 7, (1 << 64) - 1]))[-1] == 1
    hashed = Public(HashMap(2, 2), channel)
    for first in (1, 65):
        coins = TapeCoins([(1 << 64) - 1])
        coins.begin(1)
        assert hashed.sample(0, coins, (first, 7)) == 1


# --- draws without a law ----------------------------------------------------------------------------------------------
DRAWS_WITHOUT_A_LAW: list[Callable[[Coins], Any]] = [
    lambda coins: coins.flip(-1),
    lambda coins: coins.flip(UNIT + 1),
    lambda coins: coins.flips(2, -1),
    lambda coins: coins.flips(2, UNIT + 1),
    lambda coins: coins.pick([UNIT // 2, UNIT - 1]),
    lambda coins: coins.pick([UNIT // 2, UNIT + 1]),
]


@pytest.mark.parametrize("draw", DRAWS_WITHOUT_A_LAW)
def test_draws_without_a_law(draw: Callable[[Coins], Any]) -> None:
    with pytest.raises(WordsError, match=NO_LAW):
        law_of(draw)
    problems: list[str] = []
    coins = WatchedCoins(SeededCoins(0), [64], problems)
    coins.begin(64)
    with suppress(IndexError):
        draw(coins)
    assert problems == [NO_LAW]


def test_rows_that_fall_have_no_law() -> None:
    with pytest.raises(WordsError, match=NO_LAW):
        law_of(lambda coins: coins.pick([UNIT // 2, UNIT // 4, UNIT]))


def test_certain_draws_have_a_law() -> None:
    assert law_of(lambda coins: (coins.flip(0), coins.flip(UNIT), coins.flips(2, UNIT))) == {(False, True, 3): 1}
    assert law_of(lambda coins: coins.pick([0, UNIT, UNIT])) == {1: 1}


@pytest.mark.parametrize("last", [False, True])
def test_what_does_not_count_takes_either_end(last: bool) -> None:
    coins = TreeCoins([], last=last)
    draws: list[Callable[[Coins], int]] = [
        lambda coins: coins.below(5),
        lambda coins: int(coins.flip(UNIT // 2)),
        lambda coins: coins.pick([0, UNIT // 2, UNIT, UNIT]),
    ]
    assert [coins.when(False, draw) for draw in draws] == ([4, 1, 2] if last else [0, 0, 1])
    assert coins.ignored and coins.path == []
    certain = TreeCoins([], last=last)
    certain.when(False, lambda coins: coins.below(1))
    assert not certain.ignored
