"""Searches for the least sufficient number of participants or epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal

from sottovoce.core.params import MAX_EPSILON, decimal_text

DIGITS = 900  # numbers of three digits between two powers of ten
MOST_PARTICIPANTS = 1 << 40
PATIENCE = 16  # guesses before the search only halves


@dataclass(frozen=True, slots=True)
class SearchScale:
    """Numbered places from `low` to `high`, a first guess, and the expected slope of log(error) over log(place)."""

    low: int
    high: int
    start: int
    slope: float
    place: Callable[[int], float]
    index: Callable[[float], int]  # the first at or above a place
    leap: float  # the largest factor between a place that was tried and the next


def participants(fewest: int) -> SearchScale:
    """All whole numbers; errors fall with their root."""
    return SearchScale(fewest, MOST_PARTICIPANTS, max(fewest, 10_000), -0.5, float, math.ceil, math.inf)


def epsilon_at(index: int) -> Decimal:
    """The budgets of three digits, in order; number 0 is 1."""
    power, digits = divmod(index, DIGITS)
    return Decimal(decimal_text(Decimal(100 + digits).scaleb(power - 2)))


def _epsilon_index(epsilon: float) -> int:
    power = math.floor(math.log10(epsilon))
    return DIGITS * power + math.ceil(round(epsilon * 10.0 ** (2 - power), 6)) - 100


# From 0.0001 on: errors at smaller budgets are so large that no study has enough participants.
EPSILONS = SearchScale(
    DIGITS * -4, _epsilon_index(MAX_EPSILON), 0, -1.0, lambda index: float(epsilon_at(index)), _epsilon_index, 8.0
)


def least(error: Callable[[int], float], goal: float, scale: SearchScale) -> int | None:
    """The first index of a scale whose error is at most the goal, for errors that fall along it; None if there is none.

    The error at the returned index meets the goal and that of the index before does not. Guesses follow the errors
    seen so far and affect the number of steps only.
    """
    seen = _Seen(goal, scale)
    below, above = scale.low - 1, scale.high + 1  # the last that does not meet the goal, the first that does
    probe = scale.start
    while above - below > 1:
        size = error(probe)
        seen.errors[probe] = size
        below, above = (below, probe) if size <= goal else (probe, above)
        guess = seen.guess() if len(seen.errors) < PATIENCE else (below + above) // 2
        probe = min(max(guess, below + 1), above - 1)
    return above if above <= scale.high else None


@dataclass(frozen=True, slots=True)
class _Seen:
    goal: float
    scale: SearchScale
    errors: dict[int, float] = field(default_factory=dict)

    def guess(self) -> int:
        """Where a line through the two nearest errors, in logarithms, meets the goal."""
        points = sorted(
            (abs(math.log(error / self.goal)), math.log(self.scale.place(index)), math.log(error / self.goal))
            for index, error in self.errors.items()
            if 0 < error < math.inf
        )
        if not points:
            return self.scale.high
        _, at, excess = points[0]
        slope = self.scale.slope
        if len(points) > 1 and points[1][1] != at:
            chord = (points[1][2] - excess) / (points[1][1] - at)
            slope = chord if chord < 0 else slope
        reach = math.log(self.scale.leap)
        ends = math.log(self.scale.place(self.scale.low)), math.log(self.scale.place(self.scale.high))
        target = min(max(at - min(max(excess / slope, -reach), reach), ends[0]), ends[1])
        return self.scale.index(math.exp(target) * (1 - 1e-12))
