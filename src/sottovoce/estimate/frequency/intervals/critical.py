"""The smallest count that chance seldom reaches, and the smallest share that is enough for something."""

from __future__ import annotations

from collections.abc import Callable

from scipy.special import bdtrc

STEPS = 60


def critical_count(n: int, rate: float, alpha: float) -> int:
    """The smallest count whose upper tail at a rate is at most alpha; n + 1 if there is none."""
    low, high = 0, n + 1  # P(X >= 0) = 1, P(X >= n + 1) = 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bdtrc(middle - 1, n, rate) <= alpha else (middle, high)
    return high


def least_share(reached: Callable[[float], bool]) -> float | None:
    """The least share in [0, 1] that is enough, by bisection, rounded up; None if one is not."""
    if not reached(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
