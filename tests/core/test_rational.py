"""Rounding toward privacy, checked with two hundred digits."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.core.arithmetic.rational import (
    UNIT,
    ceil_unit,
    float_up,
    floor_unit,
    loss,
    odds,
    sqrt_down,
    units,
    within,
)

PRECISE = Context(prec=200)
TINY = Fraction(1, 10**190)  # relative error of what is computed with two hundred digits, generously
GAP = Fraction(1, 10**58)  # what `odds` may give away: one part in 10**59, and room for rounding


def exponential(epsilon: Decimal) -> tuple[Fraction, Fraction]:
    """e**epsilon between two rationals, 190 digits apart from equal."""
    value = Fraction(PRECISE.exp(epsilon))
    return value * (1 - TINY), value * (1 + TINY)


def logarithm(ratio: Fraction) -> tuple[Fraction, Fraction]:
    """ln(ratio) between two rationals. The quotient is rounded at 200 digits, so the error is absolute."""
    value = Fraction(PRECISE.ln(PRECISE.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))
    return value - TINY, value + TINY


epsilons = st.one_of(
    st.decimals("0.000001", 20, places=6),
    st.decimals("0.0000000000000001", 1, places=16),
    st.integers(1, 20).map(Decimal),
    st.integers(1, 2 * 10**60 - 1).map(lambda n: Decimal(n).scaleb(-59)),
).filter(lambda e: e > 0)
ratios = st.one_of(
    st.fractions(1, 10**9, max_denominator=UNIT).filter(lambda r: r > 1),
    st.integers(1, UNIT - 1).map(lambda n: 1 + Fraction(n, UNIT)),
    st.tuples(st.integers(UNIT // 2 + 1, UNIT - 1), st.integers(1, 4096)).map(
        lambda t: Fraction(t[0] * t[1], UNIT - t[0])
    ),
).filter(lambda r: r > 1)


def test_the_precise_reference_knows_e() -> None:
    """The reference itself, against the series of e in rationals."""
    e = sum(Fraction(1, math.factorial(n)) for n in range(140))
    low, high = exponential(Decimal(1))
    assert low < e < high
    low, high = logarithm(Fraction(3, 2))
    series = sum(Fraction(2, (2 * n + 1) * 5 ** (2 * n + 1)) for n in range(150))  # 2 artanh(1/5)
    assert low < series < high


@given(epsilons)
def test_odds_lie_just_below(epsilon: Decimal) -> None:
    low, high = exponential(epsilon)
    assert odds(epsilon) < low
    assert odds(epsilon) > high * (1 - GAP)


@given(epsilons)
def test_within_is_sharp(epsilon: Decimal) -> None:
    low, high = exponential(epsilon)
    assert within(odds(epsilon), epsilon)
    assert within(low * (1 - GAP), epsilon)
    assert not within(low, epsilon)  # in the gap the answer is no
    assert not within(high, epsilon)
    assert not within(high * (1 + GAP), epsilon)
    assert within(Fraction(1), epsilon)


@given(epsilons, st.fractions(-1, 1))
def test_within_never_says_yes_above(epsilon: Decimal, offset: Fraction) -> None:
    low, high = exponential(epsilon)
    ratio = low * (1 + offset / 10**57)
    if within(ratio, epsilon):
        assert ratio < high


@given(ratios)
def test_loss_lies_just_above(ratio: Fraction) -> None:
    low, high = logarithm(ratio)
    computed = Fraction(loss(ratio))
    assert computed > low
    assert computed >= high or computed - low > 2 * TINY
    # 60 digits of the quotient, hence an absolute error near 10**-58, and 50 digits of the result
    assert computed < high * (1 + Fraction(1, 10**48)) + Fraction(1, 10**57)


@given(ratios)
def test_loss_and_within_agree(ratio: Fraction) -> None:
    above = loss(ratio)
    assert within(ratio, PRECISE.add(above, Decimal("1e-45")))
    assert not within(ratio, PRECISE.multiply(above, Decimal(1) - Decimal("1e-25")))


def test_loss_of_nothing_and_of_less_than_nothing() -> None:
    assert loss(Fraction(1)) == 0
    for ratio in (Fraction(UNIT - 1, UNIT), Fraction(0), Fraction(-3)):
        with pytest.raises(ValueError):
            loss(ratio)


def test_the_smallest_ratio_above_one_has_a_loss() -> None:
    ratio = Fraction(10**100 + 1, 10**100)
    assert Fraction(loss(ratio)) >= Fraction(1, 10**100) - Fraction(1, 10**200)
    assert not within(ratio, Decimal("1e-200"))


@given(st.one_of(st.decimals(0, 50, places=30), st.floats(0, 50).map(Decimal), epsilons))
def test_float_up_is_the_smallest_float_not_below(value: Decimal) -> None:
    number = float_up(value)
    assert Fraction(number) >= Fraction(value)
    assert Fraction(math.nextafter(number, -math.inf)) < Fraction(value)


@pytest.mark.parametrize("exact", [0.1, 1.0, 3.0, 2.0**-1074, 1.5])
def test_float_up_at_and_beside_a_float(exact: float) -> None:
    value = Decimal(exact)
    nudge = Decimal(10) ** -1200
    with localcontext(Context(prec=3000)):
        above, below = value + nudge, value - nudge
    assert float_up(value) == exact
    assert float_up(above) == math.nextafter(exact, math.inf)
    assert float_up(below) == exact


@given(st.one_of(st.fractions(1, 10**9), st.integers(1, 10**6).map(lambda n: Fraction(n * n)), epsilons.map(odds)))
def test_sqrt_down_lies_just_below(value: Fraction) -> None:
    root = sqrt_down(value)
    assert root * root < value
    assert (root * (1 + Fraction(1, 10**40))) ** 2 > value


@given(st.fractions(0, 1))
def test_units_are_rounded_as_they_say(probability: Fraction) -> None:
    down, up = floor_unit(probability), ceil_unit(probability)
    assert units(down) <= probability <= units(up)
    assert up - down == (0 if (probability * UNIT).denominator == 1 else 1)
    assert isinstance(down, int) and isinstance(up, int)


def test_the_surrounding_decimal_context_does_not_matter() -> None:
    epsilon, ratio, value = Decimal("1.234567"), Fraction(22, 7), Decimal("0.1234567890123456789")
    plain = odds(epsilon), loss(ratio), sqrt_down(ratio), float_up(value), within(ratio, epsilon)
    strange = Context(prec=2, rounding=ROUND_DOWN)
    for trap in strange.traps:
        strange.traps[trap] = True
    with localcontext(strange):
        assert (odds(epsilon), loss(ratio), sqrt_down(ratio), float_up(value), within(ratio, epsilon)) == plain


# --- power: rounding the wrong way is found -----------------------------------------------------------


def test_the_reference_tells_directions_apart() -> None:
    """What plain nearest rounding at 60 digits gives is on the wrong side for some budgets; the bounds see it."""
    nearest = Context(prec=60)
    wrong = 0
    for step in range(1, 40):
        epsilon = Decimal(step) / 10
        wrong += Fraction(nearest.exp(epsilon)) > exponential(epsilon)[1]
    assert 5 < wrong < 35
