"""Three outputs: the ends of the range, and a neutral one in the middle."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Table, Then
from sottovoce.core.channel.facets import scales_of
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, reject
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.mean.common import scale

_GOLDEN = (5**0.5 - 1) / 2


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """-C, 0 or C, with the probability of 0 of least worst-case variance.

    Law: with x scaled to [-1, 1]; 0 with probability a at x = 0, falling linearly to b = a / e**epsilon at the ends;
        the rest is shared evenly at x = 0, and as e**epsilon to 1 at the ends, linearly between. a <= e**epsilon /
        (e**epsilon + 2).
    Privacy: every output has the ratio e**epsilon at most; the two ends have exactly that.
    Estimator: the mean of -C, 0 and C with C = (e**epsilon + 1) / ((e**epsilon - 1) (1 - b)), scaled back to the
        range.
    Cost: two bits; for epsilon up to ln 2, where a = 0, it is the Bernoulli mechanism.
    Reference: Zhao et al., "Local differential privacy-based federated learning for Internet of Things", IEEE
        Internet of Things Journal 2021 (Three-Outputs); a is found numerically instead of by their formula.
    """
    budget = check_epsilon("three-output", epsilon)
    e = odds(budget)
    table = _table(e, _neutral(float(e)))
    if scales_of(table) is None:
        raise reject("epsilon", "three-output", "larger: its reports would carry no information", epsilon)
    channel = Then(scale("three-output", domain, 2), table)
    return Mechanism("three-output", Mean(domain), channel, budget, CountOutputs())


def worst_case(e: float, neutral: float) -> float:
    """The largest variance on [-1, 1] for a given probability of 0 at x = 0."""
    ends = neutral / e
    square = ((e + 1) / ((e - 1) * (1 - ends))) ** 2
    # The second moment is linear in |x|, the variance a parabola: its top, or the nearer end of [0, 1].
    top = min(1.0, square * (neutral - ends) / 2)
    return square * (1 - neutral + (neutral - ends) * top) - top**2


def _neutral(e: float) -> float:
    """The probability of 0 of least worst-case variance, by golden section; 0 up to ln 2."""
    if e <= 2:
        return 0.0
    low, high = 0.0, e / (e + 2)
    for _ in range(80):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if worst_case(e, left) <= worst_case(e, right) else (left, high)
    return low


def _table(e: Fraction, neutral: float) -> Table:
    """Rows of integers, mirror images of each other, so that the mean is exactly linear."""
    middle = 2 * int(UNIT * neutral / 2) + UNIT % 2
    while True:
        ends = ceil(middle / e)
        unlikely = ceil((UNIT - ends) / (e + 1))
        outer = (unlikely, ends, UNIT - ends - unlikely)
        table = Table([outer[::-1], ((UNIT - middle) // 2, middle, (UNIT - middle) // 2), outer])
        if table.ratio() <= e:
            return table
        middle -= 2  # at the largest probability of 0 rounding can exceed the ratio
