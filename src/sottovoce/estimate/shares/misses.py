"""How often approximate intervals for shares miss, as a multiple of the promised rate, computed from the law.

The approximation is worst if few reports support a code, or fail to: for shares near zero and near one. Counts are
discrete, so the worst of many shares is taken.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import bdtr, bdtrc, ndtri

from sottovoce.estimate.shares.score_sums import upper_tail

# From 0 to 1; closer near 0, where dips of the coverage are close together.
SHARES = np.concatenate([[0.0], np.geomspace(1e-4, 1, 96)])


def wilson_excess(n: int, own: float, other: float, level: float) -> float:
    """For Wilson's interval: it contains a rate exactly where the count is within a deviate of its mean."""
    rates = other + SHARES * (own - other)
    reach = _deviate(level) * np.sqrt(n * rates * (1 - rates))
    below, above = np.ceil(n * rates - reach) - 1, np.floor(n * rates + reach)
    missed = np.where(below >= 0, bdtr(np.maximum(below, 0), n, rates), 0.0)
    missed += np.where(above < n, bdtrc(np.minimum(above, n), n, rates), 0.0)
    return float(missed.max() / (1 - level))


def normal_excess(n: int, own: float, other: float, level: float) -> float:
    """For the normal interval at share zero, and at share one (the mirror image)."""
    return max(_normal_at_zero(n, other, level), _normal_at_zero(n, 1 - own, level))


def _normal_at_zero(n: int, rate: float, level: float) -> float:
    """The standard error is that of the rate if the count is below its mean, else that of the count.

    So counts x above the mean are covered as long as (x - n r)**2 <= z**2 x (1 - x / n).
    """
    z, mean = _deviate(level), n * rate
    below = mean - z * math.sqrt(mean * (1 - rate))
    a, b = 1 + z**2 / n, 2 * mean + z**2
    above = (b + math.sqrt(b**2 - 4 * a * mean**2)) / (2 * a)
    missed = bdtr(math.ceil(below) - 1, n, rate) if below > 0 else 0.0
    if above < n:
        missed += bdtrc(math.floor(above), n, rate)
    return float(missed / (1 - level))


def score_excess(n: int, rate: float, hit_rates: tuple[float, float], level: float) -> float:
    """For sums of scores +1, 0, -1 of a code whose group is hit with this rate, or more where its holders need more.

    The hit rates are those of holders of a code of the group, and of all others.
    """
    own, other = hit_rates
    worst, z = 0.0, _deviate(level)
    for share in SHARES[::4]:
        drift, hits = share * (own - other), max(rate, other + share * (own - other))
        reach = z * math.sqrt(n * (hits - drift**2))
        law = np.array([n]), np.array([hits])
        above = upper_tail(math.floor(n * drift + reach) + 1, *law, np.array([drift]))
        below = upper_tail(math.floor(reach - n * drift) + 1, *law, np.array([-drift]))
        worst = max(worst, above + below)
    return float(worst / (1 - level))


def _deviate(level: float) -> float:
    return float(-ndtri((1 - level) / 2))
