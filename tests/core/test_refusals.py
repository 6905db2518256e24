"""What only one condition refuses: each case here is right in every other respect."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Each, HashMap, PoolMap, Public, Rounding, SampledCoordinates, Subset
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.domain import Categories, Integers, Interval
from sottovoce.core.domain.pair import Pair
from sottovoce.core.domain.plain import MAX_CODES, MAX_INTEGER
from sottovoce.core.errors import DomainError, MismatchError, ParameterError, ReportError
from sottovoce.core.exchange import codec
from sottovoce.core.language.translated import MAX_TEXT, texts_by_language
from sottovoce.core.params import shown
from sottovoce.core.question.joint import Joint
from sottovoce.estimate.group_mean.truth import Crowd
from sottovoce.fast.batch import from_payloads
from sottovoce.fast.kernels.base import index_type, sampler
from sottovoce.fast.kernels.compose.mix import positions
from sottovoce.fast.kernels.compose.public import refused_ids
from sottovoce.fast.kernels.vector.sampled import first_coordinates
from sottovoce.tally.tally import Tally


@pytest.mark.parametrize("values", [["a", "ax", "axx"], ["b", "bx", "a"], [1, 2], [-1, 0]])
def test_foreign_values_of_categories_are_none_of_them(values: list[Any]) -> None:
    domain = Categories(values)
    for value in domain.foreign():
        with pytest.raises(DomainError):
            domain.encode(value)


@pytest.mark.parametrize("value", [Pair(Integers(0, 1), Interval(0, 1)), "a value"])
def test_the_value_of_a_pair_is_a_single_answer(value: Any) -> None:
    with pytest.raises(ParameterError, match="a domain of single answers"):
        Pair(Integers(0, 1), value)


def test_texts_have_as_many_characters_as_stated() -> None:
    assert texts_by_language({"en": "a" * MAX_TEXT}, "text") == (("en", "a" * MAX_TEXT),)
    for text in ("a" * (MAX_TEXT + 1), " ", 1):
        with pytest.raises(ParameterError, match="must have 1 to 2000 characters"):
            texts_by_language({"en": text}, "text")


@pytest.mark.parametrize("tables", [[["a", "b"], "ab"], [["a", 1], ["a", "b"]], "ab"])
def test_every_table_of_a_joint_question_is_a_list_of_names(tables: Any) -> None:
    yes_or_no = Categories(["yes", "no"])
    with pytest.raises(ParameterError, match="lists of names of the fields"):
        Joint.about(sv.Record({"a": yes_or_no, "b": yes_or_no}), {"tables": tables})


def test_a_crowd_has_a_prior_for_each_group() -> None:
    domain = Pair(Categories(["f", "m"]), Interval(0, 1))
    with pytest.raises(ParameterError, match="there is none for 'm'"):
        Crowd.of(domain, None, {"f": sv.Prior.of([0.5])})


def test_indices_have_the_smallest_type_that_holds_them() -> None:
    for bits, kind, next_kind in ((8, np.uint8, np.uint16), (16, np.uint16, np.uint32), (32, np.uint32, np.uint64)):
        assert index_type(1 << bits) is kind and index_type((1 << bits) + 1) is next_kind


@pytest.mark.parametrize("group", [Interval(0, 1), "a group"])
def test_the_group_of_a_pair_is_one_of_finitely_many(group: Any) -> None:
    with pytest.raises(ParameterError, match="at least two and finitely many codes"):
        Pair(group, Interval(0, 1))


@pytest.mark.parametrize(
    ("low", "high", "allowed"),
    [
        (MAX_INTEGER - 1, MAX_INTEGER, True),
        (MAX_INTEGER, MAX_INTEGER + 1, False),
        (-MAX_INTEGER, 1 - MAX_INTEGER, True),
        (-MAX_INTEGER - 1, 0, False),
        (7, 7, False),
        (7, 8, True),
        (-3, MAX_CODES - 4, True),
        (-3, MAX_CODES - 3, False),
    ],
)
def test_how_large_integers_may_be_and_how_many(low: int, high: int, allowed: bool) -> None:
    if allowed:
        assert Integers(low, high).size == high - low + 1
    else:
        with pytest.raises(ParameterError):
            Integers(low, high)


@pytest.mark.parametrize(
    ("part", "codes"),
    [(Bits(33, UNIT // 2, UNIT // 4, "mask", 0), "long masks"), (Each((Subset(2, 1, UNIT // 4 * 3),)), "tuples")],
)
def test_one_part_without_a_kernel_is_enough_to_have_none(part: Any, codes: str) -> None:
    with pytest.raises(NotImplementedError, match=f"whose codes are {codes}"):
        sampler(Each((Subset(2, 1, UNIT // 4 * 3), part)))


def test_whole_numbers_have_exact_positions_below_two_to_the_32() -> None:
    last = (1 << 32) - 1
    assert positions(Rounding(0, last, 1), np.array([0, last], np.uint32)).tolist() == [0, 1 << 32]
    for rounding in (Rounding(0, 1 << 32, 1), Rounding(1, 5, 1), Rounding(0, "2.5", 1)):
        with pytest.raises(ValueError, match="Exact positions"):
            positions(rounding, np.array([2], np.uint32))


@pytest.mark.parametrize("cells", [[-1, 5, 6], [5, 6, -1], [11, 5, 6], [5, 6, 11], [0, 0, 11]])
def test_one_cell_outside_its_bounds_is_enough_to_refuse_a_tally(cells: list[int]) -> None:
    m = sv.mechanism("oue", sv.Integers(0, 2), epsilon=1)
    assert Tally(m, 10, np.array([0, 5, 10])).n == 10
    with pytest.raises(MismatchError, match="from 0 to 10"):
        Tally(m, 10, np.array(cells))


@pytest.mark.parametrize("key", ["subset", "unary"])
def test_one_group_with_more_reports_than_there_are_is_enough_to_refuse_a_tally(key: str) -> None:
    """Two cells for each of six groups; each cell alone is small enough, and so is their sum."""
    m = sv.mechanism("group-bernoulli", sv.Pair(sv.Integers(1, 6), sv.Interval(0, 1)), epsilon=1, key=key)
    assert m.cells == 12 and outputs_of(m.channel) is None
    full = [5, 5, 4, 6, *[0] * 8]  # twice ten: each of ten reports supports both groups
    assert Tally(m, 10, np.array(full)).n == 10
    for cells in ([6, 5, 4, 5, *[0] * 8], [*[0] * 8, 4, 5, 6, 5]):
        with pytest.raises(MismatchError, match="has 11 reports of 10"):
            Tally(m, 10, np.array(cells))


@pytest.mark.parametrize("shape", [(3, 8), (3, 24), (2, 16), (4, 16), (48,), (3, 2, 8)])
def test_ids_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    m = sv.mechanism("olh", sv.Integers(0, 9), epsilon=1)
    payloads = np.zeros((3, codec.payload_bytes(m.channel)), np.uint8)
    assert len(from_payloads(m, payloads, np.zeros((3, 16), np.uint8))) == 3
    with pytest.raises(ReportError, match="16-byte ids"):
        from_payloads(m, payloads, np.zeros(shape, np.uint8))


COIN, GRIDS = Subset(2, 1, UNIT // 4 * 3), (Rounding(0, 1, 1),) * 7


@pytest.mark.parametrize(
    "channel",
    [
        SampledCoordinates(GRIDS, COIN, 3),
        SampledCoordinates(GRIDS, COIN, 3, 8),
        Public(PoolMap(9, 3, 8), Subset(3, 1, UNIT // 2)),
        Public(HashMap(3, 2, 4), COIN),
    ],
)
def test_a_batch_refuses_the_ids_that_the_channel_refuses(channel: Any) -> None:
    top = (1 << 64) - 1
    words = np.array([(a, b) for a in (0, 255, 1 << 55, top - 255, top) for b in (0, 255, top)], np.uint64)
    expected = [not channel.accepts((int(a), int(b))) for a, b in words]
    assert refused_ids(channel, words).tolist() == expected
    assert any(expected) is not isinstance(getattr(channel, "map", None), HashMap)


def test_coordinates_that_public_words_choose_are_unknown_without_them() -> None:
    with pytest.raises(ValueError, match="chosen by public words"):
        first_coordinates(SampledCoordinates(GRIDS, COIN, 3), None, 2)
    assert first_coordinates(SampledCoordinates(GRIDS, COIN, 7), None, 2).tolist() == [0, 0]  # all of them


@pytest.mark.parametrize("dtype", ["U2", "S2", object])
def test_texts_in_the_place_of_numbers_are_refused_without_showing_them(dtype: Any) -> None:
    """Arrays of short texts and of objects have items of at most eight bytes, as numbers have."""
    m = sv.mechanism("duchi-linf", sv.Box(0, 1, 2), epsilon=1)
    with pytest.raises(DomainError) as caught:
        m.privatize(np.array([["q7", "z8"]], dtype), seed=1)
    error: BaseException | None = caught.value
    assert "position 0" in str(error)
    while error is not None:
        assert "q7" not in str(error) and "z8" not in str(error)
        error = error.__context__


@pytest.mark.parametrize("digits", [79, 80, 81, 82])
def test_a_long_number_is_shortened_in_an_error(digits: int) -> None:
    value = Decimal("7" * digits)
    assert shown(value) == ("7" * digits if digits <= 80 else "7" * 77 + "...")
