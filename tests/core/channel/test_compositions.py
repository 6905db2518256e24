"""Random compositions of all nodes against brute force, and kernels that once differed from the scalar sampler."""

from __future__ import annotations

import os
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from scripts.fuzz.brute import Bare, check_by_law, check_draws, check_kernels
from scripts.fuzz.channels import check_channel
from scripts.fuzz.compositions import pair_of_channels
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import (
    NODES,
    AskedMap,
    Bits,
    Block,
    Channel,
    Each,
    HadamardSets,
    HashMap,
    Histogram,
    Mix,
    Place,
    PoolMap,
    Public,
    Rounding,
    Subset,
    Table,
    Then,
    Window,
)
from sottovoce.core.channel.base import nested
from sottovoce.core.channel.numeric.grids import check_grids
from sottovoce.core.coins import TapeCoins
from sottovoce.core.errors import BatchWarning, ParameterError, PrivacyError, SpecError
from sottovoce.core.exact import law, worst_ratio
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.fast.batch import Reports, draw
from sottovoce.fast.kernels.base import NoBatchError, counter, sampler
from sottovoce.fast.words import WordStream

HALF = UNIT // 2
MORE = UNIT // 4 * 3
START = int(os.environ.get("SOTTOVOCE_TEST_SEED", "0"))


# --- any channel -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("part", range(4))
def test_random_compositions(part: int) -> None:
    for seed in range(START + 10 * part, START + 10 * part + 10):
        check_channel(seed)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_more_random_compositions(part: int) -> None:
    for seed in range(START + 1000 + 20 * part, START + 1020 + 20 * part):
        check_channel(seed)


def test_every_node_is_tried() -> None:
    def kinds(channel: Channel) -> list[str]:
        return [part.kind for part in (channel, *nested(channel))]

    found = Counter(kind for seed in range(600) for kind in kinds(pair_of_channels(seed)[0]))
    floats = {"cap", "projected"}  # whose laws are not rational
    assert set(found) == set(NODES) - floats


