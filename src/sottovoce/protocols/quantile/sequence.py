"""Confidence sequences of quantiles: intervals that hold after every answer at once, for any distribution.

If x is the quantile q, at most a share q of all answers lies below any threshold up to x, and at least that share below
any threshold beyond x. So a yes at a threshold up to x is at least as likely as at a share of exactly q, whatever made
the protocol choose the threshold. A bet against that multiplies its stake by 1 / alpha, at any time, with a probability
of at most alpha (Ville). Bets against x are placed on the thresholds next to x, on the side to which earlier rounds
point. In each round half of what was gained so far is kept, and half is bet, in equal parts on windows of 1, 2, 4, 8
and 16 thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from scipy.special import betainc, betaln

from sottovoce.estimate.evidence import Floats
from sottovoce.protocols.quantile.answers import ThresholdAnswers
from sottovoce.protocols.quantile.curve import ThresholdCurve

WINDOWS = (1, 2, 4, 8, 16)  # thresholds that a bet is placed on
FIRMNESS = (100.0, 2e3, 4e4, 8e5)  # how firmly mixtures of rates believe in the tested one, in answers
TINY, LOST = 1e-290, -700.0


def sequence(rounds: Sequence[ThresholdAnswers], level: float, alpha: float) -> tuple[float, float]:
    """The ends of all places that are not ruled out after these rounds."""
    turns, gained = gains(rounds, level)
    possible = np.flatnonzero(gained < np.log(1 / alpha))
    if not len(possible):  # with a probability of at most alpha
        return float(turns[0]), float(turns[-1])
    return float(turns[possible[0]]), float(turns[possible[-1] + 1])


def gains(rounds: Sequence[ThresholdAnswers], level: float) -> tuple[Floats, Floats]:
    """Thresholds and ends of the domain, and the logarithm of what bets against each part between two have gained."""
    together = ThresholdAnswers.together(rounds)
    turns = np.concatenate([together.ends[:1], together.thresholds, together.ends[1:]])
    total = np.zeros(len(turns) - 1)
    for number, answers in enumerate(rounds):
        below, above = _windows(answers, turns[:-1], level)
        sides = np.logaddexp(below, above) - np.log(2)
        if number:
            target = _target(tuple(rounds[:number]), level)
            sides = np.where(turns[:-1] >= target, below, np.where(turns[1:] <= target, above, sides))
        total += np.logaddexp(0.0, sides) - np.log(2)
    return turns, total


@lru_cache(maxsize=64)
def _target(rounds: tuple[ThresholdAnswers, ...], level: float) -> float:
    """Where the quantile is after these rounds, cached: sequences after later rounds need it again."""
    return ThresholdCurve.of(ThresholdAnswers.together(rounds)).place(level)


def _windows(answers: ThresholdAnswers, places: Floats, level: float) -> Floats:
    """Logarithm of the gains on the nearest thresholds up to each place, and beyond it, averaged over windows."""
    totals, sums = (np.concatenate([[0.0], np.cumsum(part)]) for part in (answers.asked, answers.yes))
    rate, here = float(answers.yes_rate(level)), np.searchsorted(answers.thresholds, places, side="right")
    below, above = [], []
    for size in WINDOWS:
        first, last = np.maximum(here - size, 0), np.minimum(here + size, len(answers.thresholds))
        asked, yes = totals[here] - totals[first], sums[here] - sums[first]
        below.append(_bets(asked - yes, yes, 1 - rate))
        asked, yes = totals[last] - totals[here], sums[last] - sums[here]
        above.append(_bets(yes, asked - yes, rate))
    return np.asarray(np.logaddexp.reduce(np.array([below, above]), axis=1) - np.log(len(WINDOWS)))


def _bets(counts: Floats, rest: Floats, rate: float) -> Floats:
    """Logarithm of the likelihood ratio of larger rates, in a mixture of cut Beta laws, against this one."""
    logs = []
    for firm in FIRMNESS:
        a, b = firm * rate, firm * (1 - rate)
        tail = betainc(rest + b, counts + a, 1 - rate) / betainc(b, a, 1 - rate)
        ratio = betaln(counts + a, rest + b) - betaln(a, b) - counts * np.log(rate) - rest * np.log1p(-rate)
        # Where nearly all of the law is cut off the gain cannot be computed; a smaller one is cautious.
        gain = np.where(tail > TINY, np.log(np.maximum(tail, TINY)) + ratio, LOST)
        logs.append(np.where(counts + rest > 0, np.maximum(gain, LOST), 0.0))
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(FIRMNESS)))
