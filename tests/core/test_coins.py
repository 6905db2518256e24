"""Coins, word by word: the law of every primitive is shown by exhausting its words, not by simulation."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from math import sqrt

import pytest

from sottovoce.core import coins as coins_module
from sottovoce.core.arithmetic.rational import FINE, UNIT
from sottovoce.core.coins import LEVELS, Coins, SeededCoins, SystemCoins, TapeCoins, flip_levels, flips_span
from sottovoce.core.exact import law_of
from tests.each import for_each

BYTE = FINE - 8  # a coin of 8 bits decides in steps of 2**45 units
REST = FINE - LEVELS  # bits of the word that an undecided lane takes
ONES = (1 << 64) - 1


def tape(words: Iterable[int], overflow: Iterable[int] = (), *, bits: int = FINE, start: int = 0) -> TapeCoins:
    """Coins that hold exactly these words, so that reading one more fails."""
    listed = list(words)
    coins = TapeCoins(listed, overflow, bits=bits)
    coins.begin(len(listed))
    coins.seek(start)
    return coins


def leading(byte: int, garbage: int = 0) -> int:
    """A word whose eight leading bits are given; the others must not matter."""
    return byte << 56 | garbage & ((1 << 56) - 1)


# --- flip, pick, below ------------------------------------------------------------------------------


@pytest.mark.parametrize("garbage", [0, ONES])
def test_a_flip_of_eight_bits_is_exhausted(garbage: int) -> None:
    for step in range(257):
        for num in {step << BYTE, max(0, (step << BYTE) - 1), min(UNIT, (step << BYTE) + 1)}:
            truths = sum(tape([leading(byte, garbage)], bits=8).flip(num) for byte in range(256))
            assert truths == -(-num >> BYTE)  # the byte is below num, rounded up to a whole byte


@pytest.mark.parametrize("num", [1, 2, 3, UNIT // 3, UNIT // 2, UNIT - 2, UNIT - 1])
def test_a_flip_compares_53_bits(num: int) -> None:
    for value in (0, num - 1, num, num + 1, UNIT - 1):
        if value < UNIT:
            for garbage in (0, (1 << 11) - 1):
                assert tape([value << 11 | garbage]).flip(num) is (value < num)


def test_sure_flips_are_sure() -> None:
    for word in (0, ONES, 1 << 63):
        assert tape([word]).flip(UNIT) is True
        assert tape([word]).flip(0) is False


@pytest.mark.parametrize("garbage", [0, ONES])
def test_below_is_uniform_given_that_no_word_is_rejected(garbage: int) -> None:
    for n in range(1, 257):
        accepted: Counter[int] = Counter()
        for byte in range(256):
            coins = tape([leading(byte, garbage)], bits=8)
            try:
                accepted[coins.below(n)] += 1
            except IndexError:  # this byte was rejected, and the tape has no overflow
                continue
            finally:
                assert coins.position == 1
        assert accepted == dict.fromkeys(range(n), 256 // n)


def test_below_reads_the_overflow_until_a_word_is_accepted() -> None:
    for n in (3, 5, 100, 129, 200, 255):
        limit = 256 - 256 % n
        rejected = [leading(byte) for byte in range(limit, 256)]
        for byte in range(limit):
            coins = tape([rejected[0], 0], [*rejected, leading(byte), 0], bits=8)
            assert coins.below(n) == byte % n
            assert coins.position == 1
            assert coins.extra() == 0  # read that far and no further


def test_below_never_rejects_where_the_outcomes_divide_the_words() -> None:
    for n in (1, 2, 4, 64, 256):
        draws = Counter(tape([leading(byte)], bits=8).below(n) for byte in range(256))
        assert draws == dict.fromkeys(range(n), 256 // n)


@pytest.mark.parametrize("n", [2, 3, 7, UNIT - 1, UNIT])
def test_below_at_full_width_follows_the_definition(n: int) -> None:
    limit = UNIT - UNIT % n
    for value in {0, 1, n - 1, n, limit - 1, limit, UNIT // 2, UNIT - 1} - {UNIT}:
        drawn = tape([value << 11 | 0x7FF], [5 << 11]).below(n)
        assert drawn == (value % n if value < limit else 5 % n)


@pytest.mark.parametrize("n", [0, -1, 257])
def test_below_refuses_impossible_draws(n: int) -> None:
    with pytest.raises(ValueError):
        tape([0], bits=8).below(n)


@pytest.mark.parametrize(
    "weights", [(256,), (1, 255), (0, 256), (256, 0), (3, 0, 0, 250, 3), (64,) * 4, (0, 1, 255, 0)]
)
def test_pick_is_exhausted(weights: tuple[int, ...]) -> None:
    cumulative = [total << BYTE for total in itertools.accumulate(weights)]
    for garbage in (0, ONES):
        picked = Counter(tape([leading(byte, garbage)], bits=8).pick(cumulative) for byte in range(256))
        assert picked == {index: weight for index, weight in enumerate(weights) if weight}


def test_pick_at_full_width_has_sharp_edges() -> None:
    cumulative = [1, 1, UNIT - 1, UNIT]
    for value, expected in ((0, 0), (1, 2), (UNIT - 2, 2), (UNIT - 1, 3)):
        assert tape([value << 11 | 0x7FF]).pick(cumulative) == expected


# --- flips ------------------------------------------------------------------------------------------


def lane_words(values: Sequence[int], num: int, garbage: int = 0) -> tuple[list[int], list[int]]:
    """Words from which lane j assembles the 53-bit number values[j]: the level words, then the tails.

    Written from the definition, without looking at the code: level L of block b carries bit 52 - L of 64
    lanes; each lane whose leading bits agree with num takes one word, in rising order, for the bits that remain.
    """
    blocks = -(-len(values) // 64)
    levels = []
    for level in range(flip_levels(num)):
        drawn = sum((value >> (FINE - 1 - level) & 1) << lane for lane, value in enumerate(values))
        unused = garbage << len(values) & ((1 << 64 * blocks) - 1)  # lanes beyond the last one
        levels += [(drawn | unused) >> (64 * block) & ONES for block in range(blocks)]
    tails = []
    if flip_levels(num) == LEVELS and num % (1 << REST):
        for value in values:
            if value >> REST == num >> REST:
                tails.append((value % (1 << REST)) << (64 - REST) | garbage % (1 << (64 - REST)))
    return levels, tails


def run_flips(values: Sequence[int], num: int, garbage: int = 0, start: int = 0) -> int:
    """`flips` on words made for these lane values; what lies around its span is checked too."""
    levels, tails = lane_words(values, num, garbage)
    span = flips_span(len(values), num)
    reserve = span - len(levels)
    body = levels + (tails[:reserve] + [garbage] * reserve)[:reserve]
    coins = tape([ONES] * start + body + [garbage], tails[reserve:], start=start)
    result = coins.flips(len(values), num)
    assert coins.position == start + span  # whatever was drawn
    return result


def expected_flips(values: Sequence[int], num: int) -> int:
    return sum((value < num) << lane for lane, value in enumerate(values))


def adversarial_values(num: int, draw: random.Random) -> list[int]:
    """Numbers at, next to and far from num, and those that agree with it in all but one leading bit."""
    near = [num + step for step in (-2, -1, 0, 1, 2)]
    flipped = [num ^ 1 << bit for bit in range(FINE)]
    agree = [(num >> REST << REST) | draw.getrandbits(REST) for _ in range(5)]
    anywhere = [draw.getrandbits(FINE) for _ in range(10)]
    return [v for v in [0, 1, UNIT - 1, UNIT // 2, *near, *flipped, *agree, *anywhere] if 0 <= v < UNIT]


NUMS = [
    1,
    2,
    UNIT - 1,
    UNIT // 2,
    UNIT // 4,
    3 * UNIT // 4,
    UNIT >> LEVELS,
    (UNIT >> LEVELS) * 37,
    (UNIT >> LEVELS) + 1,
    (UNIT >> LEVELS) - 1,
    UNIT >> (LEVELS + 1),
    UNIT // 3,
    int(UNIT / 3.718281828459045),
    0x1F00000000000F,
]


@pytest.mark.parametrize("garbage", [0, ONES])
@pytest.mark.parametrize("num", NUMS)
def test_a_lane_is_true_exactly_if_its_number_is_below(num: int, garbage: int, seed: int) -> None:
    draw = random.Random(f"{seed} {num}")
    for value in adversarial_values(num, draw):
        for lanes, lane in ((1, 0), (3, 2), (64, 63), (65, 64), (130, 64)):
            values = [draw.choice([0, UNIT - 1, draw.getrandbits(FINE)]) for _ in range(lanes)]
            values[lane] = value
            assert run_flips(values, num, garbage) == expected_flips(values, num)


def test_many_random_lanes_at_once(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(150):
        num = draw.choice([draw.randrange(1, UNIT), draw.randrange(1, 256) << REST, 1 << draw.randrange(FINE)])
        lanes = draw.choice([1, 2, 63, 64, 65, 127, 128, 200])
        pool = adversarial_values(num, draw)
        values = [draw.choice(pool) for _ in range(lanes)]
        assert run_flips(values, num, draw.choice([0, ONES]), start=draw.randrange(3)) == expected_flips(values, num)


@for_each("num", NUMS)
def test_the_law_of_one_lane_is_exact(num: int) -> None:
    """All leading bit patterns are walked through; the one undecided pattern takes a word that is compared exactly."""
    levels = flip_levels(num)
    shift = FINE - levels
    true_patterns = undecided = 0
    for pattern in range(1 << levels):
        outcomes = {run_flips([pattern << shift | low], num) for low in (0, (1 << shift) - 1)}
        if outcomes == {0, 1}:
            undecided += 1
            assert pattern == num >> shift
            for low in (num % (1 << shift) - 1, num % (1 << shift)):
                assert run_flips([pattern << shift | low], num) == (low < num % (1 << shift))
        else:
            true_patterns += outcomes == {1}
    tail = Fraction(num % (1 << shift), 1 << shift)
    assert undecided == (1 if tail > 0 else 0)
    assert Fraction(true_patterns, 1 << levels) + undecided * tail / (1 << levels) == Fraction(num, UNIT)


@pytest.mark.parametrize("eighths", range(1, 8))
def test_three_lanes_are_independent(eighths: int) -> None:
    """Every joint outcome of the level words of three lanes: the law is the product."""
    num = eighths << (FINE - 3)
    levels = flip_levels(num)
    counts: Counter[int] = Counter()
    for words in itertools.product(range(8), repeat=levels):
        counts[tape([word | 0xF8 << 3 for word in words]).flips(3, num)] += 1
    p = Fraction(eighths, 8)
    for outcome in range(8):
        ones = outcome.bit_count()
        assert Fraction(counts[outcome], 8**levels) == p**ones * (1 - p) ** (3 - ones)


@pytest.mark.parametrize("num", [0, UNIT])
def test_sure_flips_read_nothing(num: int) -> None:
    for lanes in (1, 64, 65):
        coins = tape([])
        assert coins.flips(lanes, num) == ((1 << lanes) - 1 if num else 0)
        assert flips_span(lanes, num) == coins.position == 0


def test_an_exhausted_reserve_reads_the_overflow(seed: int) -> None:
    draw = random.Random(seed)
    num = UNIT // 3
    for lanes in (64, 100):
        values = [num - 1 if draw.random() < 0.5 else num for _ in range(lanes)]  # all undecided after the levels
        levels, tails = lane_words(values, num)
        reserve = flips_span(lanes, num) - len(levels)
        assert 0 < reserve < len(tails) == lanes
        coins = tape(levels + tails[:reserve] + [0], [*tails[reserve:], 4711])
        assert coins.flips(lanes, num) == expected_flips(values, num)
        assert coins.position == flips_span(lanes, num)
        assert coins.extra() == 4711  # one overflow word for each lane beyond the reserve


@pytest.mark.parametrize("lanes", [1, 10, 64, 1000, 4096, 1 << 20])
def test_the_reserve_lies_seven_deviations_above_the_mean(lanes: int) -> None:
    share = 2.0**-LEVELS
    reserve = flips_span(lanes, UNIT // 3) - LEVELS * -(-lanes // 64)
    assert reserve >= lanes * share + 7 * sqrt(lanes * share * (1 - share))
    assert reserve <= lanes * share + 7 * sqrt(lanes * share) + 6


def test_spans_do_not_depend_on_the_words(seed: int) -> None:
    draw = random.Random(seed)
    for num in NUMS:
        for lanes in (1, 65, 300):
            span = flips_span(lanes, num)
            for words in ([0] * span, [ONES] * span, [draw.getrandbits(64) for _ in range(span)]):
                coins = tape([7, *words, 7], itertools.repeat(draw.getrandbits(64)), start=1)
                coins.flips(lanes, num)
                assert coins.position == 1 + span
    calls: list[Callable[[Coins], object]] = [
        lambda c: c.flip(1),
        lambda c: c.below(5),
        lambda c: c.pick([1, UNIT]),
        lambda c: c.until(lambda d: d.below(7), lambda v: v < 3),
    ]
    for call in calls:
        for byte in range(256):
            coins = tape([leading(byte), 0], itertools.chain(map(leading, range(255, -1, -1))), bits=8)
            call(coins)
            assert coins.position == 1


# --- until ------------------------------------------------------------------------------------------


def test_until_is_the_law_given_acceptance() -> None:
    accepted = [v for v in range(6) if v % 3]
    words: Counter[int] = Counter()
    for byte in range(252):  # 252 is a multiple of six
        coins = tape([leading(byte)], [leading(0), leading(3), leading(4)], bits=8)
        value = coins.until(lambda c: c.below(6), lambda v: v % 3 != 0)
        if byte % 3:
            assert value == byte % 6
            words[value] += 1
        else:
            assert value == 4  # the first overflow word that is accepted
        assert coins.position == 1
    assert words == dict.fromkeys(accepted, 42)
    law = law_of(lambda c: c.until(lambda d: d.below(6), lambda v: v % 3 != 0))
    assert law == dict.fromkeys(accepted, Fraction(1, 4))


def test_until_conditions_flips_too() -> None:
    num = UNIT // 4

    def draw(coins: Coins) -> int:
        return coins.until(lambda c: c.flips(2, num), lambda v: v != 0)

    p = Fraction(1, 4)
    total = 1 - (1 - p) ** 2
    assert law_of(draw) == {1: p * (1 - p) / total, 2: p * (1 - p) / total, 3: p * p / total}
    # The words: two levels, lanes all false first (11, any), then from the overflow lane 1 alone true.
    coins = tape([0b11, 0b11, 9], [0b01, 0b01, 0b01, 4711])
    assert draw(coins) == 0b10
    assert coins.position == 2 and coins.extra() == 0b01


def test_a_draw_that_is_never_accepted_has_no_law() -> None:
    with pytest.raises(ValueError):
        law_of(lambda c: c.until(lambda d: d.below(2), lambda v: v > 5))


# --- sources ----------------------------------------------------------------------------------------


def test_a_span_ends_where_it_ends() -> None:
    coins = tape([1, 2])
    assert (coins.word(), coins.position, coins.word(), coins.position) == (1, 1, 2, 2)
    with pytest.raises(IndexError):
        coins.word()
    coins.begin(1)
    assert coins.position == 0 and coins.word() == 1
    with pytest.raises(IndexError):
        coins.word()


def test_words_are_little_endian() -> None:
    coins = TapeCoins(bytes(range(16)))
    coins.begin(2)
    assert coins.word() == 0x0706050403020100
    assert coins.word() == 0x0F0E0D0C0B0A0908


def shake(purpose: str, seed: int, report: int, words: int) -> list[int]:
    digest = hashlib.shake_256(f"sottovoce coins 1|{purpose}|{seed}|{report}".encode()).digest(8 * words)
    return [int.from_bytes(digest[8 * i : 8 * i + 8], "little") for i in range(words)]


@pytest.mark.parametrize("seed_of_coins", [0, 7, -3, 1 << 70])
def test_seeded_coins_are_shake_256(seed_of_coins: int) -> None:
    coins = SeededCoins(seed_of_coins)
    for report in range(3):
        coins.begin(5)
        assert [coins.word() for _ in range(5)] == shake("span", seed_of_coins, report, 5)
        assert [coins.extra() for _ in range(4)] == shake("overflow", seed_of_coins, report, 4)
    later = SeededCoins(seed_of_coins, first_report=41)
    later.begin(2)
    assert later.word() == shake("span", seed_of_coins, 41, 1)[0]


def test_seeded_coins_have_a_known_answer() -> None:
    coins = SeededCoins(1)
    coins.begin(2)
    assert [coins.word(), coins.word(), coins.extra()] == KNOWN_ANSWER


KNOWN_ANSWER = [0x22E7A58AAF88DB3B, 0x7A299821AF180437, 0xB60B6E45F08DF338]


def test_system_coins_keep_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes([len(asked)]) * size

    monkeypatch.setattr(coins_module.os, "urandom", urandom)
    coins = SystemCoins()
    assert asked == []  # nothing is drawn before a report begins
    coins.begin(3)
    assert coins.word() == int.from_bytes(b"\1" * 8, "little")
    coins.begin(2)  # two words of the first span are forgotten, not used
    assert coins.word() == int.from_bytes(b"\2" * 8, "little")
    assert coins.extra() == int.from_bytes(b"\3" * 8, "little")
    assert coins.extra() == int.from_bytes(b"\4" * 8, "little")
    assert asked == [24, 16, 8, 8]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="This system cannot fork.")
def test_a_fork_shares_no_report() -> None:
    coins = SystemCoins()
    coins.begin(8)
    coins.word()  # some of a buffer is left over
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        coins.begin(8)
        words = [coins.word() for _ in range(8)] + [coins.extra()]
        os.write(write, b"".join(word.to_bytes(8, "little") for word in words))
        os._exit(0)
    os.close(write)
    coins.begin(8)
    ours = [coins.word() for _ in range(8)] + [coins.extra()]
    raw = os.read(read, 72)
    os.close(read)
    assert os.waitpid(child, 0)[1] == 0
    theirs = [int.from_bytes(raw[i : i + 8], "little") for i in range(0, 72, 8)]
    assert len(theirs) == 9 and not set(ours) & set(theirs)


# --- power: a coin that is slightly wrong is found ----------------------------------------------------


def test_a_biased_comparison_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """`<=` instead of `<` is one part in 2**53; the boundary values see it."""

    def at_most(self: Coins, num: int) -> bool:
        return self._fine() <= num

    monkeypatch.setattr(Coins, "flip", at_most)
    with pytest.raises(AssertionError):
        test_a_flip_compares_53_bits(UNIT // 3)
    with pytest.raises(AssertionError):
        test_a_flip_of_eight_bits_is_exhausted(0)


def test_a_modulo_without_rejection_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Coins, "below", lambda self, n: (self.word() >> (64 - self.bits)) % n)
    with pytest.raises(AssertionError):
        test_below_is_uniform_given_that_no_word_is_rejected(0)
