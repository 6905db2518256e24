"""Whether answers are normal: a score test from the tallies of all arms, and its power.

The law of a report is known for answers of any normal law, so also for a mixture of normal laws. In the direction of a
mixture the likelihood must not rise more than by chance. The test takes several directions at once: shoulders and tails
on both sides, a peak, and answers far away. What the fit of mean and standard deviation takes up is left out, so that
the statistic has a chi-squared law if the answers are normal.

Reference: Rao, "Large sample tests of statistical hypotheses concerning several parameters", 1948; for smooth
alternatives Neyman 1937.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, ncx2

from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.gaussian.law import Likelihood, law

Floats = NDArray[np.float64]
ALARM = 0.01  # of tests of normal answers that refute them
# Place and spread of the normal laws that are mixed in, in standard deviations.
DIRECTIONS = ((-1.5, 0.7), (1.5, 0.7), (0.0, 0.3), (0.0, 2.5), (-3.0, 1.0), (3.0, 1.0), (-8.0, 3.0), (8.0, 3.0))
# A skewed law like the exponential one: weights, places and spreads of normal laws, of mean 0 and variance 1.
SKEWED = ((0.55, -0.65, 0.3), (0.3, 0.26, 0.5), (0.15, 1.863, 0.93))
POWER = 0.95  # with which such a law is refuted, for the shape to be known
_STEP = 0.01  # of differences, in deviations
_SMALL = 1e-9  # of the largest size of a direction, below which it is none
_RARE = 1e-12


class Shape(NamedTuple):
    """What the reports tell about the shape.

    Attributes:
        p_value: how often normal answers look at least as far from normal.
        power: how often answers of a skewed law, like the exponential one, would be refuted.
    """

    p_value: float
    power: float

    @property
    def refuted(self) -> bool:
        """Whether the answers are not normal."""
        return self.p_value < ALARM

    @property
    def told(self) -> bool:
        """Whether a skewed law would probably have been refuted."""
        return self.power >= POWER

    def sentence(self) -> str | None:
        """The finding in words, if the answers are not normal or nothing is known about that."""
        if self.refuted:
            return (
                "The answers are not normally distributed (score test of all reports,"
                f" p = {max(self.p_value, 1e-12):.1g}), so this interval need not contain the mean. Ask for a mean with"
                " a range, or for a distribution."
            )
        if not self.told:
            return (
                "These reports are too few to tell whether the answers are normally distributed: a law as skewed as the"
                f" exponential one would be noticed in {self.power:.0%} of all studies. The interval holds for normal"
                " answers only."
            )
        return None


def shape_of(likelihood: Likelihood, mean: float, deviation: float) -> Shape:
    """The score test at the top of a likelihood."""
    free = 1 if likelihood.known is not None else 2
    size = free + len(DIRECTIONS)
    score, moved, information = np.zeros(size), np.zeros(size), np.zeros((size, size))
    for mechanism, cells in likelihood.parts:
        rates = np.maximum(law(mechanism, mean, deviation), _RARE)
        rises = _rises(mechanism, mean, deviation, free)
        skewed = sum(w * law(mechanism, mean + deviation * at, deviation * wide) for w, at, wide in SKEWED) - rates
        shares = rises / rates
        score += shares @ cells
        moved += cells.sum() * shares @ skewed
        information += cells.sum() * shares @ rises.T
    return _tested(score, information, moved, free)


def _rises(mechanism: Mechanism, mean: float, deviation: float, free: int) -> Floats:
    """How the law of a report changes with the fitted parameters, and in each direction; one row for each."""
    places = np.array([_STEP, -_STEP, 0.0, 0.0, 0.0, *(at for at, _ in DIRECTIONS)])
    spreads = np.array([1.0, 1.0, np.exp(_STEP), np.exp(-_STEP), 1.0, *(wide for _, wide in DIRECTIONS)])
    laws = law(mechanism, mean + deviation * places, deviation * spreads)
    fitted = [laws[0] - laws[1], laws[2] - laws[3]][:free]
    return np.vstack([np.array(fitted) / (2 * _STEP), laws[5:] - laws[4]])


def _tested(score: Floats, information: Floats, moved: Floats, free: int) -> Shape:
    """The part of the score that the fit does not take up, in standard errors of each direction that is told apart."""
    own = np.linalg.pinv(information[:free, :free], hermitian=True)
    across = information[free:, :free] @ own
    left = information[free:, free:] - across @ information[:free, free:]
    scale = np.sqrt(np.maximum(np.diag(information)[free:], _RARE))
    sizes, axes = np.linalg.eigh(left / np.outer(scale, scale))
    kept = sizes > _SMALL * max(float(sizes.max(initial=0)), _SMALL)
    if not kept.any():
        return Shape(1.0, 0.0)

    def length(numbers: Floats) -> float:
        rest = (numbers[free:] - across @ numbers[:free]) / scale
        return float(np.sum((axes[:, kept].T @ rest) ** 2 / sizes[kept]))

    count = int(kept.sum())
    return Shape(float(chi2.sf(length(score), count)), float(ncx2.sf(chi2.isf(ALARM, count), count, length(moved))))
