"""What the mechanisms for vectors of a ball share: the domain they take, and the threshold of least variance."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache

from sottovoce.core.channel.vector.sphere import Cap, lean, shares
from sottovoce.core.domain import Ball, Domain
from sottovoce.core.params import reject

_PLACES = 15  # significant digits of a threshold
_GRID = 60  # thresholds that are tried before the best of them is refined
_GOLDEN = (math.sqrt(5) - 1) / 2


def ball(owner: str, domain: Domain) -> Ball:
    """The domain, if it is one of vectors of bounded length."""
    if not isinstance(domain, Ball):
        raise reject("domain", owner, "vectors of bounded length, such as Ball(1, dimensions=64)", domain)
    return domain


def best_cap(size: int, law: str, budget: Decimal) -> Cap:
    """The cap that has the least variance of all that a budget allows."""
    threshold = best_threshold(size, law, float(budget))
    return Cap.of_budget(size, law, Decimal(f"{threshold:.{_PLACES}g}"), budget)


@lru_cache(maxsize=64)
def best_threshold(size: int, law: str, epsilon: float) -> float:
    """The threshold at which the mean square length of an unbiased report is least.

    The budget is shared by the odds of the coin and those of the cap: the rarer the cap, the farther its vectors point
    to the answer and the less often it may be chosen. Above the square root of 2 epsilon, in standard deviations, a cap
    is too rare to be useful.
    """
    unit = 1 / math.sqrt(size) if law == "sphere" else 1.0
    most = min(math.sqrt(2 * epsilon) + 3, 0.999999 / unit if law == "sphere" else 10.0)
    step = most / _GRID
    squares = [mean_square(size, law, step * place * unit, epsilon) for place in range(_GRID + 1)]
    place = min(range(_GRID + 1), key=squares.__getitem__)
    low, high = max(place - 1, 0) * step, min(place + 1, _GRID) * step
    return _lowest(lambda x: mean_square(size, law, x * unit, epsilon), low, high) * unit


def mean_square(size: int, law: str, threshold: float, epsilon: float) -> float:
    """The mean square length of an unbiased report of a unit vector, before it is rounded."""
    above, below = shares(size, law, threshold)
    # In the cap the density is e**epsilon times that outside, and the whole of it is one.
    difference = math.expm1(epsilon) / (below + math.exp(epsilon) * above)
    mean, square = lean(size, law, threshold, difference)
    if mean < 1e-150:  # a cap too rare to be informative
        return math.inf
    return (1.0 if law == "sphere" else square + (size - 1) / size) / mean**2


def _lowest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one valley is least: golden sections."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(40):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2
