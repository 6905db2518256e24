"""From e**epsilon to integer probabilities. All rounding toward privacy happens here.

Probabilities on the device are integers over ``UNIT`` = 2**53. A builder asks `odds` for a rational just
below e**epsilon, computes its probability as a `Fraction`, and rounds it with `floor_unit` or `ceil_unit`
in the direction that makes the likelihood ratio smaller.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

FINE = 53
UNIT = 1 << FINE
_DIGITS = 60
_LARGE = 1000
_BITS = 1 << 10  # of a fraction whose logarithm is taken: many more than the digits need


@lru_cache(maxsize=256)  # sixty digits take a while, and a device compares with few budgets
def _exp_bounds(epsilon: Decimal) -> tuple[Fraction, Fraction]:
    """Rationals just below and just above e**epsilon (`Decimal.exp` is correctly rounded)."""
    context = Context(prec=_DIGITS)
    value = context.exp(epsilon)
    return Fraction(context.next_minus(value)), Fraction(context.next_plus(value))


def odds(epsilon: Decimal) -> Fraction:
    """The largest likelihood ratio that a budget allows, rounded down."""
    return _exp_bounds(epsilon)[0]


def within(ratio: Fraction, epsilon: Decimal) -> bool:
    """Whether ratio <= e**epsilon. In the gap of one part in 10**59 the answer is no."""
    if ratio == 1:
        return epsilon >= 0
    if epsilon > _LARGE:  # e**epsilon would have too many digits
        return loss(ratio) <= epsilon
    return ratio <= _exp_bounds(epsilon)[0]


def loss(ratio: Fraction) -> Decimal:
    """The privacy loss ln(ratio), rounded up in the 50th digit."""
    if ratio < 1:
        raise ValueError(f"A worst-case likelihood ratio is at least 1. Got {ratio}.")
    if ratio == 1:
        return Decimal(0)
    # The decimals of integers of a million bits take minutes: bits beyond the last digit are rounded away, upwards.
    spare = max(0, ratio.denominator.bit_length() - _BITS)
    halved = max(0, ratio.numerator.bit_length() - spare - 2 * _BITS)
    numerator, denominator = -(-ratio.numerator >> (spare + halved)), ratio.denominator >> spare
    context = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    quotient = context.divide(Decimal(numerator), Decimal(denominator))
    halvings = context.multiply(Decimal(halved), context.next_plus(context.ln(Decimal(2))))
    exact = context.add(context.next_plus(context.ln(quotient)), halvings)
    return Context(prec=50, rounding=ROUND_CEILING).plus(exact)


def float_up(value: Decimal) -> float:
    """The smallest float that is not below the value."""
    number = float(value)
    return number if Decimal.from_float(number) >= value else math.nextafter(number, math.inf)


def floor_unit(probability: Fraction) -> int:
    """The largest number of units that does not exceed the probability."""
    return math.floor(probability * UNIT)


def ceil_unit(probability: Fraction) -> int:
    """The smallest number of units that is not below the probability."""
    return math.ceil(probability * UNIT)


def units(count: int) -> Fraction:
    """The probability that a number of units stands for."""
    return Fraction(count, UNIT)


def sqrt_down(value: Fraction) -> Fraction:
    """A rational just below the square root, within one part in 10**40."""
    context = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    root = Fraction(context.next_minus(context.sqrt(quotient)))
    if root * root > value:
        raise ArithmeticError(f"The square root of {value} was rounded the wrong way.")
    return root
