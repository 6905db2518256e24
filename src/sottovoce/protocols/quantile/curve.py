"""The distribution function that explains answers about thresholds best, as a curve of straight pieces.

Between two thresholds the density is constant. Its logarithm is a random walk from piece to piece: its steps have a
Cauchy law, so that most neighbours are alike and few differ by any factor. The scale of a step grows with the root of
the share of answers in both pieces. The curve is the posterior mode; its errors are those of a normal law around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from sottovoce.estimate.evidence import Floats
from sottovoce.protocols.quantile.answers import ThresholdAnswers

SCALE = 3.0  # of a step of the logarithm of the density, for pieces with all answers
STEPS = 60
ENOUGH = 1e-3  # gain of the logarithm of the posterior density, below which the search ends
LONGEST = 3.0  # change of a logarithm of a density in one step
# A density that rises by the factor e over a piece bends the curve by up to one over this part of its share, and a much
# steeper one by at most the second number.
BEND, MOST_BENT = 8.0, 0.5
INSIDE = np.linspace(0, 1, 17)  # places within a piece where the curve is read


class CurvePoints(NamedTuple):
    """The curve at places within its pieces: heights, their standard errors, and how far a bend may move them."""

    places: Floats
    heights: Floats
    errors: Floats
    slack: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCurve:
    """The curve at all thresholds and both ends of the domain.

    `covariance` is that of the logarithms of the densities, `asked` how many were asked at each place.
    """

    places: Floats
    heights: Floats
    covariance: Floats
    asked: Floats
    answers: ThresholdAnswers

    @classmethod
    def of(cls, answers: ThresholdAnswers) -> ThresholdCurve:
        """The curve of largest posterior density."""
        asked, below = answers.asked, answers.below
        places = np.concatenate([answers.ends[:1], answers.thresholds, answers.ends[1:]])
        rising = np.clip(isotonic_regression(below, weights=asked).x, 0, 1)
        shares = np.diff(np.concatenate([[0.0], rising, [1.0]]))
        widths = np.maximum(np.diff(places), 1e-12 * (places[-1] - places[0]))
        noise = float(np.sqrt(answers.variance(0.5) / answers.n))
        model = _CurveModel(widths, below, answers.variance(rising) / asked, SCALE**2 * _between(shares + noise))
        start = shares + noise / len(shares) + 1e-3 * widths / widths.sum()
        log_density, curvature = model.largest(np.log(start / start.sum() / widths))
        heights = np.concatenate([[0.0], np.cumsum(model.shares(log_density))])
        heights[-1] = 1.0
        everywhere = np.concatenate([[np.inf], asked, [np.inf]])
        covariance = np.asarray(np.linalg.inv(curvature), np.float64)
        return cls(places, heights, covariance, everywhere, answers)

    @property
    def shares(self) -> Floats:
        """The share of answers in each piece."""
        return np.diff(self.heights)

    def piece(self, level: float) -> int:
        """The piece in which the curve reaches a level."""
        return int(np.clip(np.searchsorted(self.heights, level, side="left") - 1, 0, len(self.heights) - 2))

    def place(self, level: float) -> float:
        """Where the curve reaches a level."""
        piece = self.piece(level)
        inside = (level - self.heights[piece]) / max(float(self.shares[piece]), 1e-300)
        return float(self.places[piece] + np.clip(inside, 0, 1) * (self.places[piece + 1] - self.places[piece]))

    def bends(self) -> Floats:
        """By how much the height within each piece may differ from a straight line, from the densities beside it."""
        logs = np.log(np.maximum(self.shares, 1e-300) / np.diff(self.places))
        steps = np.abs(np.diff(logs))
        steepest = np.maximum(np.concatenate([steps, [0.0]]), np.concatenate([[0.0], steps]))
        return np.asarray(np.minimum(steepest / BEND, MOST_BENT) * self.shares)

    def points(self, first: int, last: int) -> CurvePoints:
        """The curve within the pieces from `first` to `last`."""
        pieces, inside = np.arange(first, last + 1)[:, None], INSIDE[None, :]
        shares, widths = self.shares, np.diff(self.places)
        heights = self.heights[pieces] + inside * shares[pieces]
        weights = np.clip(pieces[:, :, None] - np.arange(len(shares)), 0, 1).astype(float) + np.where(
            np.arange(len(shares)) == pieces[:, :, None], inside[:, :, None], 0.0
        )
        slopes = (weights - heights[:, :, None]) * shares
        errors = np.sqrt(np.maximum(np.einsum("pik,kl,pil->pi", slopes, self.covariance, slopes), 0))
        slack = 2 * self.bends()[pieces] * np.sqrt(inside * (1 - inside))
        places = self.places[pieces] + inside * widths[pieces]
        return CurvePoints(*(np.ravel(part) for part in (places, heights, errors, slack)))

    def error(self, level: float) -> float:
        """Standard error of the height where the curve reaches a level."""
        piece = self.piece(level)
        points = self.points(piece, piece)
        return float(np.interp(level, points.heights, points.errors))


@dataclass(frozen=True, slots=True, eq=False)
class _CurveModel:
    """The logarithm of the posterior density of logarithms of densities, without constants."""

    widths: Floats
    below: Floats  # unbiased heights at the thresholds, and their variances
    variances: Floats
    scales: Floats  # squares of the scales of the steps

    def shares(self, logs: Floats) -> Floats:
        sizes = self.widths * np.exp(logs - logs.max())
        return np.asarray(sizes / sizes.sum())

    def loss(self, logs: Floats) -> float:
        heights, steps = np.cumsum(self.shares(logs))[:-1], np.diff(logs)
        fit = float(((self.below - heights) ** 2 / self.variances).sum()) / 2
        return fit + float(np.log1p(steps**2 / self.scales).sum())

    def slope(self, logs: Floats) -> tuple[Floats, Floats]:
        """Downhill direction of the loss, and an upper bound of its curvature."""
        shares, steps = self.shares(logs), np.diff(logs)
        heights, count = np.cumsum(shares)[:-1], len(shares)
        change = (np.tri(count - 1, count) - heights[:, None]) * shares
        stiff = 2 / (1 + steps**2 / self.scales) / self.scales
        differences = np.diff(np.eye(count), axis=0)
        downhill = change.T @ ((self.below - heights) / self.variances) - differences.T @ (stiff * steps)
        curvature = change.T @ (change / self.variances[:, None]) + differences.T @ (differences * stiff[:, None])
        return downhill, curvature + 1 / count  # the level of all logarithms is free

    def largest(self, logs: Floats) -> tuple[Floats, Floats]:
        """The mode and the curvature there, by steps of Newton that are shortened until they gain."""
        loss = self.loss(logs)
        for _ in range(STEPS):
            downhill, curvature = self.slope(logs)
            step = np.linalg.solve(curvature, downhill)
            size = min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))
            while (new := self.loss(logs + size * step)) > loss and size > 1e-4:
                size /= 2
            logs, gain, loss = logs + size * step, loss - new, new
            if gain < ENOUGH:
                break
        return logs, self.slope(logs)[1]


def _between(shares: Floats) -> Floats:
    return np.asarray((shares[1:] + shares[:-1]) / 2)
