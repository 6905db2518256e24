"""Readings: a value is the mean of a score of each report, so that its errors follow from the scores.

A report adds to the value of a code a number, its score, whose mean is 1 for those who hold the code and 0 for all
others. With the rates of the reports, or of what is counted in them, come values and mean squares of scores; from these
the variances, the covariance of functionals, and how far fake reports can move a value.

Variances and covariances here are those of one report: divide them by the number of reports.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import Contributions, Floats
from sottovoce.estimate.request import Target


class Reading(ABC):
    """The scores of reports.

    `rates` are means over the reports of what was counted: rates of the outputs, or of supports of each code.
    """

    @abstractmethod
    def values(self, rates: Floats) -> Floats:
        """The mean of the score of each code."""

    @abstractmethod
    def squares(self, rates: Floats) -> Floats:
        """The mean square of the score of each code."""

    @abstractmethod
    def ends(self, weights: Floats) -> tuple[Floats, Floats]:
        """The least and the largest score that a report can have in each functional, one row of weights each."""

    def between(self, shares: Floats) -> Floats:
        """The mean square of the mean score of each code given the answer, which is 1 for its own and else 0."""
        return shares

    def variances(self, rates: Floats, target: Target, shares: Floats | None = None) -> Floats:
        """The variance of each score; for the sample without the part that lies between the answers.

        `shares` are those behind the rates, by default the values.
        """
        values = self.values(rates)
        if target == Target.POPULATION:
            return np.asarray(self.squares(rates) - values**2)
        return np.asarray(self.squares(rates) - self.between(values if shares is None else shares))

    def contributions(self, weights: Floats, n: Any) -> Contributions:
        """How far one of n reports can move each functional."""
        least, most = self.ends(np.atleast_2d(weights))
        return Contributions(least, most, np.full(len(least), n))

    def reach(self, weights: Floats) -> float:
        """The length of the range of the scores of a functional."""
        ((least,), (most,)) = self.ends(np.atleast_2d(weights))
        return float(most - least)


class OutputReading(Reading):
    """Scores of numbered outputs; `rates` are those of the outputs, and sum to one.

    A functional is a weighted sum of shares, one row of weights each. Its score is that of the outputs.
    """

    @abstractmethod
    def scores(self, weights: Floats) -> Floats:
        """The score of each output, one row for each functional."""

    def ends(self, weights: Floats) -> tuple[Floats, Floats]:
        scores = self.scores(np.atleast_2d(weights))
        return scores.min(axis=1), scores.max(axis=1)

    def products(self, weights: Floats, rates: Floats) -> Floats:
        """The mean product of the scores of each two functionals."""
        scores = self.scores(np.atleast_2d(weights))
        return np.asarray((scores * rates) @ scores.T)

    def covariance(self, weights: Floats, rates: Floats, target: Target, shares: Floats | None = None) -> Floats:
        """The covariance of the scores of functionals, as `variances` for shares."""
        rows = np.atleast_2d(weights)
        held = self.values(rates) if shares is None else shares
        if target == Target.POPULATION:
            values = rows @ held
            return np.asarray(self.products(rows, rates) - np.outer(values, values))
        # For these participants, the part of the spread that lies between their answers is no error.
        return np.asarray(self.products(rows, rates) - (rows * held) @ rows.T)

    def spreads(self, weights: Floats, rates: Floats, target: Target) -> Floats:
        """The diagonal of `covariance`, for many functionals."""
        rows = np.atleast_2d(weights)
        scores = self.scores(rows)
        first = (scores @ rates) ** 2 if target == Target.POPULATION else rows**2 @ self.values(rates)
        # The sum of all shares has no variance, and rounding makes it negative.
        return np.maximum(scores**2 @ rates - first, 0)


class MatrixReading(OutputReading):
    """Scores in a matrix: one row for each code, one column for each output."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = matrix

    def scores(self, weights: Floats) -> Floats:
        return np.asarray(weights @ self.matrix)

    def values(self, rates: Floats) -> Floats:
        return np.asarray(self.matrix @ rates)

    def squares(self, rates: Floats) -> Floats:
        return np.asarray(self.matrix**2 @ rates)


class Curve(NamedTuple):
    """The variance of an estimated share as a parabola of the true one: free + linear f + square f**2."""

    free: Any  # a float, or one for each value
    linear: Any = 0.0
    square: Any = 0.0

    def at(self, shares: Floats) -> Floats:
        """The variances at these shares."""
        return np.asarray(self.free + shares * (self.linear + shares * self.square))

    def over(self, reports: Any) -> Curve:
        """The variance of the mean of so many reports."""
        return Curve(*(term / reports for term in self))


@dataclass(frozen=True, slots=True, eq=False)
class CodeReading(Reading):
    """One number of each report for each code: a bit that supports it, or a noisy bin.

    Attributes:
        start: the mean of the number for those who do not hold the code; `slope` is how much larger it is for holders.
        off, on: its variance for those who do not hold the code, and for holders.
        least, most: the range of the number.
    """

    start: Any  # all of them floats, or one per code
    slope: Any
    off: Any
    on: Any
    least: float = 0.0
    most: float = 1.0

    def __post_init__(self) -> None:
        if not np.all(self.slope):
            raise ParameterError(
                "Reports that support an answer are as frequent from those who hold it as from all others, up to"
                " rounding, so there is no estimate: choose a larger epsilon."
            )

    @classmethod
    def of_rates(cls, own: Any, other: Any) -> CodeReading:
        """Supports: a bit that is set with rate `own` by holders of a code and with `other` by all the rest."""
        own, other = np.asarray(own), np.asarray(other)
        return cls(other, own - other, other * (1 - other), own * (1 - own))

    def values(self, rates: Floats) -> Floats:
        return np.asarray((rates - self.start) / self.slope)

    def squares(self, rates: Floats) -> Floats:
        return np.asarray(self.curve(0.0).at(self.values(rates)) + self.values(rates))

    def curve(self, drawn: Any) -> Curve:
        """The variance of a score by the share of holders.

        `drawn` is the part of the spread between holders and others that counts: 1 for the population, 0 for the
        sample, and in between where some of the sample were asked.
        """
        squared = self.slope**2
        return Curve(self.off / squared, (self.on - self.off) / squared + drawn, -drawn)

    def at(self, shares: Floats, target: Target) -> Floats:
        """The variance of a score where these are the shares of holders."""
        return self.curve(1.0 if target == Target.POPULATION else 0.0).at(shares)

    def variances(self, rates: Floats, target: Target, shares: Floats | None = None) -> Floats:
        """Variances from a parabola of the shares, where nothing cancels."""
        return self.at(self.values(rates) if shares is None else shares, target)

    def ends(self, weights: Floats) -> tuple[Floats, Floats]:
        """Bounds of the scores, as if the numbers of a report for different codes were independent."""
        low, high = (np.broadcast_to(self.values(np.asarray(end)), weights.shape[1]) for end in (self.least, self.most))
        more, less = np.maximum(weights, 0), np.minimum(weights, 0)
        return np.asarray(more @ low + less @ high), np.asarray(more @ high + less @ low)

    def of_each(self, reports: Floats) -> Contributions:
        """How far one report can move the value of each code, which is the mean of so many reports."""
        low, high = (np.broadcast_to(self.values(np.asarray(end)), reports.shape) for end in (self.least, self.most))
        return Contributions(low, high, reports)
