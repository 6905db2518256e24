"""Batches of numbers lie where the scalar sampler puts each of them, and are refused where it refuses."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Each, Rounding, Subset, Then
from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.domain import Above, Digit, Domain, Integers, Interval, Record, Select, Square
from sottovoce.core.errors import DomainError
from sottovoce.fast import numbers
from sottovoce.fast.batch import draw, privatize
from sottovoce.fast.digits import reads_digits
from sottovoce.fast.kernels.compose.mix import positions
from sottovoce.fast.numbers import batch_codes, encode_numbers
from sottovoce.fast.words import WordStream

MEANS = sv.names(sv.Mean)
STEPS = (1, 2, 3, 1000, 1024, 1 << 16, (1 << 29) + 1, (1 << 30) - 1, 1 << 31)
ENDS = [
    (0, 100),
    (-1, 1),
    (0, 0.3),
    (0.1, 0.7),
    ("1000000000.1", "1000000001.1"),
    ("-123456789.123456789123456789", "1e-3"),
    (0, "1e-110"),
    ("1e100", "1.0000000001e100"),
    ("-1e120", "1e120"),
    ("0.99999999999999999999", "1.00000000000000000001"),
    (1.6e9, 1.7e9),
    ("0.1", "0.10000000000000002"),
]
INTERVALS = [Interval(*ends) for ends in ENDS]


def scalar(domain: Domain, rounding: Rounding, values: Any) -> list[int]:
    return [rounding.position(domain.encode(value)) for value in values]


def assert_same(domain: Domain, rounding: Rounding, array: Any) -> None:
    """The same positions, or as many refused with the same first one."""
    listed = array.tolist() if isinstance(array, np.ndarray) else list(array)
    outside = []
    for value in listed:
        try:
            domain.encode(value)
            outside.append(False)
        except DomainError:
            outside.append(True)
    if any(outside):
        sentence = f"^{sum(outside)} of {len(listed)} answers lie outside the domain, the first at position"
        with pytest.raises(DomainError, match=f"{sentence} {outside.index(True)}\\. An answer must be "):
            encode_numbers(domain, rounding, array)
        inside = np.flatnonzero(~np.array(outside))
        array, listed = array[inside] if isinstance(array, np.ndarray) else [], [listed[i] for i in inside]
    if isinstance(array, np.ndarray):
        found = encode_numbers(domain, rounding, array)
        assert found.dtype == np.uint64 and found.tolist() == scalar(domain, rounding, listed)


@st.composite
def floats_near(draw_from: Any, domain: Interval) -> float:
    """Inside, at and beside the ends, at points of a grid, of few digits."""
    low, high = float(domain.low), float(domain.high)
    kind = draw_from(st.sampled_from(["inside", "end", "grid", "short", "tie", "any"]))
    if kind == "any":
        return draw_from(st.floats())
    if kind == "end":
        value = draw_from(st.sampled_from([low, high, 0.0, -0.0]))
        for _ in range(draw_from(st.integers(0, 3))):
            value = float(np.nextafter(value, draw_from(st.sampled_from([-np.inf, np.inf]))))
        return value
    share = draw_from(st.fractions(0, 1, max_denominator=1 << draw_from(st.sampled_from([3, 10, 33, 50]))))
    if kind == "tie":
        share = Fraction(2 * draw_from(st.integers(0, (1 << 33) - 1)) + 1, 1 << 34)
    value = float(Fraction(domain.low) + share * (Fraction(domain.high) - Fraction(domain.low)))
    return round(value, draw_from(st.integers(0, 6))) if kind == "short" else value


@st.composite
def intervals(draw_from: Any) -> Interval:
    if draw_from(st.booleans()):
        return draw_from(st.sampled_from(INTERVALS))
    scale = draw_from(st.integers(-20, 20))
    low, width = draw_from(st.integers(-(10**6), 10**6)), draw_from(st.integers(1, 10**6))
    return Interval(Decimal(low).scaleb(scale), Decimal(low + width).scaleb(scale))


# --- intervals ---------------------------------------------------------------------------------------------------
@given(data=st.data())
def test_floats_lie_where_the_scalar_sampler_puts_them(data: Any) -> None:
    domain = data.draw(intervals())
    rounding = Rounding(domain.low, domain.high, data.draw(st.sampled_from(STEPS)))
    assert_same(domain, rounding, np.array(data.draw(st.lists(floats_near(domain), max_size=12)), np.float64))


@pytest.mark.parametrize("domain", INTERVALS, ids=str)
def test_many_floats_on_every_interval(domain: Interval) -> None:
    rng = np.random.default_rng(1)
    for steps in (1, 1024, 1 << 20, 1 << 31):
        rounding = Rounding(domain.low, domain.high, steps)
        known = numbers._filter(rounding)
        inside = rng.uniform(known.first, known.last, 300)
        values = np.concatenate([inside, inside.round(1), [known.first, known.last]])
        values = values[(values >= known.first) & (values <= known.last)]
        assert encode_numbers(domain, rounding, values).tolist() == scalar(domain, rounding, values.tolist())


@given(intervals())
@example(Interval(0, 0.1))
@example(Interval(-0.1, 0))
def test_one_unit_in_the_last_place_beyond_an_end_is_refused(domain: Interval) -> None:
    rounding = Rounding(domain.low, domain.high, 1)
    known = numbers._filter(rounding)
    assume(known.first <= known.last)
    for end, away in ((known.first, -np.inf), (known.last, np.inf)):
        assert domain.encode(float(end)) == Fraction(repr(float(end)))
        with pytest.raises(DomainError):
            domain.encode(float(np.nextafter(end, away)))
        assert_same(domain, rounding, np.array([end, np.nextafter(end, away)]))


@pytest.mark.parametrize("steps", [1, 2, 1024])
def test_ties_go_to_the_even_position(steps: int) -> None:
    top = steps << 33
    values = np.arange(1, 40, 2)
    for array in (values, values.astype(np.float64)):
        found = encode_numbers(Interval(0, top), Rounding(0, top, steps), array)  # each lies at half of itself
        assert found.tolist() == [round(Fraction(int(value), 2)) for value in values]


def test_few_values_need_the_exact_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a batch would be slow; and without the exact way a batch would be wrong."""
    domain, rounding = Interval(0, 100), Rounding(0, 100, 1024)
    values = np.random.default_rng(3).uniform(0, 100, 200_000)
    asked: list[float] = []

    def counted(rounding: Rounding, array: Any) -> Any:
        asked.extend(array.tolist())
        return np.array(scalar(domain, rounding, array.tolist()), np.uint64)

    expected = encode_numbers(domain, rounding, values)
    monkeypatch.setattr(numbers, "_exactly", counted)
    assert np.array_equal(encode_numbers(domain, rounding, values), expected)
    assert 0 < len(asked) < 400


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ">f4", ">f8", np.int8, np.uint8, ">i2", np.int64, np.uint64])
def test_every_type_of_number_is_read_as_python_reads_it(dtype: Any) -> None:
    values = np.arange(100).astype(dtype)
    if values.dtype.kind == "f":
        values = (values / 3).astype(dtype)
    for domain in (Interval(0, 100), Interval(-0.1, 99.5), Interval(0, "33.3"), Interval("1e30", "1e31")):
        for steps in (1, 1024, 1 << 31):
            assert_same(domain, Rounding(domain.low, domain.high, steps), values)
            assert_same(domain, Rounding(domain.low, domain.high, steps), values[::-7])


