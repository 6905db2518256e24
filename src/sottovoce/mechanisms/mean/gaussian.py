"""Gaussian noise on a grid, with an exact delta."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, sqrt
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Table, Then
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.guarantee import Approximate
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, check_integer, reject
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.mean.common import scale

STEPS = 8  # beside the noise, rounding to eighths adds less than one part in a hundred
_FINE = Context(prec=40)
_CUT = 40  # the noise is cut off where its tail weighs less than delta / _CUT
_LARGEST = 1 << 12  # magnitude of the noise, in steps of the grid
_HALVINGS = 24


def build(domain: Domain, *, epsilon: Any, delta: Any, steps: int = STEPS) -> Mechanism:
    """Discrete Gaussian noise, cut off where it is rarer than delta.

    Law: the number rounded to one of `steps` + 1 grid points, plus a whole number m of steps with a probability
        proportional to e**(-m**2 / (2 s**2)), |m| <= M; the same M and the same weights for every number.
    Privacy: (epsilon, delta): the hockey-stick divergence at e**epsilon between any two numbers is computed exactly and
        is at most delta; s is the smallest deviation for which it is. The ratio itself is infinite, as the ends of the
        noise differ.
    Estimator: the mean report; the noise is symmetric, so it is unbiased exactly.
    Cost: two bytes; the variance (s / steps)**2 in lengths of the range, whatever the number is: about 18 at epsilon 1
        and delta 1e-6, where the designed mechanism has 1.1 with the same epsilon and no delta.
    Reference: Balle, Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018 (the exact delta of
        the continuous noise); Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.
    """
    budget, chance = check_epsilon("gaussian", epsilon), check_delta("gaussian", delta)
    points = check_integer("steps", "gaussian", steps, 1, 256)
    noise = gaussian_noise(budget, chance, points)
    channel = Then(scale("gaussian", domain, points), Table(shifted(noise, points)))
    return Mechanism("gaussian", Mean(domain), channel, budget, CountOutputs(), guarantee=Approximate(chance))


def check_delta(owner: str, value: object) -> Decimal:
    """A delta, as an exact decimal."""
    number = check_decimal("delta", owner, value)
    if not Decimal("1e-12") <= number <= Decimal("0.1"):
        raise reject("delta", owner, "a number in [1e-12, 0.1]", value)
    return number


@lru_cache(maxsize=64)
def gaussian_noise(budget: Decimal, chance: Decimal, steps: int) -> tuple[int, ...]:
    """The weights of -M, ..., M for the smallest deviation whose exact delta, at a shift of the whole range, is kept.

    The other shifts have a smaller delta; a mechanism checks all of them when it is made.
    """
    e, allowed = odds(budget), Fraction(chance)
    low, high = 0.0, float(steps)
    while shift_delta(weights(high, float(chance)), steps, e) > allowed:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        kept = middle > 0.3 and shift_delta(weights(middle, float(chance)), steps, e) <= allowed
        low, high = (low, middle) if kept else (middle, high)
    return weights(high, float(chance))


def weights(deviation: float, chance: float) -> tuple[int, ...]:
    """The weights of the noise in units; they sum to UNIT exactly and are symmetric."""
    reach = ceil(deviation * sqrt(2) * _tail(chance / _CUT))
    if reach > _LARGEST:
        raise ParameterError("The noise of gaussian on a grid needs a larger epsilon or delta, or fewer steps.")
    double = 2 * _FINE.multiply(Decimal(repr(deviation)), Decimal(repr(deviation)))
    raw = [_FINE.exp(-Decimal(m * m) / double) for m in range(reach + 1)]
    total = raw[0] + 2 * sum(raw[1:])
    side = [max(1, int(UNIT * weight / total)) for weight in raw[1:]]
    return (*reversed(side), UNIT - 2 * sum(side), *side)


def _tail(chance: float) -> float:
    """A number t with e**(-t**2) about the chance, which bounds the tail of normal noise beyond t sqrt(2)."""
    t = 1.0
    while exp(-t * t) > chance:
        t += 1 / 16
    return t


def shifted(noise: tuple[int, ...], steps: int) -> list[list[int]]:
    """The table: each row is the noise, one output further than the row before."""
    return [[0] * code + list(noise) + [0] * (steps - code) for code in range(steps + 1)]


def shift_delta(noise: tuple[int, ...], shift: int, e: Fraction) -> Fraction:
    """The exact delta between two numbers that are `shift` steps apart."""
    up, down = e.numerator, e.denominator
    other = [*noise[shift:], *([0] * min(shift, len(noise)))] if shift < len(noise) else [0] * len(noise)
    more = (down * weight - up * beside for weight, beside in zip(noise, other, strict=True))
    return Fraction(sum(one for one in more if one > 0), down * UNIT)
