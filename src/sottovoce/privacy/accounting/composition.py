"""What several answers of one person reveal together.

Budgets add up (sequential); those of people who cannot be the same person do not (parallel). With a small delta it is
smaller (advanced): every epsilon is at worst a randomized response, and the law of their joint loss is
computed, rather than bounded (Kairouz, Oh and Viswanath 2015; Murtagh and Vadhan 2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from sottovoce.core.arithmetic.rational import float_up
from sottovoce.core.errors import ParameterError
from sottovoce.core.guarantee import COMPOSITION, EPSILON, Loss, sequential
from sottovoce.core.params import check_decimal, reject

_GRID = 1 << 15  # steps into which the sum of the budgets is divided, each budget rounded up
MAX_ANSWERS = 100_000


def advanced(losses: Sequence[Loss], delta: object) -> Loss:
    """The smallest epsilon of all of them together, if this delta may be spent beside their own; never above the sum.

    Each budget is rounded up to a grid of the sum's 2**15th part, so the result is at most as many steps too high as
    there are answers, and never too low. The theorem is about pure and approximate guarantees: with others among them
    it is the sum.
    """
    spare = check_decimal("delta", COMPOSITION, delta)
    if not 0 < spare < 1:
        raise reject("delta", COMPOSITION, "a number in (0, 1)", delta)
    if len(losses) > MAX_ANSWERS:
        raise ParameterError(f"Advanced composition is for at most {MAX_ANSWERS} answers. Got {len(losses)}.")
    together = sequential(losses)
    if len(losses) < 2 or together.caveats or together.unit != EPSILON:
        return together
    step = float(together.epsilon) / _GRID
    sizes = [max(1, math.ceil(float(one.epsilon) / step * (1 - 1e-12))) for one in losses]
    chances = _joint_law(sizes, step)
    reach = sum(sizes)
    high = _smallest(chances, np.arange(-reach, reach + 1) * step, float(spare))
    kept = 1 - Fraction(spare)
    for one in losses:
        kept *= 1 - Fraction(one.delta)
    failing = Decimal(repr(float_up(Decimal((1 - kept).numerator) / (1 - kept).denominator)))
    epsilon = Decimal(repr(high))
    return Loss(epsilon, failing) if epsilon < together.epsilon else together


def _joint_law(sizes: Sequence[int], step: float) -> np.ndarray:
    """The law of the summed loss in steps, from -sum to sum, when each is a randomized response."""
    law = np.ones(1)
    for size in sorted(sizes):
        keep = 1 / (1 + math.exp(-size * step))
        longer = np.zeros(len(law) + 2 * size)
        longer[2 * size :] = keep * law
        longer[: len(law)] += (1 - keep) * law
        law = longer
    return law


def _smallest(chances: np.ndarray, losses: np.ndarray, delta: float) -> float:
    """The smallest epsilon with E[(1 - e**(epsilon - loss))+] at most delta, rounded up."""
    low, high = 0.0, float(losses[-1])
    for _ in range(100):
        middle = (low + high) / 2
        above = losses > middle
        spent = float(np.sum(chances[above] * -np.expm1(middle - losses[above]))) * (1 + 1e-9)
        low, high = (low, middle) if spent <= delta else (middle, high)
    return high