LARGE = [0, 2**53 - 1, 2**53, 2**53 + 1, 2**60 + 1, 2**63 - 1]


@pytest.mark.parametrize("domain", [Interval(0, 2**63), Interval("-1.5", 2**60), Interval(0, "1e40")], ids=str)
def test_integers_beyond_the_floats_are_exact(domain: Interval) -> None:
    for steps in (1, 1024, 1 << 29, 1 << 31):
        rounding = Rounding(domain.low, domain.high, steps)
        assert_same(domain, rounding, np.array(LARGE))
        assert_same(domain, rounding, np.array([*LARGE, 2**64 - 1], np.uint64))
        assert_same(domain, rounding, np.array([-(2**63), -1, *LARGE]))


FIVE = Interval(0, 5)
GRID = Rounding(0, 5, 1024)
BAD = [  # values, how many are refused, the first of them
    (np.array([1.0, np.nan, 2.0, np.inf, -np.inf]), 3, 1),
    (np.array([1.0, np.nextafter(5, 6)]), 1, 1),
    (np.array([-5e-324, 0.0]), 1, 0),
    (np.array([True, False]), 2, 0),
    ([1.0, True], 1, 1),
    (np.array([1 + 0j, 2]), 2, 0),
    (np.array(["1", "2"]), 2, 0),
    (["1", 2.0], 1, 0),
    (np.array([b"1"]), 1, 0),
    (np.array([1, 2], "datetime64[ns]"), 2, 0),
    (np.array([1, 2], "timedelta64[ns]"), 2, 0),
    (np.array([1, 6, -1, 3]), 2, 1),
    (np.array([1, 255], np.uint8), 1, 1),
    (np.array([2**64 - 1, 1], np.uint64), 1, 0),
    (np.array([5.000001], np.float32), 1, 0),
    (np.array([1], np.longdouble), 1, 0),
    ([1.0, None], 1, 1),
    ([1, float("nan"), Decimal("NaN"), Decimal("5.0000000000000000000000001"), Fraction(16, 3)], 4, 1),
    (pd.Series([1.0, None]), 1, 1),
    (pd.Series([1.0, None], dtype="Float64"), 1, 1),
    (pd.Series([1, None], dtype="Int64"), 1, 1),
    (pa.array([1.0, None]), 1, 1),
    (pa.array([1.0, float("nan")]), 1, 1),
    (pa.array([1, None]), 1, 1),
    ([[1.0], [2.0]], 2, 0),
    (np.array([1.0, "x", None], object), 2, 1),
]


