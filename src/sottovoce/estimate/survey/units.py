"""Design-based covariance of weighted means, from weighted tallies of every stratum, cluster and calibration cell.

The estimate is the sum of w_i s_i over the sum of the w_i, where s_i is the score of report i: unbiased given the
answer. Its error is to first order the mean of the residuals w_i (s_i - b), where b is the estimate itself, or the fit
of a calibration cell. Residuals (or their sums over clusters) are independent within a stratum, so their covariance
follows from sums of w_i s_i and w_i**2 s_i s_i'. Both are read from tallies (`tally.weighted`).

Drawing people without replacement lowers the part of the variance that is due to who was drawn. It never lowers the
noise: with the sampling fraction f, the covariance of the residuals counts 1 - f times, and the noise f times.

Reference: Saerndal, Swensson, Wretman, "Model assisted survey sampling", Springer 1992, sections 2.8, 4.3, 6.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.request import Target


class Scores(Protocol):
    """Weighted mean score of some reports, and the moments of their scores weighted by squared weights."""

    def first(self) -> Floats:
        """The mean of the scores, weighted."""

    def second(self) -> Floats:
        """The mean of the scores, with squared weights."""

    def spread(self, rows: Floats | None, target: Target) -> Floats:
        """The covariance of one score with squared weights, for rows of weights; without rows all variances."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Reports of one stratum, cluster and calibration cell.

    Attributes:
        n: reports; `weight` is the sum of their weights, `square` that of the squares, in units of one.
    """

    stratum: int
    cluster: int
    cell: int
    n: int
    weight: float
    square: float
    scores: Scores


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """All units of a survey.

    Attributes:
        fractions: the share of the people of each stratum who take part; zeros for drawing with replacement.
        clustered: whether clusters were drawn, so that residuals of a cluster count as one.
        traits: indicators of the categories of each calibration cell, one row each; None without calibration.
    """

    each: tuple[Unit, ...]
    fractions: Floats
    clustered: bool
    traits: Floats | None = None

    @property
    def n(self) -> int:
        """All reports."""
        return sum(unit.n for unit in self.each)

    @property
    def weight(self) -> float:
        """The sum of all weights."""
        return sum(unit.weight for unit in self.each)

    @property
    def draws(self) -> list[int]:
        """How many people, or clusters, were drawn in each stratum."""
        strata = range(len(self.fractions))
        if self.clustered:
            return [len({unit.cluster for unit in self.each if unit.stratum == h}) for h in strata]
        return [sum(unit.n for unit in self.each if unit.stratum == h) for h in strata]

    @property
    def free(self) -> int:
        """Degrees of freedom of the variance: draws less strata."""
        return sum(self.draws) - len(self.fractions)

    @property
    def effective(self) -> float:
        """The number of equally weighted reports whose noise is as large (Kish)."""
        return self.weight**2 / sum(unit.square for unit in self.each)

    def values(self) -> Floats:
        """The weighted mean of all scores."""
        return np.asarray(sum(unit.weight * unit.scores.first() for unit in self.each) / self.weight)

    def _fits(self) -> Sequence[Floats]:
        """What residuals are counted from, by calibration cell: the least-squares fit of its categories."""
        if self.traits is None:
            return [self.values()]
        size = len(self.traits)
        weights = np.zeros(size)
        sums = np.zeros((size, len(self.each[0].scores.first())))
        for unit in self.each:
            weights[unit.cell] += unit.weight
            sums[unit.cell] += unit.weight * unit.scores.first()
        root = np.sqrt(weights)[:, None]
        means = sums / np.where(weights > 0, weights, 1.0)[:, None]
        slopes = np.linalg.lstsq(root * self.traits, root * means, rcond=None)[0]
        return list(self.traits @ slopes)

    def covariance(self, rows: Floats | None, target: Target) -> Floats:
        """The covariance of functionals of the values, one row of weights each; without rows all variances."""

        def project(values: Floats) -> Floats:
            return values if rows is None else np.asarray(rows @ values)

        def square(values: Floats) -> Floats:
            return values**2 if rows is None else np.outer(values, values)

        def noise(units: Sequence[Unit]) -> Floats:
            return np.asarray(sum(unit.square * unit.scores.spread(rows, Target.SAMPLE) for unit in units))

        if target == Target.SAMPLE:
            return noise(self.each) / self.weight**2
        fits, whole = self._fits(), np.asarray(0.0)
        for stratum, (fraction, draws) in enumerate(zip(self.fractions, self.draws, strict=True)):
            units = [unit for unit in self.each if unit.stratum == stratum]
            sums: dict[int, Floats] = {}
            squares = np.asarray(0.0)
            for unit in units:
                fit = fits[unit.cell]
                key = unit.cluster if self.clustered else 0
                sums[key] = sums.get(key, 0.0) + unit.weight * project(unit.scores.first() - fit)
                if not self.clustered:
                    away = square(project(unit.scores.second() - fit))
                    squares = squares + unit.square * (unit.scores.spread(rows, Target.POPULATION) + away)
            if self.clustered:
                squares = np.asarray(sum(square(one) for one in sums.values()))
            total = np.asarray(sum(sums.values()))
            between = draws / (draws - 1) * (squares - square(total) / draws)
            whole = whole + (1 - fraction) * between + (fraction * noise(units) if fraction else 0.0)
        return np.asarray(whole) / self.weight**2
