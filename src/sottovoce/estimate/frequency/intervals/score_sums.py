"""Tails of sums of scores +1, 0, -1, and the intervals that invert them when the rate of hits is unknown.

A report scores +1 where it supports a code, -1 where it falls into the rest of its group, else 0 (`ContrastsEvidence`).
The sum D of n scores is what the estimate is read from; how often a score is not 0, the *hit rate*, is a nuisance. The
inverted tests reject a share where P(D >= d), or P(D <= d), is small for every hit rate in a one-sided confidence set
for it, and the probability that this set misses is added (Berger, Boos, "P values maximized over a confidence set for
the nuisance parameter", JASA 1994).

The tail beyond the mean grows with the hit rate: its derivative is n/2 (P(D' = d - 1) - P(D' = d)) for the sum D' of
n - 1 scores, which is positive beyond the mode of D'. So the largest rate of the set decides. Only if almost no
score is 0 do the sums keep to every second integer; there a few smaller rates are tried as well.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaincinv, ndtri

from sottovoce.estimate.evidence import Floats, Ints
from sottovoce.fast.compiled import compiled

NUISANCE = 0.05  # share of the error probability that is spent on the confidence set for the hit rate
_REACH = 9.0  # standard deviations beyond which the mass, below 1e-18, is left out
_NOTHING = -42.0  # logarithm of a negligible factor
_SMALL = 600  # sums on fewer integers are added up over all frequencies
_FEW_ZEROS = 12.0  # expected zeros beyond which nothing is left of the parity of a sum, about e**-24
_ZEROS = tuple(_FEW_ZEROS * (step / 24) ** 2 for step in range(1, 25))  # which are tried, closest near none
_BETWEEN = 1.02  # a margin for expected zeros between those
_SPAN = 1e-5  # to which ends of intervals are found, outward, in half widths


@compiled
def _factor(count, hit, drift, angle):
    """Logarithm of the modulus, a bound of it without dips, and the phase of `count` scores at this frequency."""
    if count == 0:
        return 0.0, 0.0, 0.0
    rise = 2.0 * math.sin(angle / 2.0) ** 2
    sine = drift * math.sin(angle)
    less = -2.0 * hit * rise + (hit * rise) ** 2 + sine * sine  # squared modulus, minus one
    size = 0.5 * math.log1p(less) if less > -1.0 else -1e9
    return count * size, count * max(size, -1.0), count * math.atan2(sine, 1.0 - hit * rise)


@compiled
def upper_tail(least, counts, hits, drifts):
    """P(D >= least): counts[i] of the scores are not 0 with hits[i] and have mean drifts[i].

    The law of D is the Fourier sum of its characteristic function, over a window that holds all mass but 1e-18. That
    function is as narrow as the law is wide, so a few dozen frequencies suffice, however many scores there are.
    """
    mean, variance = 0.0, 0.0
    total = 0
    for i in range(counts.shape[0]):
        mean += counts[i] * drifts[i]
        variance += counts[i] * (hits[i] - drifts[i] ** 2)
        total += counts[i]
    if least > total:
        return 0.0
    if least <= -total:
        return 1.0
    reach = int(_REACH * math.sqrt(max(variance, 0.0))) + 14
    centre = math.floor(mean + 0.5)
    if least > centre + reach:
        return 0.0
    if least <= centre - reach:
        return 1.0
    width = 2 * reach + 1
    terms = centre + reach - least + 1
    middle = 0.5 * (least + centre + reach)
    last = reach
    sum_ = terms / width
    for side in range(2):
        k = 1 if side == 0 else reach
        while k <= last if side == 0 else k > last:
            angle = 2.0 * math.pi * k / width
            size, bound, phase = 0.0, 0.0, 0.0
            for i in range(counts.shape[0]):
                logarithm, smooth, turn = _factor(counts[i], hits[i], drifts[i], angle)
                size += logarithm
                bound += smooth
                phase += turn
            if bound < _NOTHING and width > _SMALL:
                if side == 0:
                    last = k
                break
            kernel = math.sin(0.5 * angle * terms) / math.sin(0.5 * angle)
            sum_ += 2.0 / width * math.exp(size) * math.cos(phase - angle * middle) * kernel
            k += 1 if side == 0 else -1
    return min(max(sum_, 0.0), 1.0)


# --- the population: n scores of one law ---------------------------------------------------------------------------
@compiled
def _largest_tail(least, n, rate, drift, alpha, more_zeros):
    """The largest P(D >= least) over hit rates up to `rate`, for scores of this mean; or one that exceeds alpha."""
    counts, hits, drifts = np.array([n]), np.array([max(rate, abs(drift))]), np.array([drift])
    tail = upper_tail(least, counts, hits, drifts)
    few = n * (1.0 - rate)
    if few > _FEW_ZEROS:
        return tail
    for zeros in more_zeros:
        if tail > alpha:
            break
        if zeros > few:
            hits[0] = max(1.0 - zeros / n, abs(drift))
            tail = max(tail, _BETWEEN * upper_tail(least, counts, hits, drifts))
    return min(tail, 1.0)


@compiled
def _least_drift(total, n, rate, alpha, more_zeros, deviate):
    """The least mean score whose upper tail from `total` on exceeds alpha: the lower end of an interval."""
    if total <= -n:
        return -rate
    spread = deviate * math.sqrt(max(rate - (total / n) ** 2, 1.0 / n) / n)
    high = min(max(total / n, -rate), rate)
    above = _largest_tail(total, n, rate, high, alpha, more_zeros)
    if above <= alpha:  # the sum exceeds what the set of hit rates allows
        return high
    low, step, below = high, 0.97 * spread, above
    while below > alpha:
        if low <= -rate:
            return -rate
        high, above = low, below
        low, step = max(low - step, -rate), 0.1 * spread
        below = _largest_tail(total, n, rate, low, alpha, more_zeros)
    return _between(low, below, high, above, total, n, rate, alpha, more_zeros, _SPAN * spread)


@compiled
def _between(low, below, high, above, total, n, rate, alpha, more_zeros, span):
    """A drift at most `span` below the one whose tail is alpha.

    The tail is nearly that of a normal law, so the root of its logarithm is nearly linear: a secant, aimed by turns at
    either side, closes in on both.
    """
    wanted, side = math.sqrt(-2.0 * math.log(alpha)), 1.0
    while high - low > span:
        left, right = math.sqrt(-2.0 * math.log(max(below, 1e-300))), math.sqrt(-2.0 * math.log(above))
        part = (left - wanted) / (left - right) if left > right else 0.5
        middle = low + min(max(part, 0.02), 0.98) * (high - low)
        middle = min(max(middle + 0.3 * side * span, low + 0.2 * span), high - 0.2 * span)
        tail = _largest_tail(total, n, rate, middle, alpha, more_zeros)
        if tail <= alpha:
            low, below, side = middle, tail, 1.0
        else:
            high, above, side = middle, tail, -1.0
    return low


@compiled
def _drift_ranges(totals, rates, n, alpha, more_zeros, deviate, low, high):
    for i in range(totals.shape[0]):
        low[i] = _least_drift(totals[i], n, rates[i], alpha, more_zeros, deviate)
        high[i] = -_least_drift(-totals[i], n, rates[i], alpha, more_zeros, deviate)


def drift_limits(
    totals: Ints, hits: Ints, n: int, rate_limits: tuple[float, float], level: float
) -> tuple[Floats, Floats]:
    """Two-sided limits for the mean score; `hits` of n scores are not 0, with a rate between the limits."""
    alpha, missed = _split(level)
    pairs, places = np.unique(np.stack([totals, hits]), axis=1, return_inverse=True)
    rates = np.clip(_largest_rates(pairs[1], n, missed), *rate_limits)
    low, high = np.empty(pairs.shape[1]), np.empty(pairs.shape[1])
    _drift_ranges(pairs[0], rates, n, alpha, _ZEROS, float(-ndtri(alpha)), low, high)
    return low[places.ravel()], high[places.ravel()]


# --- these participants: holders, mates of their group, and others -------------------------------------------------
@compiled
def _keeps(least, held, group, n, hit_own, hit_other, drift, sign, alpha):
    """Whether a sum of `least` or more does not refute that `held` participants hold the code.

    `group` bounds from above how many hold a code of its group.
    """
    counts = np.array([held, max(group - held, 0), n - max(group, held)])
    hits, drifts = np.array([hit_own, hit_own, hit_other]), np.array([sign * drift, 0.0, 0.0])
    while counts[1] >= 0:
        if upper_tail(least, counts, hits, drifts) > alpha:
            return True
        if counts[2] * (1.0 - hit_other) + (n - counts[2]) * (1.0 - hit_own) > _FEW_ZEROS:
            return False
        counts[1] -= 1
        counts[2] += 1
    return False


@compiled
def _end(least, guess, step, group, n, hit_own, hit_other, drift, sign, alpha):
    """The outermost held count that is kept: the smallest for the sum itself, the largest for its negative.

    Counts are walked through in the direction `sign` in which they become likelier; the one before the first that is
    kept is found by widening from the guess, then by bisection. Where none is kept, one past the end.
    """
    first, last = (0, group) if sign > 0 else (-group, 0)
    kept = min(max(sign * guess, first), last)
    lost = first - 1
    if _keeps(least, sign * kept, group, n, hit_own, hit_other, drift, sign, alpha):
        while kept > first:
            probe = max(first, kept - step)
            if not _keeps(least, sign * probe, group, n, hit_own, hit_other, drift, sign, alpha):
                lost = probe
                break
            kept = probe
            step *= 2
    else:
        lost, kept = kept, last + 1
        while lost < last:
            probe = min(last, lost + step)
            if _keeps(least, sign * probe, group, n, hit_own, hit_other, drift, sign, alpha):
                kept = probe
                break
            lost = probe
            step *= 2
    while kept - lost > 1:
        between = (kept + lost) // 2
        if _keeps(least, sign * between, group, n, hit_own, hit_other, drift, sign, alpha):
            kept = between
        else:
            lost = between
    return sign * kept


@compiled
def _score_ranges(totals, groups, n, hit_own, hit_other, alpha, deviate, low, high):
    drift = hit_own - hit_other
    for i in range(totals.shape[0]):
        group = groups[i]
        rate = (group * hit_own + (n - group) * hit_other) / n
        spread = deviate * math.sqrt(rate * n) / drift
        step = max(1, int(0.02 * spread))
        below, above = int(totals[i] / drift - spread), int(totals[i] / drift + spread)
        left = _end(totals[i], below, step, group, n, hit_own, hit_other, drift, 1, alpha)
        right = _end(-totals[i], above, step, group, n, hit_own, hit_other, drift, -1, alpha)
        low[i] = min(max(left, 0), group)
        high[i] = min(max(right, 0), group)
        if low[i] > high[i]:
            low[i] = high[i] = low[i] if left > group else high[i]


def held_limits(totals: Ints, hits: Ints, n: int, hit_rates: tuple[float, float], level: float) -> tuple[Ints, Ints]:
    """Two-sided limits for how many of n participants hold a code; `hits` of them scored +1 or -1.

    The hit rates are those of holders of the code's group, and of all others. The limit for one rate is valid for the
    mean of several as well: below its mean, no sum of independent hits has a heavier tail than the binomial one
    (Hoeffding, "On the distribution of the number of successes in independent trials", 1956).
    """
    alpha, missed = _split(level)
    own, other = hit_rates
    pairs, places = np.unique(np.stack([totals, hits]), axis=1, return_inverse=True)
    rates = _largest_rates(pairs[1], n, missed)
    groups = np.clip(np.floor(n * (rates - other) / (own - other) + 1e-9), 0, n).astype(np.int64)
    low, high = (np.empty(pairs.shape[1], np.int64) for _ in range(2))
    _score_ranges(pairs[0], groups, n, own, other, alpha, float(-ndtri(alpha)), low, high)
    return low[places.ravel()], high[places.ravel()]


def _largest_rates(hits: Ints, n: int, missed: float) -> Floats:
    """One-sided limits for the rate of n hits, each missed with this probability."""
    return np.where(hits < n, betaincinv(hits + 1, np.maximum(n - hits, 1), 1 - missed), 1.0)


def _split(level: float) -> tuple[float, float]:
    """Error probability of each of the two tests: the part for the sum, and the part for the confidence set."""
    alpha = (1 - level) / 2
    return alpha * (1 - NUISANCE), alpha * NUISANCE
