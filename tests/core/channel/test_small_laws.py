"""Every closed form of every node against the enumerated sampler, on random small instances; and numbers by hand.

The instances are drawn so that each term of a closed form is the largest one in some of them: a term that is left out,
a minimum in the place of a maximum or a neighbouring index changes a number here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product
from math import comb
from typing import Any

import numpy as np
import pytest

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import (
    AskedKey,
    AskedOptions,
    Bits,
    Block,
    Chain,
    Channel,
    Each,
    HadamardSets,
    HalfSpace,
    HashMap,
    Hints,
    Hitting,
    Keyed,
    KeyEnds,
    Mix,
    Noise,
    Public,
    Rounding,
    SampledCoordinates,
    SampledKey,
    Signs,
    Spread,
    Subset,
    Table,
    Then,
    Window,
    channel_from_spec,
)
from sottovoce.core.channel.closed_forms import delta, extremes
from sottovoce.core.channel.facets import Numeric, need, outputs_of, readings, rounding_of, scales_of
from sottovoce.core.channel.vector.key_values import three_states
from sottovoce.core.coins import TapeCoins
from sottovoce.core.domain.sparse import Sparse
from sottovoce.core.errors import PrivacyError, TooLargeError
from sottovoce.core.exact import law, public_words, worst_ratio
from sottovoce.fast.kernels.base import Draws, empty_reports, sampler
from sottovoce.tally.laws import law_row
from tests.each import for_each

INSTANCES = {
    "bits": 12,
    "hints": 3,
    "keyed": 5,
    "hash": 4,
    "signs": 5,
    "hitting": 5,
    "spread": 4,
    "key ends": 4,
    "asked key": 5,
}  # of each node, else 8
Random = random.Random


def parts(chance: Random, count: int, *, falling: bool = False, digits: int = 4) -> tuple[int, ...]:
    """Positive weights that sum to 2**53, of very different sizes."""
    rough = [chance.randrange(1, 10 ** chance.randrange(1, digits + 1)) for _ in range(count)]
    if falling:
        rough.sort(reverse=True)
    later = [max(1, UNIT * weight // sum(rough)) for weight in rough[1:]]
    return (UNIT - sum(later), *later)


def above(chance: Random, least: Fraction) -> int:
    """A probability in units above a given one."""
    return int((least + (1 - least) * Fraction(chance.randrange(1, 100), 100)) * UNIT)


def subset(chance: Random, k: int = 0) -> Subset:
    k = k or chance.randrange(2, 6)
    return Subset(k, 1, above(chance, Fraction(1, k)))


def wide_subset(chance: Random) -> Subset:
    k = chance.randrange(3, 6)
    w = chance.randrange(2, k)
    return Subset(k, w, above(chance, Fraction(w, k)))


def window(chance: Random, k: int = 0) -> Window:
    k, stride, width = k or chance.randrange(2, 6), chance.randrange(1, 4), chance.randrange(1, 7)
    return Window(k, stride, width, above(chance, Fraction(width, (k - 1) * stride + width)))


def table(chance: Random, codes: int = 0) -> Table:
    width = chance.randrange(2, 5)
    return Table([parts(chance, width) for _ in range(codes or chance.randrange(2, 5))])


def noise(chance: Random, steps: int = 0) -> Noise:
    """Bands that fall unevenly: now the first, now a pair of later ones, now the tails have the largest ratio."""
    steps = steps or chance.randrange(1, 4)
    first, cycle = (parts(chance, length, falling=True, digits=1) for length in (chance.randrange(1, steps + 1), steps))
    fall = cycle[0] // cycle[-1] + 1
    bands = [UNIT // 40]
    for _ in range(chance.randrange(1, 4)):
        bands.append(bands[-1] // (fall * chance.choice((1, 2, 40))))
    return Noise(steps, first, cycle, (UNIT - sum(bands), *bands))


def mix(chance: Random) -> Mix:
    k = chance.randrange(2, 4)
    coin = Then(Rounding(0, k - 1, 1), subset(chance, 2))
    channels = [coin, window(chance, k), noise(chance, k - 1), subset(chance, k)]
    chance.shuffle(channels)
    kept = channels[: chance.randrange(2, 4)]
    return mix(chance) if all(rounding_of(channel) for channel in kept) else Mix(parts(chance, len(kept)), tuple(kept))


def rounded(chance: Random) -> Then:
    second = chance.choice((window, noise, subset, table))(chance)
    low, high = chance.choice(((-1, 1), ("0", "0.3"), ("-7.5", "12")))
    return Then(Rounding(low, high, second.inputs - 1), second)


def keyed(chance: Random) -> Keyed:
    """A neutral law that is now too small, now too large where the inner one is: both terms of the ratio count."""
    key = chance.choice((subset, wide_subset))(chance)
    inner = chance.choice((subset, window, table))(chance)
    return Keyed(key, inner, parts(chance, outputs_of(inner) or 0))


def bits(chance: Random) -> Bits:
    """Rates that are all alike, or differ in one of the two, or in both."""
    k = chance.randrange(2, 4)
    own = [chance.randrange(UNIT // 2, UNIT) for _ in range(k)]
    other = [chance.randrange(1, UNIT // 2) for _ in range(k)]
    p, q = (tuple(rates) if chance.randrange(2) else rates[0] for rates in (own, other))
    encoding, ones = chance.choice((("onehot", 1), ("optional", 1), ("mask", 0), ("mask", 1), ("mask", 2)))
    return Bits(k, p, q, encoding, ones)


def composed(chance: Random) -> Then:
    """A first stage that reaches every code with certainty, or only with some probability, or by rounding."""
    k = chance.randrange(2, 4)
    sure = [[UNIT if column == row else 0 for column in range(k)] for row in range(k)]
    halves = [[UNIT // 2] * 2 + [0] * (k - 2), *sure[: chance.choice((k, k - 1))]]
    second = chance.choice((subset, window))(chance, k)
    return Then(Table(halves), second) if chance.randrange(2) else Then(subset(chance, k), second)


def rappor(chance: Random) -> Chain:
    k = 2
    first = Bits(k, *sorted((chance.randrange(1, UNIT), chance.randrange(1, UNIT)), reverse=True))
    kept = [chance.randrange(UNIT // 2, UNIT) for _ in range(k)]
    return Chain(first, Bits(k, chance.choice((kept[0], tuple(kept))), chance.randrange(1, UNIT // 2), "mask", 0))


def memoised(chance: Random) -> Chain:
    k = chance.randrange(2, 4)
    return Chain(subset(chance, k), subset(chance, k))


def hashed(chance: Random) -> Public:
    g = chance.randrange(2, 4)
    return Public(HashMap(chance.randrange(2, 4), g, 4), subset(chance, g))


def block(chance: Random) -> Block:
    sets = HadamardSets(*chance.choice(((3, 4, 1), (5, 8, 1), (6, 4, 2), (5, 4, 3), (2, 2, 2))))
    return Block(sets, above(chance, Fraction(sets.size, sets.outputs)))


def some(chance: Random) -> SampledCoordinates:
    count = chance.randrange(1, 3)
    grids = tuple(Rounding(-place, 1, 1) for place in range(1, 3))
    return SampledCoordinates(grids, subset(chance, 2), count, 2)


def half_space(chance: Random) -> HalfSpace:
    grids = tuple(Rounding(-1, 1, 1) for _ in range(chance.randrange(1, 4)))
    return HalfSpace(grids, chance.randrange(1, UNIT))


def signs(chance: Random) -> Signs:
    most = chance.randrange(1, 3)
    least = chance.randrange(1, most + 1)
    return Signs.of_ratio(Sparse(3, most), least, Fraction(chance.randrange(2, 20)))


def hints(chance: Random) -> Hints:
    most = chance.randrange(1, 3)
    speak = chance.randrange(UNIT // 20, UNIT // 3)
    return Hints.of_ratio(Sparse(2, most), speak, Fraction(chance.randrange(2, 20)))


def side_by_side(chance: Random) -> Each:
    return Each((subset(chance, 2), chance.choice((window, table, bits))(chance)))


def hitting(chance: Random) -> Hitting:
    """Sets with few and with many hits; or single elements."""
    items, most, picked = chance.choice(((2, 1, 1), (3, 2, 1), (3, 1, 2), (3, 2, 2), (4, 2, 2), (4, 3, 3)))
    every, without = comb(items + most, picked), comb(items, picked)
    return Hitting(items, most, picked, above(chance, 1 - Fraction(without, every)))


def spread(chance: Random) -> Spread:
    """Two items in two cells, which short ids list; two elements may share a cell."""
    most, picked = chance.choice(((1, 1), (1, 2), (2, 1), (2, 2)))
    return Spread(2, Hitting(2, most, picked, above(chance, Fraction(9, 10))), 2)


def options(chance: Random) -> AskedOptions:
    items, most, asked = chance.choice(((2, 1, 1), (3, 2, 1), (2, 2, 2), (3, 3, 2)))
    return AskedOptions(items, most, subset(chance, 1 << asked), 2)


def key_ends(chance: Random) -> KeyEnds:
    keys, most = chance.choice(((2, 1), (2, 2)))
    plain, ends = (Hitting(items, most, 1, above(chance, Fraction(1, 2))) for items in (keys, 2 * keys))
    return KeyEnds(Sparse(keys, most, 1), chance.randrange(1, UNIT), plain, ends)


def asked_key(chance: Random) -> AskedKey:
    keys, most = chance.choice(((2, 1), (3, 2), (4, 3)))
    inner = Table(three_states(Fraction(chance.randrange(2, 20)), Fraction(chance.randrange(3, 5), 2)))
    return AskedKey(Sparse(keys, most, 1), chance.choice((inner, table(chance, 3))), 2)


def sampled_key(chance: Random) -> SampledKey:
    """A neutral law that is now too small, now too large for the numbers behind the key."""
    keys, most = chance.choice(((2, 1), (2, 2), (3, 2)))
    inner = Then(Rounding(-1, 1, 1), chance.choice((subset(chance, 2), table(chance, 2))))
    return SampledKey(
        Sparse(keys, most, 1), Keyed(subset(chance, keys + most), inner, parts(chance, outputs_of(inner) or 0))
    )


NODES: dict[str, Callable[[Random], Channel]] = {
    "subset": subset, "wide subset": wide_subset, "window": window, "table": table, "noise": noise, "mix": mix,
    "rounded": rounded, "keyed": keyed, "bits": bits, "chain": memoised, "hash": hashed, "block": block, "some": some,
    "half-space": half_space, "signs": signs, "hints": hints, "each": side_by_side, "composed": composed,
    "rappor": rappor, "hitting": hitting, "spread": spread, "options": options, "key ends": key_ends,
    "asked key": asked_key, "sampled key": sampled_key,
}  # fmt: skip


def instances(kind: str) -> list[Channel]:
    chance = Random(f"laws of {kind}")
    return [NODES[kind](chance) for _ in range(INSTANCES.get(kind, 8))]


def codes_of(channel: Channel) -> list[Any]:
    """All codes, and of numbers some between the grid points."""
    codes = list(channel.codes())
    if isinstance(channel, (KeyEnds, AskedKey, SampledKey)):
        return codes + [tuple((place, number * Fraction(3, 8)) for place, number in code) for code in codes if code]
    return codes + [a + (b - a) * Fraction(3, 8) for a, b in pairwise(codes)] if rounding_of(channel) else codes


def excess(one: dict[Any, Fraction], other: dict[Any, Fraction], odds: Fraction) -> Fraction:
    """The hockey-stick divergence: the sum of max(0, p - odds q)."""
    return sum((max(Fraction(0), p - odds * other.get(report, Fraction(0))) for report, p in one.items()), Fraction(0))


@pytest.mark.parametrize("kind", NODES)
def test_closed_forms_are_those_of_the_enumerated_sampler(kind: str) -> None:
    for channel in instances(kind):
        ids = list(public_words(channel))
        laws = {code: law(channel, code) for code in codes_of(channel)}
        alphabet = set().union(*laws.values())
        assert channel.ratio() == worst_ratio(list(laws.values()))
        for code, one in laws.items():
            assert sum(one.values()) == 1
            assert one.keys() == alphabet
            for (words, report), probability in one.items():
                assert channel.contains(report)
                assert probability * len(ids) == channel.likelihood(report, code, words)
        outputs = outputs_of(channel)
        if outputs is not None:
            assert {report for _, report in alphabet} == {y for y in range(-1, outputs + 2) if channel.contains(y)}
            check_whole_law(channel, laws)


def check_whole_law(channel: Channel, laws: dict[Any, dict[Any, Fraction]]) -> None:
    """Extremes, delta, moments and rates, each from the enumerated law alone."""
    grid = [laws[code] for code in channel.codes()]
    if not channel.publics:
        columns = [[one.get(((0, 0), y), Fraction(0)) for one in grid] for y in range(outputs_of(channel) or 0)]
        # Of a chain each report is drawn from a memo; rows of a law are by index.
        if channel.codes_are_indices and not isinstance(channel, Chain):
            rows = [[float(column[place]) for column in columns] for place in range(len(grid))]
            assert np.array([law_row(channel, code) for code in range(len(grid))]) == pytest.approx(
                np.array(rows), 1e-9
            )
        assert extremes(channel) == ([max(column) for column in columns], [min(column) for column in columns])
        for odds in (Fraction(1), Fraction(3, 2), channel.ratio(), channel.ratio() + 1):
            assert delta(channel, odds) == max(excess(one, other, odds) for one in grid for other in grid)
    scales = scales_of(channel)
    if scales is None:
        return
    read = list(readings(scales, outputs_of(channel) or 0))
    for code, one in laws.items():
        enumerated = tuple(sum(p * read[y] ** power for (_, y), p in one.items()) for power in (1, 2))
        assert need(channel, Numeric).moments(code) == enumerated


@for_each("kind", NODES)
def test_small_channels_are_plain_data_with_small_proofs(kind: str) -> None:
    for channel in instances(kind)[:4]:
        assert channel_from_spec(channel.spec()) == channel
        for small in channel.miniatures():
            assert small.kind == channel.kind
            assert small.ratio() >= 1


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_ratio_of_hints_is_that_of_the_worst_report_and_pair_of_answers(most: int) -> None:
    """With any shares of the slots, not only with those that make all reports alike."""
    chance = Random(f"hints of {most}")
    for _ in range(3):
        speak = chance.randrange(UNIT // 20, UNIT // 6)
        # A first slot that agrees more often than by chance, and later ones that do so now more, now less often.
        firsts = [int(speak * 2.5), *(int(speak * chance.choice((0.05, 1.2))) for _ in range(most - 1))]
        channel = Hints(Sparse(3, most), speak, tuple(firsts))
        said = product((0, 1, 1 << channel.width), repeat=3)  # nothing, + or - at each place
        reports = [sum(sign << place for place, sign in enumerate(signs_said)) for signs_said in said]
        assert all(map(channel.contains, reports))
        rows = [[channel.likelihood(report, code) for report in reports] for code in channel.codes()]
        assert all(sum(row) == 1 for row in rows)
        assert channel.ratio() == max(max(column) / min(column) for column in zip(*rows, strict=True))


def test_a_table_in_which_an_output_is_impossible_for_some_has_no_ratio() -> None:
    with pytest.raises(PrivacyError):
        Table([eighths(4, 4, 0), eighths(4, 3, 1)]).ratio()
    assert Table([eighths(4, 4, 0), eighths(6, 2, 0)]).ratio() == 2  # for nobody possible: it is never seen


# --- by hand --------------------------------------------------------------------------------------------------------
def eighths(*numbers: int) -> tuple[int, ...]:
    return tuple(number * UNIT // 8 for number in numbers)


def test_the_ratio_of_a_mix_is_that_of_its_worst_channel() -> None:
    mild, strong = Subset(2, 1, UNIT // 8 * 5), Subset(2, 1, UNIT // 8 * 7)
    for channels in ((mild, strong), (strong, mild)):
        assert Mix(eighths(1, 7), channels).ratio() == 7


def test_the_ratio_of_noise_is_that_of_its_tails_where_they_are_worst() -> None:
    """Codes 0 and 1; magnitude 0, magnitude 1 and the tail have the given weights.

    At the border the nearer code has magnitude 1 and the tail together, the other one the tail alone.
    """
    one, unit = (UNIT,), UNIT // 64
    assert Noise(1, one, one, (32 * unit, 31 * unit, 1 * unit)).ratio() == 32  # 31 + 1 to 1, and 32 to 31 elsewhere
    assert Noise(1, one, one, (56 * unit, 4 * unit, 4 * unit)).ratio() == 14  # 56 to 4, and 4 + 4 to 4 at the border
    bands = (32 * unit, 24 * unit, 4 * unit, 4 * unit)
    assert Noise(1, one, one, bands).ratio() == 6  # 24 to 4 between two later bands


@pytest.mark.parametrize("neutral", [eighths(1, 7), eighths(7, 1)])
def test_the_ratio_of_a_keyed_channel_counts_both_directions(neutral: tuple[int, ...]) -> None:
    """The key says 5/8 or 3/8 and the value is hidden (4/8, 4/8): only the neutral law tells supported from not."""
    inner = Table([eighths(4, 4), eighths(4, 4)])
    keep, away = Fraction(5, 8), Fraction(3, 8)
    key = Subset(2, 1, UNIT // 8 * 5)
    pairs = [(keep * Fraction(1, 2), away * Fraction(weight, UNIT)) for weight in neutral]
    assert Keyed(key, inner, neutral).ratio() == max(max(a / b, b / a) for a, b in pairs) == Fraction(20, 3)
    strict = Subset(2, 1, UNIT // 16 * 9)  # 9 to 7: the neutral law is now the larger side of the worst pair
    assert Keyed(strict, Table([eighths(1, 7), eighths(1, 7)]), eighths(4, 4)).ratio() == Fraction(7 * 4, 9)


# --- kernels at their borders ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("place", range(4))
def test_the_noise_kernel_clamps_at_both_borders(place: int) -> None:
    """Every band, every magnitude and both signs, from every code: exactly the reports of the scalar sampler."""
    channel = instances("noise")[place]
    assert isinstance(channel, Noise)

    def inside(weights: tuple[int, ...]) -> list[int]:
        """The least and the largest 53-bit number of every weight, as words."""
        ends = [sum(weights[:number]) for number in range(len(weights) + 1)]
        return [number << 11 for low, high in pairwise(ends) for number in (low, high - 1)]

    choices = product(
        range(channel.inputs), inside(channel.bands), inside(channel.first) + inside(channel.cycle), (0, 1 << 63)
    )
    rows = list(choices)
    codes = np.array([row[0] for row in rows], np.uint32)
    words = np.array([row[1:] for row in rows], np.uint64)
    out, redo = empty_reports(channel, len(rows)), np.zeros(len(rows), np.uint8)
    sampler(channel)(codes, Draws(words, None, redo), 0, out)
    expected = []
    for code, *tape in rows:
        coins = TapeCoins(tape)
        coins.begin(channel.words)
        expected.append(channel.sample(code, coins))
    assert out.tolist() == expected
    assert {(code, report) for (code, *_), report in zip(rows, expected, strict=True)} == set(
        product(range(channel.inputs), range(channel.outputs))
    )


@pytest.mark.parametrize(
    "channel",
    [
        Each((Subset(2, 1, UNIT // 4 * 3),) * 3),
        Subset(5, 2, UNIT // 2),
        Public(HashMap(3, 2, 4), Subset(2, 1, UNIT // 4 * 3)),
        Block(HadamardSets(1023, 1024, 1), UNIT // 4 * 3),
    ],
)
def test_a_law_without_numbered_outputs_or_too_large_to_go_through_is_refused(channel: Channel) -> None:
    with pytest.raises(TooLargeError):
        extremes(channel)
    with pytest.raises(TooLargeError):
        delta(channel, Fraction(2))


def test_the_ratio_of_a_long_chain_is_that_of_two_bits() -> None:
    """A set bit is kept with 3/4 and then sent with 3/4; others with 1/4: 10/16 and 6/16 after both stages."""
    high, low = UNIT // 4 * 3, UNIT // 4
    chain = Chain(Bits(100, high, low), Bits(100, high, low, "mask", 0))
    assert chain.ratio() == (Fraction(10, 16) / Fraction(6, 16)) ** 2


def test_the_extremes_of_many_codes_need_no_summing_up() -> None:
    most, least = Subset(1000, 1, UNIT // 4).extremes()
    assert most == [Fraction(1, 4)] * 1000 and least == [Fraction(3, 4 * 999)] * 1000


def test_the_proof_of_a_long_mask_is_a_short_one() -> None:
    high, low = UNIT // 2, UNIT // 4
    assert Bits(9, high, low, "mask", 5).miniatures() == (Bits(4, high, low, "mask", 2), Bits(6, high, low, "mask", 3))
    assert Bits(9, high, low, "mask", 1).miniatures() == (Bits(4, high, low, "mask", 1),)
    assert Bits(9, high, low).miniatures() == (Bits(4, high, low),)
    rising = tuple(range(low, low + 9))
    first, last = Bits(9, high, rising).miniatures()
    assert isinstance(first, Bits) and isinstance(last, Bits)
    assert (first.q, last.q) == (rising[:4], rising[5:])


@pytest.mark.parametrize(
    ("positions", "kept"),
    [((5, 1), (3, 1)), ((1, 5), (1, 3)), ((5, 5), (2, 2)), ((2, 1), (2, 1)), ((1, 2), (1, 2)), ((3, 2), (2, 2))],
)
def test_small_bits_have_positions_that_show_their_code_and_others(
    positions: tuple[int, int], kept: tuple[int, int]
) -> None:
    hidden, seen = positions
    channel = Bits(hidden + seen, UNIT // 2, (UNIT // 4,) * hidden + (0,) * seen)
    (small,) = channel.miniatures()
    assert (small.k - small.shown.bit_count(), small.shown.bit_count()) == kept
