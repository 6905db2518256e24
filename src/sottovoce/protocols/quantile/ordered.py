"""Intervals of quantiles by the likelihood ratio of all distribution functions: nothing is assumed but that they rise.

The quantile lies between two thresholds if the share of answers is at most the level below the first, and at least the
level below the second. The largest likelihood of all rising shares is that of the rising fit. With the quantile in one
place it is that of two rising fits, cut at the level. Twice the logarithm of the ratio of both is compared with a
limit. With one threshold only one side can be wrong, and the limit of 95 % is 2.71, the square of the one-sided
deviate. With many thresholds on a smooth curve it is 2.27 (Banerjee, Wellner, "Likelihood ratio tests for monotone
functions", Annals of Statistics 2001). Two thresholds by themselves, both close to the quantile, would need 3.84. A
search has many, so the limit is a little above the first two: it covered 96.8 % on distributions for tuning.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import xlogy

from sottovoce.estimate.evidence import Floats, deviate
from sottovoce.protocols.quantile.answers import ThresholdAnswers

LIMIT = 0.73  # of the square of the two-sided deviate: 2.8 for 95 %


def likely_places(answers: ThresholdAnswers, level: float, confidence: float) -> tuple[float, float]:
    """The ends of all places between two thresholds, or an end of the line, that the likelihood does not rule out."""
    turns = np.concatenate([answers.ends[:1], answers.thresholds, answers.ends[1:]])
    possible = np.flatnonzero(ratios(answers, level) <= LIMIT * deviate(confidence) ** 2)
    return float(turns[possible[0]]), float(turns[possible[-1] + 1])


def ratios(answers: ThresholdAnswers, level: float) -> Floats:
    """Twice the logarithm of the likelihood ratio against the quantile in each place, from the lowest place on."""
    whole = _loss(answers, _rising(answers, 0, len(answers.asked)))
    return np.array([_loss(answers, _with(answers, level, place)) - whole for place in range(len(answers.asked) + 1)])


def _with(answers: ThresholdAnswers, level: float, place: int) -> Floats:
    """The likeliest shares below all thresholds if that many thresholds lie below the quantile."""
    below, above = _rising(answers, 0, place), _rising(answers, place, len(answers.asked))
    return np.concatenate([np.minimum(below, level), np.maximum(above, level)])


def _rising(answers: ThresholdAnswers, start: int, stop: int) -> Floats:
    """The likeliest rising shares below the thresholds from `start` to `stop`."""
    if start == stop:
        return np.empty(0)
    fit = isotonic_regression(answers.below[start:stop], weights=answers.asked[start:stop]).x
    return np.asarray(np.clip(fit, 0, 1))


def _loss(answers: ThresholdAnswers, below: Floats) -> float:
    """Minus twice the logarithm of the likelihood of these shares below the thresholds."""
    rates = answers.yes_rate(below)
    return -2 * float((xlogy(answers.yes, rates) + xlogy(answers.asked - answers.yes, 1 - rates)).sum())
