"""Single-message summation behind a shuffler: the mean of a bounded number for a central epsilon and delta.

Balle, Bell, Gascon and Nissim 2019: a number is rounded to one of k + 1 levels and sent by randomized response. With a
fixed central guarantee, more participants allow more levels and less noise, so the error falls faster than that of any
local mechanism. They choose k and the noise from closed bounds; here both follow from the blanket of the very channel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import brentq

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Subset
from sottovoce.core.channel.facets import Rounded, need
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON, check_epsilon, check_integer, decimal_text, reject
from sottovoce.core.registry import mechanism as build
from sottovoce.privacy.accounting.blanket_sum import ShuffledPair
from sottovoce.privacy.accounting.blankets import pairs
from sottovoce.privacy.accounting.shuffling import MOST, OWNER

LEVELS = tuple(dict.fromkeys(round(2 ** (power / 2)) for power in range(25)))  # of the range: 1 to 4,096
_STEP = 1.25
_NEAR = 1.02  # times the central epsilon: the least local one that is tried
_EXACT = 1e-4  # of a local epsilon
_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)


@dataclass(frozen=True, slots=True)
class ShuffledMean:
    """A mechanism for a mean whose shuffled reports keep a central guarantee.

    Attributes:
        mechanism: Rounding to levels and randomized response (`nprr`); its epsilon is the local one.
        epsilon: The central epsilon, of all shuffled reports.
        delta: The probability by which it may fail.
        participants: Honest participants.
        std_error: The largest standard error of the mean of the participants, over all answers.
    """

    mechanism: Mechanism
    epsilon: Decimal
    delta: float
    participants: int
    std_error: float

    @property
    def levels(self) -> int:
        """How many levels there are above the lowest."""
        return need(self.mechanism.channel, Rounded).rounding.steps

    def text(self) -> str:
        """The design in words."""
        return (
            f"Behind a shuffler, {self.participants:,} honest participants round their number to {self.levels + 1}"
            f" levels and answer with a local epsilon of {decimal_text(self.mechanism.claimed)}. Together their reports"
            f" lose at most epsilon {decimal_text(self.epsilon)} with delta {self.delta:.2g}. The standard error of"
            f" their mean is at most {self.std_error:.2g}."
        )


def shuffled_mean(domain: Domain, *, participants: int, epsilon: Any, delta: float) -> ShuffledMean:
    """The levels and the noise of least error for a mean, whose shuffled reports keep a central epsilon and delta.

    Args:
        domain: The range of the number.
        participants: Honest participants of one batch.
        epsilon: The central epsilon.
        delta: The probability by which it may fail.

    Examples:
        >>> from sottovoce.privacy.accounting.shuffled_sum import shuffled_mean
        >>> shuffled_mean(sv.Interval(0, 1), participants=1_000, epsilon=1, delta=1e-6).levels
        4
    """
    central = check_epsilon(OWNER, epsilon)
    check_integer("participants", OWNER, participants, 1, MOST)
    if isinstance(delta, bool) or not isinstance(delta, float) or not 0 < delta < 1:
        raise reject("delta", OWNER, "a number in (0, 1)", delta)
    likely = (float(central) ** 2 * participants) ** (1 / 3) / 3
    place = min(len(LEVELS) - 1, max(0, round(2 * math.log2(max(1.0, likely)))))
    best = _with_levels(domain, LEVELS[place], participants, central, delta)
    for step in (-1, 1):  # the error falls with the levels, and then rises
        at, found = place + step, best
        while 0 <= at < len(LEVELS):
            other = _with_levels(domain, LEVELS[at], participants, central, delta)
            if other.std_error >= found.std_error:
                break
            at, found = at + step, other
        best = min(best, found, key=lambda one: one.std_error)
    return best


def _with_levels(domain: Domain, levels: int, n: int, central: Decimal, delta: float) -> ShuffledMean:
    """The largest local epsilon, of six digits, whose shuffled reports keep the central one."""

    def excess(local: float) -> float:
        return math.log(max(_delta(levels, n, local, float(central)), 1e-300) / delta)

    low = float(central) * _NEAR
    # Beyond, fewer than one other report is expected to be as likely whatever the answer is.
    most = min(float(MAX_EPSILON), math.log(n * (levels + 1)))
    if low < most and excess(low) <= 0:
        while low < most and excess(high := min(low * _STEP, most)) <= 0:
            low = high
        if low < most:
            low = float(brentq(excess, low, high, xtol=_EXACT)) - 2 * _EXACT
        local = _DIGITS.create_decimal(Decimal(low))
    else:
        local = central  # which needs no crowd
    if local > central and excess(float(local)) > 0:
        local = central
    mechanism = build("nprr", domain, epsilon=local, k=levels)
    low_end, high_end = (Fraction(end) for end in (domain.numbers or (0, 1, 0))[:2])
    error = float(high_end - low_end) * math.sqrt(_worst(_response(levels, odds(local)))) / levels / math.sqrt(n)
    return ShuffledMean(mechanism, central, delta, n, error)


def _delta(levels: int, n: int, local: float, epsilon: float) -> float:
    """An upper bound of the delta of shuffled reports of randomized response on these levels."""
    channel = _response(levels, Fraction(math.exp(local)))
    return max(ShuffledPair(beside, n).delta(epsilon) for beside in pairs(channel))


def _response(levels: int, e: Fraction) -> Subset:
    """Randomized response on the levels, with these odds."""
    return Subset(levels + 1, 1, floor_unit(e / (e + levels)))


def _worst(channel: Subset) -> float:
    """The largest variance of a report, in squares of a level: between two levels squares are interpolated."""
    squares = np.array([float(channel.moments(level)[1]) for level in range(channel.k)])
    below = np.arange(channel.k - 1)
    rise = np.diff(squares)
    at = np.clip(rise / 2 - below, 0, 1)
    return float(np.max(squares[:-1] + at * rise - (below + at) ** 2))
