"""Shares that are means of one number of each report for each code."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.estimate.evidence import Contributions, Floats
from sottovoce.estimate.frequency.combine import SharesOfTally
from sottovoce.estimate.reading import CodeReading, Curve
from sottovoce.estimate.request import Target


class ReadSharesEvidence(SharesOfTally):
    """Shares that are means of one number of each report for each code: bits, bins or signs (`CodeReading`)."""

    n: int
    __slots__ = ()
    reach_of = delegated("reading.reach")

    @property
    @abstractmethod
    def reading(self) -> CodeReading:
        """How the number of a report is read as a score."""

    @property
    @abstractmethod
    def means(self) -> Floats:
        """The mean of the number of each code."""

    @property
    def reports(self) -> Any:
        """How many reports each mean is over: a number, or one for each code."""
        return np.asarray(self.n, float)

    def drawn(self, target: Target) -> Any:
        """The part of the spread between holders and others that counts for a target."""
        return 1.0 if target == Target.POPULATION else 0.0

    def values(self) -> Floats:
        return self.reading.values(self.means)

    def curve(self, target: Target) -> Curve:
        return self.reading.curve(self.drawn(target)).over(self.reports)

    def variances(self, target: Target) -> Floats:
        # Where holders always support a code the variance at a share of one is zero; rounding must not make it less.
        return np.asarray(np.maximum(self.curve(target).at(np.clip(self.values(), 0, 1)), 0.0))

    def null_errors(self) -> Floats:
        return np.asarray(np.sqrt(np.broadcast_to(self.curve(Target.POPULATION).free, self.means.shape)))

    def contributions(self) -> Contributions | None:
        return self.reading.of_each(np.broadcast_to(self.reports, self.means.shape))
