"""Published parameters in place of epsilon: the budget of a mechanism then follows from its channel."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, loss, odds, within
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import MAX_EPSILON, check_epsilon, check_fraction, reject

_STEP = Decimal(1).scaleb(-9)


def given_instead(owner: str, epsilon: Any, **parameters: Any) -> bool:
    """Whether published parameters were given in place of epsilon; refuse both at once, and a part of them."""
    missing = [name for name, value in parameters.items() if value is None]
    *others, last = parameters
    listed = f"{', '.join(others)} and {last}" if others else last
    if len(missing) == len(parameters):
        return False
    if epsilon is not None:
        raise ParameterError(f"Give {owner} either epsilon or {listed}: epsilon follows from the others.")
    if missing:
        raise ParameterError(f"The parameters {listed} of {owner} are given together. Missing: {', '.join(missing)}.")
    return True


def probability(name: str, owner: str, value: Any) -> int:
    """A probability strictly between 0 and 1, as units of 2**-53."""
    number = check_fraction(name, owner, value)
    units = round(number * UNIT)
    if not 0 < units < UNIT:
        raise reject(name, owner, "a number in (0, 1)", value)
    return units


def two_rates(owner: str, p: Any, q: Any) -> tuple[int, int]:
    """The probabilities with which a set bit and a clear bit are sent as ones."""
    high, low = probability("p", owner, p), probability("q", owner, q)
    if high <= low:
        raise ParameterError(
            f"The 'p' parameter of {owner} is for a set bit and must exceed 'q', that of a clear bit. The original"
            " paper has these letters the other way round."
        )
    return high, low


def budget_of(owner: str, ratio: Fraction) -> Decimal:
    """The least epsilon with nine decimals that this likelihood ratio keeps."""
    budget = loss(ratio).quantize(_STEP, rounding=ROUND_CEILING)
    budget += _STEP * (not within(ratio, budget))
    if not 0 < budget <= MAX_EPSILON:
        raise ParameterError(
            f"The parameters of {owner} lose epsilon {budget:.4g}, and at most {MAX_EPSILON} is allowed."
        )
    return budget.normalize()


def budget_and_odds(owner: str, epsilon: Any, values: int | None, p: Any) -> tuple[Decimal, Fraction]:
    """The budget of randomized response and its odds: given, or that which keeps one of so many values with p."""
    if p is None:
        budget = check_epsilon(owner, epsilon)
        return budget, odds(budget)
    if epsilon is not None or values is None:
        raise ParameterError(f"Give {owner} either epsilon, or g and p: epsilon follows from these.")
    kept = Fraction(probability("p", owner, p), UNIT)
    if kept * values <= 1:
        raise reject("p", owner, f"a probability above 1/{values}, that of a blind guess", p)
    ratio = kept * (values - 1) / (1 - kept)
    return budget_of(owner, ratio), ratio