@pytest.mark.parametrize(("values", "count", "first"), BAD, ids=range(len(BAD)))
def test_one_number_outside_refuses_the_batch(values: Any, count: int, first: int) -> None:
    with pytest.raises(
        DomainError, match=f"^{count} of .* the first at position {first}\\. An answer must be "
    ) as info:
        encode_numbers(FIVE, GRID, values)
    assert info.value.domain == FIVE and "5.00" not in str(info.value)


@pytest.mark.parametrize(
    "values",
    [
        1.5,
        "1.5",
        b"1",
        None,
        np.zeros((2, 2)),
        np.array(1.5),
        pd.DataFrame({"a": [1.5], "b": [1]}),
        np.ma.array([1.0, 2.0]),
    ],
    ids=repr,
)
def test_what_is_not_a_column_of_numbers_is_refused(values: Any) -> None:
    with pytest.raises(DomainError, match=r"Answers (must be|come)"):
        encode_numbers(FIVE, GRID, values)


GOOD = [
    [0.1, 0.2],
    [1, 2.5, Decimal("0.1"), Fraction(1, 3), np.float64(0.3), np.int8(4)],
    (0.5,),
    iter([0.5, 4.9]),
    pd.Series([0.1, 4.9], index=[7, 8]),
    pd.Series([0.1, 4.9], dtype="Float64"),
    pd.Series([1, 4], dtype="Int64"),
    pd.Series([Decimal("0.1"), 3], dtype=object),
    pa.array([0.1, 4.9]),
    pa.chunked_array([[0.1], [4.9]]),
    pa.array([Decimal("0.1"), Decimal("4.9")]),
    np.array([0.1, 4.9], object),
    [],
    np.array([]),
    np.array([], np.int64),
]


@pytest.mark.parametrize("values", GOOD, ids=range(len(GOOD)))
def test_columns_of_every_kind_are_read(values: Any) -> None:
    listed = list(values) if not hasattr(values, "to_pylist") else values.to_pylist()
    found = encode_numbers(FIVE, GRID, iter(listed) if hasattr(values, "__next__") else values)
    assert found.dtype == np.uint64 and found.tolist() == scalar(FIVE, GRID, listed)


