"""Whether answers are normal: a score test from the tallies of all arms, and its power.

The law of a report is known for answers of any normal law, so also for a mixture of normal laws. In the direction of a
mixture the likelihood must not rise more than by chance. The test takes several directions at once: shoulders and tails
on both sides, a peak, and answers far away. What the fit of mean and standard deviation takes up is left out, so that
the statistic has a chi-squared law if the answers are normal.

Reference: Rao, "Large sample tests of statistical hypotheses concerning several parameters", 1948; for smooth
alternatives Neyman 1937.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import ndtri

from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.gaussian.law import Likelihood, law

ALARM = 0.01  # of tests of normal answers that refute them
# Place and spread of the normal laws that are mixed in, in standard deviations.
DIRECTIONS = ((-1.5, 0.7), (1.5, 0.7), (0.0, 0.3), (0.0, 2.5), (-3.0, 1.0), (3.0, 1.0), (-8.0, 3.0), (8.0, 3.0))
POWER = 0.999  # with which each common law must be refuted, for the shape to be known
_POINTS = 64  # of equal weight, in which the common laws are approximated
_SPREAD = 0.05  # of each point, in standard deviations: answers that are rounded
_STEP = 0.01  # of differences, in deviations
_SMALL = 1e-9  # of the largest size of a direction, below which it is none
_RARE = 1e-12


class Shape(NamedTuple):
    """What the reports tell about the shape.

    Attributes:
        p_value: how often normal answers look at least as far from normal.
        powers: how often answers of each common law would be refuted.
        unseen: how far a departure towards a common law, too slight to be noticed, can move the estimated mean.
    """

    p_value: float
    powers: dict[str, float]
    unseen: float

    @property
    def refuted(self) -> bool:
        """Whether the answers are not normal."""
        return self.p_value < ALARM

    @property
    def told(self) -> bool:
        """Whether every common law would almost certainly have been refuted."""
        return min(self.powers.values()) >= POWER

    def sentence(self) -> str:
        """The finding in words."""
        if self.refuted:
            chance = f"p = {self.p_value:.1g}" if self.p_value > _RARE else f"p < {_RARE:g}"
            return (
                f"The answers are not normally distributed (score test of all reports, {chance}), so this"
                " interval need not contain the mean. Ask for a mean with a range, or for a distribution."
            )
        if not self.told:
            hardest = min(self.powers, key=lambda name: self.powers[name])
            return (
                "These reports cannot show whether the answers are normally distributed: answers distributed like"
                f" {hardest} would be noticed in only {min(self.powers[hardest], 0.99):.0%} of such studies. The"
                " interval holds for normal answers only."
            )
        return (
            "The answers look normally distributed. A slight skew that these reports cannot show could move the mean by"
            f" up to {self.unseen:.2g}; the interval holds for normal answers only."
        )


@cache
def common_laws() -> dict[str, Floats]:
    """Points of equal weight of common laws that are not normal, with mean 0 and standard deviation 1."""
    share = (np.arange(_POINTS) + 0.5) / _POINTS
    laws = {
        "ages": stats.beta(2, 4).ppf(share),
        "test scores (slightly skewed)": stats.beta(3, 4).ppf(share),
        "body weights (slightly skewed)": stats.gamma(30).ppf(share),
        "waiting times (exponential)": stats.expon.ppf(share),
        "incomes (log-normal)": stats.lognorm(0.7).ppf(share),
        "amounts of which half are zero": stats.expon.ppf(np.maximum(2 * share - 1, 0)),
        "two groups": np.concatenate([sign * 0.9 + math.sqrt(0.19) * ndtri(share[::2]) for sign in (-1, 1)]),
    }
    return {name: (points - points.mean()) / points.std() for name, points in laws.items()}


def shape_of(likelihood: Likelihood, mean: float, deviation: float) -> Shape:
    """The score test at the top of a likelihood."""
    free = 1 if likelihood.known is not None else 2
    size = free + len(DIRECTIONS)
    others = np.array(list(common_laws().values()))
    score, moved, information = np.zeros(size), np.zeros((size, len(others))), np.zeros((size, size))
    for mechanism, cells in likelihood.parts:
        rates = np.maximum(law(mechanism, mean, deviation), _RARE)
        rises = _rises(mechanism, mean, deviation, free)
        apart = law(mechanism, mean + deviation * others, deviation * _SPREAD).mean(axis=1) - rates
        shares = rises / rates
        score += shares @ cells
        moved += cells.sum() * shares @ apart.T
        information += cells.sum() * shares @ rises.T
    return _tested(score, information, moved, free, deviation)


def _rises(mechanism: Mechanism, mean: float, deviation: float, free: int) -> Floats:
    """How the law of a report changes with the fitted parameters, and in each direction; one row for each."""
    places = np.array([_STEP, -_STEP, 0.0, 0.0, 0.0, *(at for at, _ in DIRECTIONS)])
    spreads = np.array([1.0, 1.0, np.exp(_STEP), np.exp(-_STEP), 1.0, *(wide for _, wide in DIRECTIONS)])
    laws = law(mechanism, mean + deviation * places, deviation * spreads)
    fitted = [laws[0] - laws[1], laws[2] - laws[3]][:free]
    return np.vstack([np.array(fitted) / (2 * _STEP), laws[5:] - laws[4]])


def _tested(score: Floats, information: Floats, moved: Floats, free: int, deviation: float) -> Shape:
    """The part of the score that the fit does not take up, in standard errors of each direction that is told apart."""
    own = np.linalg.pinv(information[:free, :free], hermitian=True)
    across = information[free:, :free] @ own
    left = information[free:, free:] - across @ information[:free, free:]
    scale = np.sqrt(np.maximum(np.diag(information)[free:], _RARE))
    sizes, axes = np.linalg.eigh(left / np.outer(scale, scale))
    largest = float(sizes.max(initial=0))
    if largest < _RARE:  # but for rounding the fit takes up all that the reports tell
        return Shape(1.0, dict.fromkeys(common_laws(), 0.0), math.inf)
    kept = sizes > _SMALL * largest

    def lengths(columns: Floats) -> Floats:
        rest = (columns[free:] - across @ columns[:free]) / scale[:, None]
        return np.asarray(np.sum((axes[:, kept].T @ rest) ** 2 / sizes[kept, None], axis=0))

    count, apart = int(kept.sum()), lengths(moved)
    least = stats.chi2.isf(ALARM, count)
    powers = stats.ncx2.sf(least, count, apart).tolist()
    # A part of a departure moves the mean, and the root of the noncentrality, in proportion (first order).
    noticed = brentq(lambda length: stats.ncx2.sf(least, count, length) - POWER, 1, 1e3)
    part = np.minimum(1, np.sqrt(noticed / np.maximum(apart, _RARE)))
    unseen = deviation * float(np.max(np.abs(own[0] @ moved[:free]) * part))
    p_value = float(stats.chi2.sf(lengths(score[:, None])[0], count))
    return Shape(p_value, dict(zip(common_laws(), powers, strict=True)), unseen)
