"""Non-parametric randomized response: round to a few levels, then k-ary randomized response on them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Subset, Then
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.mean.common import scale

MOST_LEVELS = 1 << 16
_TRIED = (*range(1, 17), *(1 << power for power in range(5, 13)))


def build(domain: Domain, *, epsilon: Any, k: int | None = None) -> Mechanism:
    """Rounding to k + 1 levels and randomized response on them; by default the k of least worst-case variance.

    Law: the rounded level with probability e**epsilon / (e**epsilon + k), each other one with 1 / (e**epsilon + k).
    Privacy: that of randomized response on k + 1 values, e**epsilon.
    Estimator: (mean level - (1 - r) k / 2) / r, where r = (e**epsilon - 1) / (e**epsilon + k) is the share of answers
        that are not random.
    Cost: one byte up to 255 steps. With k = 1 it is the Bernoulli mechanism; more levels pay for large budgets only.
    Reference: Waudby-Smith, Wu, Ramdas, "Nonparametric extensions of randomized response for private confidence
        sets", ICML 2023 (their G is k).
    """
    budget = check_epsilon("nprr", epsilon)
    e = odds(budget)
    steps = min(_TRIED, key=lambda levels: _worst(e, levels)) if k is None else k
    steps = check_integer("k", "nprr", steps, 1, MOST_LEVELS)
    channel = Then(scale("nprr", domain, steps), _levels(e, steps))
    return Mechanism("nprr", Mean(domain), channel, budget, CountOutputs())


def _levels(e: Fraction, steps: int) -> Subset:
    return Subset(steps + 1, 1, floor_unit(e / (e + steps)))


def _worst(e: Fraction, steps: int) -> float:
    """The largest variance, in lengths of the range: it is convex in the level, and rounding adds to it between two."""
    channel = _levels(e, steps)
    last, before = (float(channel.moments(level)[1] - level**2) for level in (steps, steps - 1))
    return max(last, (last + before) / 2 + 0.25) / steps**2
