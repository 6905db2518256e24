"""Counted answers to "are you at or above this threshold?", and the line on which thresholds lie."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Integers, Interval
from sottovoce.estimate.evidence import Floats
from sottovoce.protocols.ranges.bits import threshold_of
from sottovoce.tally.tally import Tally


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdAnswers:
    """How many were asked about each threshold, in rising order, and how many reported to be at or above it.

    Possible answers with a spacing fill the part of the line from themselves to the next one, so that all of an answer
    lies above a threshold at it. `ends` are the smallest answer, and a place above all answers.
    """

    thresholds: Floats
    asked: Floats
    yes: Floats
    own: float  # how likely a yes is reported by those at or above, and by those below
    other: float
    ends: tuple[float, float]
    spacing: float | None

    @classmethod
    def of(cls, domain: Integers | Interval, tallies: Iterable[Tally]) -> ThresholdAnswers:
        """The answers of one round with reports."""
        counted = [tally for tally in tallies if tally.n]
        rates: Any = rates_of(counted[0].mechanism.channel)
        rows = np.array([(float(threshold_of(tally)), tally.n, int(tally.cells[1])) for tally in counted], float)
        places, asked, yes = rows[np.argsort(rows[:, 0])].T
        return cls(places, asked, yes, float(rates.own), float(rates.other), *line_of(domain))

    @classmethod
    def together(cls, parts: Sequence[ThresholdAnswers]) -> ThresholdAnswers:
        """The answers of several rounds; those about the same threshold are added."""
        places, entry = np.unique(np.concatenate([part.thresholds for part in parts]), return_inverse=True)
        asked, yes = np.zeros(len(places)), np.zeros(len(places))
        np.add.at(asked, entry, np.concatenate([part.asked for part in parts]))
        np.add.at(yes, entry, np.concatenate([part.yes for part in parts]))
        return replace(parts[0], thresholds=places, asked=asked, yes=yes)

    @property
    def n(self) -> int:
        """How many were asked."""
        return int(self.asked.sum())

    @property
    def below(self) -> Floats:
        """Unbiased estimates of the share of answers below each threshold."""
        return np.asarray(1 - (self.yes / self.asked - self.other) / (self.own - self.other))

    def yes_rate(self, below: Floats | float) -> Floats:
        """How likely a yes is where this share of all answers lies below the threshold."""
        return np.asarray(self.other + (self.own - self.other) * (1 - np.asarray(below)))

    def variance(self, below: Floats | float) -> Floats:
        """Variance of the share below a threshold as estimated from one answer."""
        rate = self.yes_rate(below)
        return np.asarray(rate * (1 - rate) / (self.own - self.other) ** 2)


def line_of(domain: Integers | Interval) -> tuple[tuple[float, float], float | None]:
    """The ends between which thresholds lie, and the spacing of possible answers."""
    spacing = None if domain.spacing is None else float(domain.spacing)
    return (float(domain.low), float(domain.high) + (spacing or 0.0)), spacing
