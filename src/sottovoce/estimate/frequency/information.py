"""The normal law of shares of largest likelihood, where positive shares are not asked for.

At the border of the simplex an estimate of positive shares has no normal law. Without that border, only with a sum of
one, the likelihood still has a maximum, since noise gives every report a positive probability for shares a little below
zero too. That maximum is found by Newton's method from the estimate of positive shares; its covariance is the inverse
of the information, within shares that sum to one.
"""

from __future__ import annotations

import numpy as np

from sottovoce.core.errors import NoIntervalError, TooLargeError
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.frequency.mixture import Mixture

MAX_CODES = 1024
MAX_ENTRIES = 1 << 26
STEPS = 20
CLOSE = 1e-10


def free_maximum(mixture: Mixture, start: Floats) -> tuple[Floats, Floats]:
    """The shares of largest likelihood that sum to one, possibly below zero, and their covariance."""
    if mixture.codes > MAX_CODES or mixture.codes * len(mixture.counts) > MAX_ENTRIES:
        raise TooLargeError(f"The information about {mixture.codes} shares from these reports is too large to compute.")
    law = np.stack([mixture.apply(unit) for unit in np.eye(mixture.codes)], axis=1)
    weights, shares = mixture.counts / mixture.n, start
    for _ in range(STEPS):
        inverse, gradient = _inverse(law, weights, shares)
        flat = inverse.sum(axis=1)
        step = inverse @ gradient - flat * (gradient @ flat) / flat.sum()
        while (law @ (shares + step)).min() <= 0.1 * (law @ shares).min():  # stay where every report is possible
            step = step / 2
            if np.abs(step).max() < CLOSE:
                raise NoIntervalError("These reports are too few for a normal law of their likelihood.")
        shares = shares + step
        if np.abs(step).max() < CLOSE:
            break
    inverse, _ = _inverse(law, weights, shares)
    flat = inverse.sum(axis=1)
    return shares, np.asarray((inverse - np.outer(flat, flat) / flat.sum()) / mixture.n)


def _inverse(law: Floats, weights: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """The inverse of the information of one report, and the gradient of the log-likelihood per report."""
    rows = law / (law @ shares)[:, None]
    information = (weights[:, None] * rows).T @ rows
    if np.linalg.cond(information) > 1e12:
        raise NoIntervalError("These reports do not determine all shares: the information has no inverse.")
    return np.asarray(np.linalg.inv(information), np.float64), weights @ rows
