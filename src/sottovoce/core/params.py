"""Checks of parameters, with one form of error sentence."""

from __future__ import annotations

import operator
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sottovoce.core.errors import ParameterError

MAX_EPSILON = 20
MAX_PEOPLE = 1 << 53
MAX_DIGITS = 120


def reject(name: str, owner: str, must_be: str, value: object) -> ParameterError:
    """The error for one parameter; callers raise it."""
    return ParameterError(f"The {name!r} parameter of {owner} must be {must_be}.", shown(value), parameter=name)


def shown(value: object) -> str:
    """A single number as it is, anything else by its type: texts and lists may be misplaced answers."""
    if isinstance(value, int) and abs(value) >= 1 << 256:
        return "a very large integer"
    if value is None or isinstance(value, (int, float, Decimal, Fraction)):
        text = repr(value) if value is None or isinstance(value, (int, float)) else str(value)
        return text if len(text) <= 80 else text[:77] + "..."
    return f"a value of type {type(value).__name__}"


def decimal_text(value: Decimal) -> str:
    """A decimal in plain positional notation without trailing zeros: one text per number, in any language."""
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text


def check_decimal(name: str, owner: str, value: object) -> Decimal:
    """A finite decimal number; floats are read as the shortest text that prints them."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        raise reject(name, owner, "a number", value)
    try:
        number = Decimal(repr(float(value)) if isinstance(value, float) else value)
    except InvalidOperation:
        raise reject(name, owner, "a number", value) from None
    if not number.is_finite() or abs(number.adjusted()) > MAX_DIGITS or len(number.as_tuple().digits) > MAX_DIGITS:
        raise reject(name, owner, f"a finite number of at most {MAX_DIGITS} digits", value)
    return number


def check_epsilon(owner: str, value: object) -> Decimal:
    """The privacy budget, as an exact decimal."""
    must_be = f"a number in (0, {MAX_EPSILON}]"
    try:
        number = check_decimal("epsilon", owner, value)
    except ParameterError:
        raise reject("epsilon", owner, must_be, value) from None
    if not 0 < number <= MAX_EPSILON:
        raise reject("epsilon", owner, must_be, value)
    return number


def check_integer(name: str, owner: str, value: object, low: int, high: int) -> int:
    """An integer in [low, high]; booleans and floats are not integers."""
    if type(value) is int and low <= value <= high:
        return value
    must_be = f"an integer in [{low}, {high}]"
    number = check_index(name, owner, value, must_be)
    if not low <= number <= high:
        raise reject(name, owner, must_be, value)
    return number


def check_people(name: str, owner: str, value: object) -> int:
    """A number of participants or reports."""
    return check_integer(name, owner, value, 1, MAX_PEOPLE)


def check_index(name: str, owner: str, value: object, must_be: str = "an integer") -> int:
    """An integer; booleans and floats are not integers."""
    if isinstance(value, bool):
        raise reject(name, owner, must_be, value)
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise reject(name, owner, must_be, value) from None


def count_text(count: int) -> str:
    """A count for an error's sentence; Python refuses to print the decimals of very long integers."""
    return str(count) if count < 1 << 64 else f"at least 2**{count.bit_length() - 1}"


def check_fraction(name: str, owner: str, value: object) -> Fraction:
    """A finite number, exactly."""
    return Fraction(check_decimal(name, owner, value))