# --- other domains -----------------------------------------------------------------------------------------------
@settings(max_examples=60)
@given(st.integers(1, 2**32 - 1), st.sampled_from(STEPS), st.data())
def test_whole_numbers_have_exact_positions(top: int, steps: int, data: Any) -> None:
    codes = [0, top, *data.draw(st.lists(st.integers(0, top), max_size=10))]
    rounding = Rounding(0, top, steps)
    assert positions(rounding, np.array(codes, np.uint32)).tolist() == [rounding.position(code) for code in codes]


@pytest.mark.parametrize("domain", [Integers(-3, 40), Integers(0, 2**32 - 1), Integers(2**40, 2**40 + 6)])
def test_domains_of_integers(domain: Integers) -> None:
    rounding = Rounding(0, domain.high - domain.low, 1024)
    inside = np.random.default_rng(1).integers(domain.low, domain.high, 50, endpoint=True)
    assert_same(domain, rounding, inside)
    assert_same(domain, rounding, np.append(inside, domain.high + 1))
    assert_same(domain, rounding, inside.astype(float))


def test_views_go_one_by_one() -> None:
    square = Square(Interval(-2, 3))
    assert_same(square, Rounding(0, 9, 1024), np.array([-2, -0.1, 0, 0.3, 3]))
    assert_same(square, Rounding(0, 9, 1024), np.array([1.0, 3.1]))
    record = Record({"age": Integers(0, 9), "height": Interval(1, 2)})
    people = [{"age": 3, "height": 1.1}, {"age": 9, "height": 2}]
    chosen = Select(record, ["height"])
    rounding = Rounding(1, 2, 8)
    assert encode_numbers(chosen, rounding, people).tolist() == scalar(chosen, rounding, people)
    with pytest.raises(DomainError, match="1 of 3"):
        encode_numbers(chosen, rounding, [*people, {"age": 3}])


