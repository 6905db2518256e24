"""Batches accept what the domain accepts; one answer outside refuses them all, before a coin is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.core.domain import Bins, Categories, Circle, Integers, Interval, Select
from sottovoce.core.errors import DomainError
from sottovoce.fast.batch import privatize
from sottovoce.fast.encode import encode
from sottovoce.fast.words import WordStream

ORACLES = [name for name in sv.names(sv.Frequency) if name != "rr"]  # which takes two categories only
NUMBERS = Integers(-3, 6)
NAMES = Categories(["red", "green", "blue"])
YEARS = Categories([2001, -5, 1999, 2**53])

GOOD = [
    (NUMBERS, [-3, 6, 0]),
    (NUMBERS, range(-3, 7)),
    (NUMBERS, np.array([-3, 6, 0])),
    (NUMBERS, np.array([-3, 6, 0], np.int8)),
    (NUMBERS, np.array([0, 6], np.uint8)),
    (NUMBERS, np.array([0, 6], np.uint64)),
    (NUMBERS, np.array([-3, 6, 0], ">i4")),
    (NUMBERS, np.arange(-3, 7)[::2]),
    (NUMBERS, pd.Series([5, -3, 6])),
    (NUMBERS, pd.Series([5, -3, 6], dtype="Int64")),
    (NUMBERS, pd.Categorical([5, -3, 5])),
    (NUMBERS, pa.array([5, -3, 6])),
    (NUMBERS, [np.int64(3), 2]),
    (NUMBERS, iter([1, 2])),
    (NUMBERS, [1.0, 2, -3.0]),
    (NUMBERS, np.array([-3.0, 6.0, -0.0])),
    (NUMBERS, np.array([-3.0, 6.0], np.float16)),
    (NUMBERS, np.array([-3.0, 6.0], np.float32)),
    (NUMBERS, np.array([-3.0, 6.0], np.longdouble)),
    (NUMBERS, np.array([-3.0, 6.0], ">f8")),
    (NUMBERS, pd.Series([1.0, 2.0])),
    (NUMBERS, pa.array([1.0, 2.0])),
    (Integers(2**53 - 9, 2**53), np.array([2.0**53, 2.0**53 - 9])),
    (Bins(Integers(0, 9), [3, 7]), np.array([0.0, 3.0, 9.0])),
    (NAMES, ["blue", "red"]),
    (NAMES, ("blue", "red")),
    (NAMES, np.array(["blue", "red"])),
    (NAMES, np.array(["blue", "red"], dtype=object)),
    (NAMES, pd.Series(["blue", "red"])),
    (NAMES, pd.Series(["blue", "red"], dtype="category")),
    (NAMES, pa.array(["blue", "red"])),
    (NAMES, [np.str_("green")]),
    (YEARS, [1999, 2001]),
    (YEARS, np.array([2**53, -5, 1999, 2001])),
    (YEARS, np.array([2**53, 1999], np.uint64)),
    (Bins(Integers(0, 9), [3, 7]), np.array([0, 3, 9])),
    (Bins(Interval(0, 1), ["0.1", "0.3", "0.7"]), np.array([0.1, np.nextafter(0.1, 0), 0.3, 0.1 + 0.2, 0.7, 1.0, 0.0])),
    (Bins(Interval(0, 1), ["0.1", "0.30000000000000000001"]), np.array([0.3, np.nextafter(0.3, 1), 0.1])),
    (Bins(Interval(0, 9), ["2.5"]), np.array([2, 3, 9, 0], np.uint8)),
    (Bins(Circle(24), [6, 12]), np.array([24.0, 0.0, 6.0, 23.999, 12.0])),
    (Bins(Circle("0.30000000000000000001"), ["0.1"]), np.array([0.3, 0.1])),
    (Integers(0, 2**32 - 1), np.array([2**32 - 1, 0])),
]


@pytest.mark.parametrize(("domain", "values"), GOOD, ids=range(len(GOOD)))
def test_batches_encode_like_the_domain(domain: Any, values: Any) -> None:
    listed = list(values)
    codes = encode(domain, iter(listed) if hasattr(values, "__next__") else values)
    plain = [value.as_py() if isinstance(value, pa.Scalar) else value for value in listed]
    assert codes.dtype == np.uint32 and codes.tolist() == [domain.encode(value) for value in plain]


def test_an_empty_batch_is_empty() -> None:
    for domain in (NUMBERS, NAMES, YEARS):
        for values in ([], (), np.array([], np.int64), np.array([], object), pd.Series([], dtype=object)):
            assert encode(domain, values).shape == (0,)
    for name in ORACLES:
        mechanism = sv.mechanism(name, Integers(0, 9), epsilon=1)
        batch = privatize(mechanism, [])
        assert len(batch) == 0 and len(list(batch)) == 0


long_list = np.zeros(200_000, np.int64)
long_list[150_000] = 7
long_list[-1] = -4

BAD = [  # domain, values, how many are refused, the first of them
    (NUMBERS, [1.5, 2], 1, 0),
    (NUMBERS, [2, 7.0], 1, 1),
    (NUMBERS, np.array([1.0, 2.5, np.inf]), 2, 1),
    (NUMBERS, np.array([-4.0, 7.0, 6.0]), 2, 0),
    (NUMBERS, np.array([1.0, 1.5], np.float32), 1, 1),
    (NUMBERS, np.array([1.0, 1.5], np.longdouble), 1, 1),
    (NUMBERS, pd.Series([1.0, np.nan]), 1, 1),
    (NUMBERS, pd.DataFrame({"a": [1, 9]}), 1, 1),
    (NUMBERS, np.array([1e300, -1e300, 1.0]), 2, 0),
    (YEARS, np.array([1999.0]), 1, 0),
    (YEARS, [1999.0], 1, 0),
    (NUMBERS, [1, True], 1, 1),
    (NUMBERS, [True, 1], 1, 0),
    (NUMBERS, np.array([True, False]), 2, 0),
    (NUMBERS, [0, float("nan"), None], 2, 1),
    (NUMBERS, np.array([np.nan]), 1, 0),
    (NUMBERS, ["1", 2], 1, 0),
    (NUMBERS, np.array(["1", "2"]), 2, 0),
    (NUMBERS, np.array([b"1"]), 1, 0),
    (NUMBERS, [[1], [2]], 2, 0),
    (NUMBERS, [-4, 0, 6], 1, 0),
    (NUMBERS, [-3, 0, 7], 1, 2),
    (NUMBERS, np.array([-4, 0, 6]), 1, 0),
    (NUMBERS, np.array([-3, 0, 7]), 1, 2),
    (NUMBERS, np.array([0, 2**63 - 1, -(2**63)]), 2, 1),
    (NUMBERS, np.array([0, 2**64 - 1], np.uint64), 1, 1),
    (NUMBERS, np.array([0, 2**64 - 3], np.uint64), 1, 1),
    (NUMBERS, np.array([0, -128], np.int8), 1, 1),
    (NUMBERS, long_list, 2, 150_000),
    (NUMBERS, pd.Series([1, None, 2], dtype="Int64"), 1, 1),
    (NUMBERS, pd.Series([1, 9], index=[8, 9]), 1, 1),
    (NUMBERS, pd.Categorical([1, None]), 1, 1),
    (NUMBERS, pa.array([1, None]), 1, 1),
    (NUMBERS, np.array([1, 1 + 0j]), 2, 0),
    (NUMBERS, np.array(["2020-01-01"], "datetime64[D]"), 1, 0),
    (NUMBERS, [1 << 80], 1, 0),
    (NAMES, ["red", "pink"], 1, 1),
    (NAMES, ["red", 1], 1, 1),
    (NAMES, ["red", "\ud800"], 1, 1),
    (NAMES, np.array(["red", "Red"]), 1, 1),
    (NAMES, np.array([0, 1]), 2, 0),
    (NAMES, np.array([0.5]), 1, 0),
    (NAMES, pd.Series(["red", None]), 1, 1),
    (NAMES, pd.Categorical(["red", None, "pink"]), 2, 1),
    (NAMES, pa.array(["red", None]), 1, 1),
    (YEARS, [2001, "1999"], 1, 1),
    (YEARS, np.array([1999, 2000]), 1, 1),
    (YEARS, np.array([1999, 2**53 + 1]), 1, 1),
    (YEARS, np.array([1999, 2**53 + 1], np.uint64), 1, 1),
    (YEARS, np.array([2**64 - 5], np.uint64), 1, 0),
    (YEARS, np.array(["1999"]), 1, 0),
    (YEARS, [True], 1, 0),
    (Bins(Integers(0, 9), [3, 7]), np.array([0, 10]), 1, 1),
]


@pytest.mark.parametrize(("domain", "values", "count", "first"), BAD, ids=range(len(BAD)))
def test_one_answer_outside_refuses_the_batch(domain: Any, values: Any, count: int, first: int) -> None:
    with pytest.raises(
        DomainError, match=f"^{count} of .* outside the domain, the first at position {first}\\. An answer must be "
    ) as info:
        encode(domain, values)
    assert info.value.domain == domain and info.value.must_be in info.value.sentence
    values = values["a"] if isinstance(values, pd.DataFrame) else values
    plain = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    with pytest.raises(DomainError):
        domain.encode(plain[first])


@pytest.mark.parametrize(
    "values",
    [
        "red",
        b"red",
        5,
        None,
        np.zeros((2, 2), int),
        np.zeros((0, 2), int),
        np.array(5),
        pd.DataFrame({"a": [1], "b": [2]}),
        pa.table({"a": [1], "b": [2]}),
    ],
    ids=lambda value: f"{type(value).__name__} {np.shape(value)}",
)
def test_what_is_not_a_column_of_answers_is_refused(values: Any) -> None:
    for domain in (NUMBERS, NAMES):
        with pytest.raises(DomainError, match=r"Answers (must be|come)"):
            encode(domain, values)


@pytest.mark.parametrize("table", [pd.DataFrame, pa.table])
def test_a_table_of_one_column_is_that_column(table: Any) -> None:
    assert encode(NUMBERS, table({"a": [5, -3]})).tolist() == [8, 0]
    assert encode(NAMES, table({"colour": ["blue", "red"]})).tolist() == [2, 0]
    assert encode(NUMBERS, table({"a": [5.0, -3.0]})).tolist() == [8, 0]


@pytest.mark.parametrize("table", [pd.DataFrame, pa.table])
def test_a_table_of_records_is_read_by_the_names_of_its_columns(table: Any) -> None:
    people = sv.Record({"age": Integers(0, 3), "type": NAMES})
    view = Select(people, ["type", "age"])
    rows = [{"age": 3, "type": "red"}, {"age": 0, "type": "blue"}]
    columns = table({"type": ["red", "blue"], "age": [3, 0]})
    assert encode(view, columns).tolist() == [view.encode(row) for row in rows]
    for wrong in (
        table({"type": ["red"]}),
        table({"type": ["red"], "age": [1], "who": [1]}),
        table({"age": [1], "x": [1]}),
    ):
        with pytest.raises(DomainError, match="must be a record of age, type"):
            encode(view, wrong)
    with pytest.raises(DomainError, match=r"1 of 2 answers .* position 1"):
        encode(view, table({"type": ["red", "pink"], "age": [3, 0]}))


def test_what_is_allowed_is_said_and_the_answer_is_not() -> None:
    with pytest.raises(
        DomainError, match=r"^1 of 2 .* one of the 3 categories\. Allowed: 'red', 'green', 'blue'\.$"
    ) as info:
        encode(NAMES, ["red", "a secret"])
    assert "secret" not in repr(info.value) and "Allowed" not in info.value.sentence
    many = Categories([f"number {i}" for i in range(30)] + ["x" * 90])
    with pytest.raises(DomainError, match=r"'number 19' and 11 more\.$"):
        encode(many, ["no"])
    with pytest.raises(DomainError, match=r"one of the 2 categories\. Allowed: 'x{36}\.\.\., 'y'\.$"):
        encode(Categories(["x" * 90, "y"]), ["no"])


@pytest.mark.parametrize("name", ORACLES)
def test_a_refused_batch_draws_no_coin(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = sv.mechanism(name, Integers(0, 9), epsilon=1)

    def forbidden(*arguments: Any) -> None:
        raise AssertionError("A coin was drawn.")

    monkeypatch.setattr(WordStream, "secure", forbidden)
    monkeypatch.setattr(WordStream, "chunks", forbidden)
    for values in (np.array([3, 10]), np.array([-1, 3]), [3, "3"]):
        with pytest.raises(DomainError):
            privatize(mechanism, values)


@pytest.mark.parametrize(
    "domain",
    [
        Bins.even(sv.Interval(0, 1), 10),
        Bins.even(sv.Interval("-0.3", "1e6"), 7),
        Bins(sv.Interval("0.1", "0.7"), ["0.3", "0.30000000000000001", "0.6"]),
        Bins.even(sv.Circle(24), 9),
        Bins.even(sv.Interval("999999999999999", "1000000000000001"), 16),
    ],
)
def test_floats_fall_into_the_bins_of_the_scalar_encoding(domain: Bins) -> None:
    """Also those next to a border, which stand for the shortest decimal that prints them."""
    low, high = float(domain.of.low), float(domain.of.high)
    near = np.array([low, *map(float, domain.edges), high])
    steps = [near]
    for _ in range(3):
        steps += [np.nextafter(steps[-1] if len(steps) == 1 else steps[-2], np.inf), np.nextafter(steps[-1], -np.inf)]
    values = np.concatenate([*steps, np.random.default_rng(0).uniform(low, high, 200)])
    values = values[(values >= low) & (values <= high)]
    assert encode(domain, values).tolist() == [domain.encode(value) for value in values.tolist()]
    for bad in (np.nan, np.inf, low - 1, high + 1):
        with pytest.raises(DomainError, match="1 of 3 answers lie outside"):
            encode(domain, np.array([low, bad, high]))


def test_whole_numbers_fall_into_the_bins_of_the_scalar_encoding() -> None:
    domain = Bins(Integers(-5, 9), ["-2.5", 0, "3.1", 4])
    values = np.arange(-5, 10)
    assert encode(domain, values).tolist() == [domain.encode(value) for value in values.tolist()]
    with pytest.raises(DomainError, match="2 of 3 answers lie outside"):
        encode(domain, np.array([-6, 0, 10]))