def test_a_wrong_closed_form_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ratio and a likelihood that are off by one unit in 2**53."""
    channel = Subset(3, 1, HALF)
    check_by_law(channel)
    wrong = Subset(3, 1, HALF + 1).ratio()
    monkeypatch.setattr(Subset, "ratio", lambda self: wrong)
    with pytest.raises(AssertionError, match="The ratio is"):
        check_by_law(channel)
    monkeypatch.undo()
    likelihood = Subset.likelihood
    monkeypatch.setattr(Subset, "likelihood", lambda self, *given: likelihood(Subset(3, 1, HALF + 1), *given))
    with pytest.raises(AssertionError, match="differs from the law"):
        check_by_law(channel)


# --- kernels that differed -------------------------------------------------------------------------------------------
DIFFERED: dict[str, Channel] = {
    "a pool of more than 2**32 maps": Public(PoolMap(1 << 20, 257, 6), Subset(257, 1, HALF)),
    "a binary pool of more than 2**32 maps": Public(PoolMap(1 << 20, 256, 6), Subset(256, 1, HALF)),
    "masks, then an index": Then(Bits(3, MORE, HALF // 2), Subset(8, 1, HALF)),
    "masks, then a subset": Then(Bits(3, MORE, HALF // 2, "mask", 0), Subset(8, 3, MORE)),
    "masks, then bits of one code": Then(
        Bits(2, MORE, HALF // 2, "optional"), Then(Bits(4, MORE, HALF), Subset(16, 1, HALF))
    ),
    "a subset, then a window": Then(Subset(3, 2, MORE), Window(8, 1, 2, HALF)),
    "masks in a mix": Mix((HALF, HALF), (Subset(8, 1, HALF), Then(Bits(3, MORE, HALF, "mask", 0), Subset(8, 1, HALF)))),
    "masks side by side": Each((Then(Bits(3, MORE, HALF, "mask", 0), Subset(8, 1, HALF)), Subset(3, 1, HALF))),
    "more than 2**32 outputs": Block(HadamardSets(100, 1 << 24, 1 << 20), HALF),
}


@pytest.mark.parametrize("name", DIFFERED)
def test_batches_equal_the_scalar_sampler(name: str) -> None:
    check_draws(DIFFERED[name], 3, 30, 53)


@pytest.mark.filterwarnings("ignore::sottovoce.core.errors.BatchWarning")
@pytest.mark.parametrize("name", ["masks, then an index", "a subset, then a window", "masks side by side"])
def test_whole_batches_of_compositions(name: str) -> None:
    check_kernels(DIFFERED[name], 1)


def test_optional_bits_behind_a_map_have_no_rates() -> None:
    """No bit stands for the last code; counted as if one did, shares would be biased."""
    bits = Bits(2, MORE, HALF // 2, "optional")
    assert Public(HashMap(3, 3), bits).rates() is None
    assert Public(HashMap(3, 2), Bits(2, MORE, HALF // 2)).rates() is not None
    with pytest.raises(SpecError, match="supports cannot be counted"):
        Mechanism("x", Frequency(sv.Integers(0, 2)), Public(HashMap(3, 3), bits), Decimal(5), CountSupports())


def test_short_hashes_are_counted_by_the_definition() -> None:
    """The kernel of local hashing reads words of 64 bits."""
    assert callable(counter(Public(HashMap(3, 2), Subset(2, 1, MORE))))
    for other in (Public(HashMap(3, 2, 4), Subset(2, 1, MORE)), Public(HashMap(3, 3), Subset(3, 2, MORE))):
        with pytest.raises(NoBatchError, match="needs randomized response"):
            counter(other)


# --- small proofs of a place and its second stage --------------------------------------------------------------------
SMALL_PLACES = {  # entries, and the sizes of the subsets: dimensions, entries and size of each small channel
    (1, 1): [(2, 1, 1), (3, 1, 1), (3, 1, 1), (2, 1, 1)],
    (1, 7): [(2, 1, 1), (3, 1, 1), (3, 1, 2), (2, 1, 2)],
    (5, 1): [(2, 2, 1), (3, 2, 1), (3, 2, 1), (2, 2, 1), (4, 3, 1), (4, 3, 1), (3, 3, 1), (3, 3, 1)],
    (5, 7): [(2, 2, 1), (3, 2, 1), (3, 2, 2), (2, 2, 2), (4, 3, 1), (4, 3, 2), (3, 3, 2), (3, 3, 3)],
}


@pytest.mark.parametrize(("most", "w"), SMALL_PLACES)
def test_the_proof_of_many_places_is_one_of_few_with_the_same_ratio(most: int, w: int) -> None:
    """As many places and as large subsets as can be enumerated; a subset never exceeds that of the channel."""
    second = Subset(2000, w, UNIT // 100)
    small = Then(Place(sv.Sparse(1000, most)), second).miniatures()
    assert [(one.first.dimensions, one.first.most, one.second.w) for one in small] == SMALL_PLACES[most, w]
    for channel in small:
        assert channel.second.k == 2 * channel.first.dimensions
        assert channel.second.ratio() <= second.ratio() < channel.second.ratio() * (1 + Fraction(1, 1 << 40))
    laws = [law(small[0], code) for code in small[0].codes()]
    assert worst_ratio(laws) == small[0].ratio()


# --- one by one, with a note -----------------------------------------------------------------------------------------
def test_what_has_no_kernel_is_counted_one_by_one_with_a_note() -> None:
    channel = Block(HadamardSets(7, 8, 1), MORE)
    m = Mechanism("x", Frequency(sv.Integers(0, 6)), channel, Decimal(5), CountSupports())
    reports = m.privatize(np.arange(70) % 7, seed=1)
    with pytest.warns(BatchWarning, match="counted one by one"):
        cells = m.tally(reports).cells
    assert cells.tolist() == [sum(channel.supports(report, code) for report in reports) for code in range(7)]


def test_what_has_no_kernel_is_drawn_one_by_one_with_a_note() -> None:
    pairs = Each((Subset(3, 1, MORE), Subset(4, 1, MORE)))
    bare: Any = Bare(Each((pairs, Subset(2, 1, MORE))))
    codes, stream = np.empty(18, object), WordStream.seeded(bare.words, 1)
    codes[:] = [((2, 3), 1), ((0, 1), 0)] * 9
    with pytest.warns(BatchWarning, match="drawn one by one"):
        reports = draw(bare, codes, stream)
    for place, report in enumerate(reports):
        coins = TapeCoins(stream.rows(place, 1).tobytes(), stream.overflow(place))
        assert bare.draw(codes[place], coins)[1] == report


# --- any byte order --------------------------------------------------------------------------------------------------
ORDERS = [">i2", ">i4", ">i8", ">u2", ">u8", "<u4"]


@pytest.mark.parametrize("dtype", ORDERS)
@pytest.mark.parametrize("name", ["grr", "oue", "olh", "bernoulli"])
def test_answers_in_any_byte_order(name: str, dtype: str) -> None:
    m = sv.mechanism(name, sv.Integers(0, 9), epsilon=1)
    values = np.arange(50) % 10
    assert list(m.privatize(values.astype(dtype), seed=1)) == list(m.privatize(values, seed=1))


@pytest.mark.parametrize("dtype", [">f4", ">f8", "<f4"])
def test_floats_in_any_byte_order(dtype: str) -> None:
    m = sv.mechanism("piecewise", sv.Interval(0, 8), epsilon=1)
    values = np.arange(33) / 4
    assert list(m.privatize(values.astype(dtype), seed=1)) == list(m.privatize(values, seed=1))


@pytest.mark.parametrize("name", ["grr", "oue", "olh", "subset"])
def test_reports_in_any_byte_order(name: str) -> None:
    m = sv.mechanism(name, sv.Integers(0, 299), epsilon=1)
    batch = m.privatize(np.arange(50), seed=1)
    swapped = batch.payload.astype(batch.payload.dtype.newbyteorder(">"))
    public = None if batch.public is None else batch.public.astype(">u8")
    again = Reports(m, swapped, public)
    assert list(again) == list(batch)
    assert m.tally(again) == m.tally(batch)


def test_the_proofs_of_a_place_alone_have_one_two_and_three_entries() -> None:
    for most in (1, 2, 5):
        small = Place(sv.Sparse(1000, most)).miniatures()
        assert [(channel.dimensions, channel.most) for channel in small] == [
            (entries + 1, min(entries, most)) for entries in (1, 2, 3)
        ]


def test_the_proofs_of_a_window_have_its_width_in_proportion_to_its_way() -> None:
    """A window as wide as its way, and one of half that width."""
    for width, widths in ((40, [3, 2, 6, 4, 6]), (20, [2, 1, 3, 2, 3])):
        small = Window(11, 4, width, MORE).miniatures()
        assert [(channel.k, channel.stride) for channel in small] == [(2, 3), (3, 1), (4, 2), (5, 1), (7, 1)]
        assert [channel.width for channel in small] == widths


@pytest.mark.parametrize("grids", [(), (Rounding(0, 1, 2), "grid"), ("grid", Rounding(0, 1, 2)), (Subset(2, 1, MORE),)])
def test_coordinates_are_roundings(grids: Any) -> None:
    with pytest.raises(ParameterError, match="roundings"):
        check_grids("signs", grids)


def test_parts_of_as_many_codes_as_there_are_short_words_have_a_kernel() -> None:
    assert callable(sampler(Each((Subset(1 << 32, 1, HALF), Subset(3, 1, HALF)))))


def test_a_histogram_of_bins_that_show_their_end_has_no_ratio() -> None:
    """`make fuzz` found it (seed 884005937): an output that one end of a bin alone sends divided by zero."""
    sure = Table(((UNIT, 0, 0), (1, UNIT - 1, 0)))
    with pytest.raises(PrivacyError, match="infinite"):
        Histogram(2, sure).ratio()
    half = Table(((UNIT // 2, UNIT // 2, 0), (UNIT // 4, 3 * UNIT // 4, 0)))
    assert Histogram(2, half).ratio() == Fraction(3)  # the output that nobody sends does not count


def test_a_code_that_stands_for_those_not_asked_about_is_not_supported() -> None:
    """`make fuzz` found it (seed 687180814): rates were stated for inner channels whose reports support that code."""
    assert Public(AskedMap(4, 3, 4), Subset(4, 1, UNIT - 1)).rates() is None
    nested = Public(HashMap(4, 3, 4), Subset(3, 1, UNIT // 2))
    assert nested.rates() is not None and Public(AskedMap(4, 3, 4), nested).rates() is None
    optional = Public(AskedMap(4, 3, 4), Bits(3, UNIT // 4 * 3, UNIT // 4, "optional"))
    assert optional.rates() == (Fraction(9, 16), Fraction(3, 16))
