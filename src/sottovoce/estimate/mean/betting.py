"""Intervals for a mean by betting, from counts alone.

The hypothesis that the mean is m offers fair bets: on every report a stake wins `bet` times (reading - m). The capital,
the product of 1 + bet * (reading - m), has expectation one for the true m, so it exceeds 2 / alpha with probability
alpha / 2 at most (Markov), and as a martingale it *ever* does with no more (Ville). Each m that the capital refutes is
left out. A tally does not keep the order of the reports, so a bet cannot adapt to them: it is the same for all, and a
mixture of several such capitals, with weights fixed before, is a capital again.

The bound also holds for the sample, the mean of these very participants' answers x_t, at a fixed number of them:
readings are independent with means x_t, so that the expected capital is the product of 1 + bet * (x_t - m), which is at
most exp(bet * sum(x_t - m)) = 1. It does not hold at all times at once: the mean of those who have answered so far
moves.

Reference: Waudby-Smith, Ramdas, "Estimating means of bounded random variables by betting", JRSS B 2024; for private
reports Waudby-Smith, Wu, Ramdas, ICML 2023.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # loads its parts at their first use

from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.mean.readings import Readings

WHOLE = 0.95  # of the stake that could lose the whole capital
SPACING = 2.5  # largest ratio of standard deviations that one bet at a fixed n has to serve
OCTAVES = 26  # of bets for all times, so that the smallest one suits 2**52 reports
PER_OCTAVE = 2
_CELLS = 1 << 20  # of a block of outputs times bets


@dataclass(frozen=True, slots=True, eq=False)
class Bets:
    """Stakes per unit and their weights, which sum to one."""

    sizes: Floats
    weights: Floats


def bets_for(n: int, alpha: float, deviations: tuple[float, float], limit: float) -> Bets:
    """Bets for exactly n reports whose standard deviation is known to lie between two numbers.

    With a standard deviation s the best stake is sqrt(2 log(2 / alpha) / n) / s. The mechanism itself bounds s, from
    the least noise to that of the most scattered answers, so that one bet is often enough.
    """
    least, most = deviations
    count = max(1, math.ceil(math.log(most / least) / math.log(SPACING)))
    middles = least * (most / least) ** ((np.arange(count) + 0.5) / count)
    sizes = np.sqrt(2 * np.log(2 * count / alpha) / n) / middles
    return Bets(np.minimum(sizes, WHOLE * limit), np.full(count, 1 / count))


def bets_for_ever(limit: float) -> Bets:
    """Bets of all sizes, independent of n; larger ones, for early times, weigh a little more."""
    places = np.arange(OCTAVES * PER_OCTAVE)
    weights = 1 / (places + 2 * PER_OCTAVE)
    return Bets(WHOLE * limit * 2.0 ** (-places / PER_OCTAVE), weights / weights.sum())


def log_capitals(numbers: Floats, counts: Floats, bets: Bets, means: Floats) -> Floats:
    """The logarithms of the mixed capital of bets that the mean is above each of some numbers."""
    total = np.zeros((len(means), len(bets.sizes)))
    block = max(1, _CELLS // total.size)
    for start in range(0, len(numbers), block):
        part = slice(start, start + block)
        away = numbers[part] - means[:, None]
        total += np.log1p(bets.sizes[:, None] * away[:, None, :]) @ counts[part]
    largest = total.max(axis=1)
    return np.asarray(largest + np.log(np.exp(total - largest[:, None]) @ bets.weights))


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The readings and the bets from below, and the same mirrored."""

    numbers: Floats
    counts: Floats
    up: Bets
    down: Bets
    low: float
    high: float

    def above(self, mean: float) -> float:
        """Evidence, as a logarithm, that the mean is above this number. It falls as the number rises."""
        return float(self.all_above(np.array([mean]))[0])

    def below(self, mean: float) -> float:
        """Evidence that the mean is below this number."""
        return float(self.all_below(np.array([mean]))[0])

    def all_above(self, means: Floats) -> Floats:
        """Evidence that the mean is above each of some numbers."""
        return log_capitals(self.numbers, self.counts, self.up, means)

    def all_below(self, means: Floats) -> Floats:
        """Evidence that the mean is below each of some numbers."""
        return log_capitals(-self.numbers, self.counts, self.down, -means)

    def covers(self, mean: float, level: float) -> bool:
        """Whether a number lies in the interval, without finding its ends."""
        threshold = math.log(2 / (1 - level))
        return self.above(mean) < threshold and self.below(mean) < threshold

    def interval(self, level: float) -> tuple[float, float]:
        """The numbers of the domain that neither side refutes; the nearest end if there are none."""
        threshold = math.log(2 / (1 - level))
        left = _crossing(lambda m: self.above(m) - threshold, self.low, self.high)
        right = -_crossing(lambda m: self.below(-m) - threshold, -self.high, -self.low)
        return left, right


def sides(
    readings: Readings,
    limits: tuple[float, float],
    deviations: tuple[float, float],
    level: float,
    *,
    for_ever: bool = False,
) -> Sides:
    """Bets on both sides for a mean between two limits: no stake may lose more than the capital there."""
    low, high = limits
    most = 1 / (high - readings.low), 1 / (readings.high - low)
    n, alpha = readings.sums.n, 1 - level
    up, down = (bets_for_ever(limit) if for_ever else bets_for(n, alpha, deviations, limit) for limit in most)
    return Sides(readings.numbers, readings.counts.astype(float), up, down, low, high)


def watched_sides(numbers: Floats, counts: Floats, limits: tuple[float, float]) -> Sides:
    """Bets for all times on a mean between two limits, where these are all possible readings."""
    low, high = limits
    up, down = (bets_for_ever(limit) for limit in (1 / (high - float(numbers.min())), 1 / (float(numbers.max()) - low)))
    return Sides(numbers, counts, up, down, low, high)


def _crossing(excess: Callable[[float], float], low: float, high: float) -> float:
    """From where on a falling function is negative, rounded down; an end if it does not change its sign."""
    if excess(low) < 0:
        return low
    if excess(high) >= 0:
        return high
    tolerance = 1e-12 * (high - low)
    return max(low, float(scipy.optimize.brentq(excess, low, high, xtol=tolerance, rtol=1e-14)) - 2 * tolerance)
