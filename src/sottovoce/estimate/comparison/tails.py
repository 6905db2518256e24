"""Tail probabilities of sums by the saddlepoint approximation of Lugannani and Rice."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from scipy.optimize import brentq
from scipy.special import ndtr

NEAR = 1e-4  # standard deviations from the mean, inside which the formula is replaced by its limit
STEPS = 200  # doublings or halvings in the search for a bracket


class Cumulants(NamedTuple):
    """The cumulant generating function of a sum at t, and its first two derivatives."""

    value: float
    first: float
    second: float


def upper_tail(cumulants: Callable[[float], Cumulants], x: float, skewness: float, ends: tuple[float, float]) -> float:
    """P(sum >= x), with an error of a few parts in a hundred; `ends` are those of the t that are allowed."""
    _, mean, variance = cumulants(0.0)
    deviation = math.sqrt(variance)
    if abs(x - mean) < NEAR * deviation:
        return 0.5 - skewness / (6 * math.sqrt(2 * math.pi))
    t = _saddlepoint(cumulants, x, 1.0 / deviation, ends)
    if t is None:
        return 0.0 if x > mean else 1.0
    value, _, curvature = cumulants(t)
    w = math.copysign(math.sqrt(max(2 * (t * x - value), 0.0)), t)
    v = t * math.sqrt(curvature)
    return float(min(max(ndtr(-(w + math.log(v / w) / w)), 0.0), 1.0))


def _saddlepoint(
    cumulants: Callable[[float], Cumulants], x: float, step: float, ends: tuple[float, float]
) -> float | None:
    """Where the first derivative is x; None if it never is, because no sum is as large."""

    def excess(t: float) -> float:
        return cumulants(t).first - x

    upward = excess(0.0) < 0
    reach, limit = 0.0, ends[1] if upward else -ends[0]
    for _ in range(STEPS):
        last, reach = reach, reach + min(step, (limit - reach) / 2)
        step *= 2
        t = reach if upward else -reach
        if (excess(t) >= 0) == upward:
            return float(brentq(excess, last if upward else -last, t, xtol=1e-12 * max(reach, 1e-12)))
    return None
