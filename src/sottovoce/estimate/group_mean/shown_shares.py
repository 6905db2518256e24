"""Lower limits of the shares of groups, given that the groups are shown. Exact."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc

from sottovoce.estimate.evidence import Floats, Ints
from sottovoce.estimate.frequency.intervals.binomials import lower_tail
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.request import Target

_STEPS = 50  # of a bisection


def lowest_share(supports: SupportsEvidence, least: Ints, alpha: float, target: Target, usual: Floats) -> Floats:
    """The share from which on P(at least this count | at least `least` supports) exceeds alpha.

    The limit is at most the usual lower limit, and zero if even a share of zero gives that probability: an estimate
    just above the threshold contains little information about the share.
    """
    if target == Target.SAMPLE:
        return _lowest_held(supports, least, alpha, usual)
    n, counts = supports.n, supports.counts
    low = np.zeros_like(usual)
    high = np.maximum(usual, 0.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        rate = supports.other + middle * (supports.own - supports.other)
        many, shown = (np.asarray(betainc(k, n - k + 1, rate)) for k in (counts, np.minimum(least, counts)))
        rare = many < alpha * shown
        rare |= shown == 0  # below all floats
        low, high = np.where(rare, middle, low), np.where(rare, high, middle)
    return np.where(usual > 0, low, usual)


def _lowest_held(supports: SupportsEvidence, least: Ints, alpha: float, usual: Floats) -> Floats:
    """The lowest share of the participants themselves, by bisection over whole numbers of them."""
    n, own, other = supports.n, float(supports.own), float(supports.other)
    shares = usual.copy()
    for place, (count, start) in enumerate(zip(supports.counts.tolist(), least.tolist(), strict=True)):
        low, high = -1, round(float(usual[place]) * n)
        while high - low > 1:
            middle = (low + high) // 2
            many, shown = (1 - lower_tail(k - 1, middle, n, own, other) for k in (count, min(start, count)))
            if many >= alpha * shown and shown > 0:
                high = middle
            else:
                low = middle
        shares[place] = min(high / n, float(usual[place]))
    return shares
