"""Alarms for a change: cumulative sums of standardised surprises, with a stated rate of false alarms."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from sottovoce.estimate.evidence import Floats

ALLOWANCE = 0.5  # subtracted from each surprise: sums react fastest to shifts of one standard error
_CELLS = 300  # into which the range of a sum is divided
_MOST = 60.0  # no stated rate needs a larger threshold


def surprises(values: Floats, variances: Floats) -> Floats:
    """How far each row is from the mean of all rows before it, in standard errors; zero for the first.

    While nothing changes, these are independent and standard normal, though the level is estimated (recursive
    residuals). So the rate of false alarms holds without a known baseline.
    """
    standard = np.zeros_like(values)
    precision = 1 / variances[0]
    mean = values[0]
    for row in range(1, len(values)):
        standard[row] = (values[row] - mean) / np.sqrt(variances[row] + 1 / precision)
        total = precision + 1 / variances[row]
        mean = (mean * precision + values[row] / variances[row]) / total
        precision = total
    return standard


def sums(standard: Floats) -> tuple[Floats, Floats]:
    """The upper and the lower cumulative sums, row by row; both stay at or above zero."""
    up, down = np.zeros_like(standard), np.zeros_like(standard)
    for row in range(1, len(standard)):
        up[row] = np.maximum(0, up[row - 1] + standard[row] - ALLOWANCE)
        down[row] = np.maximum(0, down[row - 1] - standard[row] - ALLOWANCE)
    return up, down


def crossing(threshold: float, steps: int) -> float:
    """The probability that a sum of independent standard normal surprises exceeds a threshold within so many steps.

    A Markov chain over cells of the range (Brook and Evans 1972). Both sums together exceed it at most twice as often.
    """
    width = 2 * threshold / (2 * _CELLS - 1)  # the first cell is half as wide: it holds sums that were cut off at zero
    middles = width * np.arange(_CELLS)
    ends = middles + width / 2
    below = ndtr(ends[None, :] - middles[:, None] + ALLOWANCE)
    moves = np.diff(below, axis=1, prepend=0)
    law = np.zeros(_CELLS)
    law[0] = 1
    for _ in range(steps):
        law = law @ moves
    return float(1 - law.sum())


def threshold(rate: float, steps: int) -> float:
    """The threshold that either of the two sums exceeds within so many steps with at most this probability."""
    return float(brentq(lambda height: 2 * crossing(height, steps) - rate, 1e-3, _MOST, xtol=1e-4)) + 1e-4
