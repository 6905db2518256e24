"""Tails of the sum of two binomials, and the intervals that invert them exactly over integers.

The number of reports that support a code is Bin(held, p) + Bin(n - held, q) when `held` of n participants hold
it. Its tails are monotone in `held` since p > q, so the set of counts that a test does not reject is a range.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from sottovoce.estimate.evidence import Ints
from sottovoce.fast.compiled import compiled

_REACH = 9.0  # standard deviations beyond which the mass, below 1e-18, is left out


@compiled
def _window(n, p):
    spread = _REACH * math.sqrt(n * p * (1.0 - p)) + 12.0
    low = max(0, math.floor(n * p - spread))
    high = min(n, math.ceil(n * p + spread))
    return low, high


@compiled
def _fill_pmf(n, p, low, high, out):
    """Binomial probabilities on [low, high] by recurrence from the mode, then scaled to sum to one."""
    mode = min(max(int((n + 1) * p), low), high)
    if p <= 0.0 or p >= 1.0:
        out[:] = 0.0
        out[mode - low] = 1.0
        return
    out[mode - low] = 1.0
    odds = p / (1.0 - p)
    for x in range(mode, high):
        out[x + 1 - low] = out[x - low] * odds * (n - x) / (x + 1.0)
    for x in range(mode, low, -1):
        out[x - 1 - low] = out[x - low] * x / (odds * (n - x + 1.0))
    total = 0.0
    for i in range(high - low + 1):
        total += out[i]
    out /= total


@compiled
def lower_tail(count, held, n, p, q):
    """P(Bin(held, p) + Bin(n - held, q) <= count)."""
    if count < 0:
        return 0.0
    if count >= n:
        return 1.0
    low_x, high_x = _window(held, p)
    low_y, high_y = _window(n - held, q)
    x = np.empty(high_x - low_x + 1)
    y = np.empty(high_y - low_y + 1)
    _fill_pmf(held, p, low_x, high_x, x)
    _fill_pmf(n - held, q, low_y, high_y, y)
    running = 0.0
    for i in range(y.shape[0]):
        running += y[i]
        y[i] = running
    total = 0.0
    for i in range(x.shape[0]):
        place = count - (low_x + i) - low_y
        if place >= y.shape[0]:
            total += x[i]
        elif place >= 0:
            total += x[i] * y[place]
    return min(1.0, total)


@compiled
def _keeps_low(count, held, n, p, q, alpha):
    """Whether `held` is not too small for the count: P(count or more) > alpha."""
    return 1.0 - lower_tail(count - 1, held, n, p, q) > alpha


@compiled
def _smallest_kept(count, n, p, q, alpha, guess, step):
    """The smallest held count that is kept: widen from the guess, then bisect. n + 1 if none is kept."""
    low = -1
    high = min(max(guess, 0), n)
    if _keeps_low(count, high, n, p, q, alpha):
        while high > 0:
            probe = max(0, high - step)
            if not _keeps_low(count, probe, n, p, q, alpha):
                low = probe
                break
            high = probe
            step *= 2
    else:
        low = high
        high = n + 1
        while low < n:
            probe = min(n, low + step)
            if _keeps_low(count, probe, n, p, q, alpha):
                high = probe
                break
            low = probe
            step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        if _keeps_low(count, middle, n, p, q, alpha):
            high = middle
        else:
            low = middle
    return high


@compiled
def held_ranges(counts, n, p, q, alpha, deviate, low, high):
    """For each count the range of held counts that neither one-sided test of level alpha rejects.

    The upper end is the lower end of the mirrored problem: n - count reports do not support the code, and of the
    n - held others each fails to support it with the larger probability 1 - q. If nothing is kept the range
    collapses to the nearest end of [0, n].
    """
    for i in range(counts.shape[0]):
        count = counts[i]
        total = n[i]
        if total == 0:
            low[i] = 0
            high[i] = 0
            continue
        share = count / total
        spread = deviate * math.sqrt(max(share * (1.0 - share), 1.0 / total) / total)
        step = max(1, int(0.02 * spread / (p - q) * total))
        below = int(((share - spread) - q) / (p - q) * total)
        above = int(((share + spread) - q) / (p - q) * total)
        left = _smallest_kept(count, total, p, q, alpha, below, step)
        mirrored = _smallest_kept(total - count, total, 1.0 - q, 1.0 - p, alpha, total - above, step)
        low[i] = min(left, total)
        high[i] = max(total - mirrored, 0)
        if low[i] > high[i]:
            low[i] = high[i] = min(max(low[i], 0), total) if left > total else high[i]


def exact_held(counts: Ints, n: Ints, own: float, other: float, level: float) -> tuple[Ints, Ints]:
    """Two-sided exact limits for how many of n participants hold a code, one pair per count."""
    unique, places = np.unique(np.stack([counts, n]), axis=1, return_inverse=True)
    low = np.empty(unique.shape[1], np.int64)
    high = np.empty(unique.shape[1], np.int64)
    alpha = (1.0 - level) / 2.0
    held_ranges(unique[0], unique[1], own, other, alpha, float(-ndtri(alpha)), low, high)
    return low[places.ravel()], high[places.ravel()]
