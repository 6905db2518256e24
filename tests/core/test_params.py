"""Parameters: exactly what is accepted, at and beside every border."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import (
    MAX_DIGITS,
    MAX_EPSILON,
    check_decimal,
    check_epsilon,
    check_fraction,
    check_integer,
    count_text,
    decimal_text,
    shown,
)
from tests.each import for_each


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (3, "3"),
        (0.1, "0.1"),
        ("0.1", "0.1"),
        (Decimal("-2.50"), "-2.50"),
        (f"1e{MAX_DIGITS}", f"1e{MAX_DIGITS}"),
        (f"1e-{MAX_DIGITS}", f"1e-{MAX_DIGITS}"),
        ("1" * MAX_DIGITS, "1" * MAX_DIGITS),
    ],
)
def test_finite_numbers_are_read_exactly(value: object, number: str) -> None:
    assert check_decimal("x", "y", value) == Decimal(number)
    assert check_fraction("x", "y", value) == Fraction(number)


@for_each(
    "value",
    [True, False, None, [1], 1j, "one", "", math.inf, math.nan, "Infinity", f"1e{MAX_DIGITS + 1}",
     f"1e-{MAX_DIGITS + 1}", "1." + "1" * MAX_DIGITS],
)  # fmt: skip
def test_anything_else_is_no_number(value: object) -> None:
    for check in (check_decimal, check_fraction):
        with pytest.raises(ParameterError, match="The 'x' parameter of y must be a"):
            check("x", "y", value)
    with pytest.raises(ParameterError, match="The 'epsilon' parameter of y must be a number in"):
        check_epsilon("y", value)


def test_a_budget_is_above_zero_and_has_a_largest_value() -> None:
    assert check_epsilon("y", "1e-30") == Decimal("1e-30")
    assert check_epsilon("y", MAX_EPSILON) == MAX_EPSILON
    for value in (0, -1, Decimal(MAX_EPSILON).next_plus(), "-1e-30"):
        with pytest.raises(ParameterError, match="number in"):
            check_epsilon("y", value)


@pytest.mark.parametrize("value", [2, 3, 5])
def test_integers_within_their_ends(value: int) -> None:
    assert check_integer("x", "y", value, 2, 5) == value


@pytest.mark.parametrize("value", [1, 6, True, 3.0, "3", None])
def test_other_integers_are_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"an integer in \[2, 5\]"):
        check_integer("x", "y", value, 2, 5)
    with pytest.raises(ParameterError):
        check_integer("x", "y", True, 0, 1)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("100", "100"),
        ("1e2", "100"),
        ("0.50", "0.5"),
        ("2.000", "2"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1e-7", "0.0000001"),
    ],
)
def test_one_text_for_each_decimal(number: str, text: str) -> None:
    assert decimal_text(Decimal(number)) == text


def test_counts_that_are_too_long_to_print() -> None:
    assert count_text((1 << 64) - 1) == "18446744073709551615"
    assert count_text(1 << 64) == "at least 2**64"
    assert count_text((1 << 65) - 1) == "at least 2**64"


@pytest.mark.parametrize("sign", [1, -1])
def test_very_large_integers_are_not_written_out(sign: int) -> None:
    largest = sign * ((1 << 256) - 1)
    assert shown(largest) == repr(largest)
    assert shown(largest + sign) == shown(largest << 9) == "a very large integer"