class Several:
    """A record whose fields go through channels of their own; there is no statistic of such a mechanism yet."""

    domain = Record({"age": Integers(0, 8), "height": Interval(1, "2.5")})
    channel = Each((Subset(9, 1, UNIT // 2), Then(Rounding(1, "2.5", 4), Subset(5, 2, UNIT // 4 * 3))))
    words = channel.words + channel.words % 2
    _public = sv.Mechanism._public
    _takes = sv.Mechanism._takes
    draw = sv.Mechanism.draw


def test_records_have_a_column_for_each_field() -> None:
    people = [{"age": 3, "height": 1.1}, {"height": 2, "age": 8}, {"age": 0, "height": Decimal("2.5")}]
    codes = batch_codes(Several(), people)
    second = rounding_of(Several.channel.channels[1])
    expected = [[3, 8, 0], [second.position(value) for value in (Fraction("1.1"), 2, Fraction("2.5"))]]
    assert codes.dtype == np.uint64 and codes.T.tolist() == expected
    assert batch_codes(Several(), []).shape == (0, 2)
    for wrong in ({"age": 3}, {"age": 3, "height": 2.6}, 5):
        with pytest.raises(DomainError, match=r"1 of 4 answers .* position 3"):
            batch_codes(Several(), [*people, wrong])
    batch = privatize(Several(), people * 50, seed=4)
    stream = WordStream.seeded(Several.words, 4)
    again = draw(Several(), np.tile(codes, (50, 1)), stream, threads=1, chunk_bytes=100)
    assert len(batch) == 150 and np.array_equal(batch.payload, again.payload)


# --- mechanisms --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MEANS)
def test_a_refused_batch_of_numbers_draws_no_coin(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = sv.mechanism(name, Interval(0, 9), epsilon=1)

    def forbidden(*arguments: Any) -> None:
        raise AssertionError("A coin was drawn.")

    monkeypatch.setattr(WordStream, "secure", forbidden)
    monkeypatch.setattr(WordStream, "chunks", forbidden)
    for values in (np.array([3, 9.5]), np.array([-1, 3]), [3, "3"], np.array([np.nan])):
        with pytest.raises(DomainError):
            privatize(mechanism, values)


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize("domain", [Interval("-0.1", "0.3"), Integers(-2, 3)], ids=["interval", "integers"])
def test_batches_of_numbers_are_counted_and_empty_ones_too(name: str, domain: Any) -> None:
    mechanism = sv.mechanism(name, domain, epsilon=1)
    values = np.array([-0.1, 0.0, 0.1, 0.3]) if isinstance(domain, Interval) else np.array([-2, -1, 0, 3])
    reports = privatize(mechanism, np.tile(values, 50), seed=2)
    tally = mechanism.tally(reports)
    assert tally.n == 200 and tally.cells.sum() == 200
    assert np.array_equal(tally.cells, np.bincount(list(reports), minlength=mechanism.cells))
    assert mechanism.tally(privatize(mechanism, [])).n == 0


@pytest.mark.slow
@settings(max_examples=600)
@given(data=st.data())
def test_floats_lie_where_the_scalar_sampler_puts_them_thoroughly(data: Any) -> None:
    check_drawn_floats(data)


@pytest.mark.long
@settings(max_examples=5000)
@given(data=st.data())
def test_floats_lie_where_the_scalar_sampler_puts_them_very_thoroughly(data: Any) -> None:
    check_drawn_floats(data)


def check_drawn_floats(data: Any) -> None:
    domain = data.draw(intervals())
    rounding = Rounding(domain.low, domain.high, data.draw(st.sampled_from(STEPS)))
    assert_same(domain, rounding, np.array(data.draw(st.lists(floats_near(domain), max_size=12)), np.float64))


@pytest.mark.slow
@pytest.mark.parametrize("domain", INTERVALS, ids=str)
def test_thirty_thousand_floats_on_every_interval(domain: Interval) -> None:
    rounding = Rounding(domain.low, domain.high, 1024)
    known = numbers._filter(rounding)
    values = np.random.default_rng(2).uniform(known.first, known.last, 30_000)
    values = values[(values >= known.first) & (values <= known.last)]
    assert encode_numbers(domain, rounding, values).tolist() == scalar(domain, rounding, values.tolist())


def test_nothing_is_certain_on_grids_that_two_floats_cannot_hold() -> None:
    """The limit is 2**80: a number of about 2**48 in units of 2**-32 of the step."""
    below, above = (numbers._filter(Rounding(1 << bits, (1 << bits) + 1, 1)).fixed for bits in (46, 47))
    assert below < 1e-2 and above == 1.0
    below, above = (numbers._filter(Rounding(0, 1, steps)).fixed for steps in ((1 << 30) - 1, 1 << 30))
    assert below < 1e-2 and above == 1.0  # positions beyond 2**62 are no longer whole numbers of a word for sure


def test_rows_of_several_kinds_are_read_one_by_one() -> None:
    """A list of arrays and lists is no rectangle: the same reports come out as from arrays alone."""
    box = sv.mechanism("sampled", sv.Box(0, 1, 2), epsilon=1)
    arrays = [np.array([0.125, 0.25]), np.array([0.5, 0.75])]
    mixed, plain = (box.privatize(rows, seed=1) for rows in ([arrays[0], [0.5, 0.75]], arrays))
    assert mixed == plain or list(mixed) == list(plain)


def test_digits_are_read_from_floats_on_lines_only() -> None:
    floats, line = np.array([1.5, 2]), sv.Interval(0, 10)
    assert reads_digits(Above(line, 4), floats) and reads_digits(Digit(line, 1, 4), floats.astype(np.float32))
    pair = sv.Pair(sv.Categories(["a", "b"]), line)
    assert not any(reads_digits(domain, floats) for domain in (Above(pair, 4), Above(sv.Integers(0, 9), 4)))
    assert not any(reads_digits(Above(line, 4), floats.astype(kind)) for kind in (np.int64, np.longdouble, object))
