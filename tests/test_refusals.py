"""What only one condition refuses: each case here is right in every other respect."""

from __future__ import annotations

from typing import Any

import pytest

from sottovoce.core.domain import Categories, Integers, Interval
from sottovoce.core.domain.pair import Pair
from sottovoce.core.domain.plain import MAX_CODES, MAX_INTEGER
from sottovoce.core.errors import DomainError, ParameterError


@pytest.mark.parametrize("values", [["a", "ax", "axx"], ["b", "bx", "a"], [1, 2], [-1, 0]])
def test_foreign_values_of_categories_are_none_of_them(values: list[Any]) -> None:
    domain = Categories(values)
    for value in domain.foreign():
        with pytest.raises(DomainError):
            domain.encode(value)


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
