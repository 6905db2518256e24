"""How often approximate intervals for shares miss, as a multiple of the promised rate, computed from the law.

The approximation is worst if few reports support a code, or fail to: for shares near zero and near one. Counts are
discrete, so the worst of many shares is taken.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import bdtr, bdtrc

from sottovoce.estimate.evidence import Floats, deviate
from sottovoce.estimate.frequency.intervals.score_sums import upper_tail

# From 0 to 1; closer near 0, where dips of the coverage are close together.
SHARES = np.concatenate([[0.0], np.geomspace(1e-4, 1, 96)])
_FIXED = 40  # steps of a fixed point, each of which halves the error at least


def wilson_excess(n: int, own: float, other: float, level: float) -> float:
    """Worst miss rate of Wilson's interval, which contains a rate if the count is within a deviate of its mean."""
    rates = other + SHARES * (own - other)
    reach = deviate(level) * np.sqrt(n * rates * (1 - rates))
    return _outside(np.ceil(n * rates - reach), np.floor(n * rates + reach), n, rates) / (1 - level)


def _outside(first: Floats, last: Floats, n: int, rates: Floats) -> float:
    """The largest probability, over the rates, that a count of n reports is below `first` or above `last`."""
    missed = np.where(first > 0, bdtr(np.maximum(first - 1, 0), n, rates), 0.0)
    missed += np.where(last < n, bdtrc(np.clip(last, 0, n), n, rates), 0.0)
    return float(missed.max())


def normal_excess(n: int, own: float, other: float, level: float) -> float:
    """Worst miss rate of the normal interval, for shares near zero and for those near one (the mirror image)."""
    return max(_normal_missed(n, own, other, level), _normal_missed(n, 1 - other, 1 - own, level)) / (1 - level)


def _normal_missed(n: int, own: float, other: float, level: float) -> float:
    """Miss probability of an interval whose standard error is that of the observed rate s, moved into [other, own].

    So counts n s are covered as long as (s - r)**2 <= z**2 s (1 - s) / n, or the same with an end instead of s.
    """
    z, rates = deviate(level), other + SHARES * (own - other)
    a, b = 1 + z**2 / n, 2 * rates + z**2 / n
    half = np.sqrt(np.maximum(b**2 - 4 * a * rates**2, 0))
    first, last = (b - half) / (2 * a), (b + half) / (2 * a)
    first = np.where(first < other, rates - z * math.sqrt(other * (1 - other) / n), first)
    last = np.where(last > own, rates + z * math.sqrt(own * (1 - own) / n), last)
    return _outside(np.ceil(n * first), np.floor(n * last), n, rates)


def normal_sample_excess(n: int, own: float, other: float, level: float) -> float:
    """Worst miss rate of the normal interval for the sample, whose variance is a + b v at an estimate v in [0, 1].

    Counts of a share f are covered where (v - f)**2 <= z**2 (a + b v), or the same with an end instead of v. They are
    sums of two binomials, of holders and of all others.
    """
    z, slope = deviate(level), own - other
    free = other * (1 - other) / (n * slope**2)
    linear = (own * (1 - own) - other * (1 - other)) / (n * slope**2)
    worst = 0.0
    for share in SHARES[::4]:
        held = round(n * share)
        truth = held / n
        middle, half = truth + z**2 * linear / 2, z * math.sqrt(free + linear * truth + (z * linear / 2) ** 2)
        low = middle - half if middle >= half else truth - z * math.sqrt(free)
        high = middle + half if middle + half <= 1 else truth + z * math.sqrt(free + linear)
        law = np.array([held, n - held]), np.array([own, other]), np.array([own, other])
        missed = upper_tail(math.floor(n * (other + high * slope)) + 1, *law)
        missed += 1 - upper_tail(math.ceil(n * (other + low * slope)), *law)
        worst = max(worst, missed)
    return float(worst / (1 - level))


def score_excess(n: int, rate: float, hit_rates: tuple[float, float], level: float) -> float:
    """Worst miss rate for sums of scores +1, 0, -1 of a code whose group is hit with this rate, or as often as needed.

    The hit rates are those of holders of a code of the group, and of all others.
    """
    own, other = hit_rates
    worst, z = 0.0, deviate(level)
    for share in SHARES[::4]:
        drift, hits = share * (own - other), max(rate, other + share * (own - other))
        reach = z * math.sqrt(n * (hits - drift**2))
        law = np.array([n]), np.array([hits])
        above = upper_tail(math.floor(n * drift + reach) + 1, *law, np.array([drift]))
        below = upper_tail(math.floor(reach - n * drift) + 1, *law, np.array([-drift]))
        worst = max(worst, above + below)
    return float(worst / (1 - level))


def normal_score_excess(n: int, rate: float, hit_rates: tuple[float, float], level: float) -> float:
    """Worst miss rate of `score_excess`, or of the normal interval at share zero, where its error is largest."""
    own, other = hit_rates
    z, drift = deviate(level), 0.0
    for _ in range(_FIXED):  # the largest mean score d that is covered: d = z sqrt((hits(d) - slope d) / n)
        hits = max(rate, other + drift)
        drift = z * math.sqrt(max(hits - (own - other) * drift, 0.0) / n)
    law = np.array([n]), np.array([rate])
    missed = upper_tail(math.floor(n * drift) + 1, *law, np.array([0.0]))
    missed += upper_tail(math.floor(z * math.sqrt(n * rate)) + 1, *law, np.array([0.0]))
    return max(float(missed / (1 - level)), score_excess(n, rate, hit_rates, level))
