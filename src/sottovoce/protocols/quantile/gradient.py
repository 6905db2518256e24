"""Stochastic gradient steps to a median or another quantile, as published, in batches of any size."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import numpy as np

from sottovoce.estimate.evidence import Floats
from sottovoce.protocols.quantile.answers import ThresholdAnswers, line_of
from sottovoce.protocols.quantile.one_threshold import OneThresholdSearch


@dataclass(frozen=True, slots=True)
class QuantileGradient(OneThresholdSearch):
    """Search a quantile by gradient steps: each round asks about the current place, which then moves.

    The gradient of the quantile's loss is the share below the place minus the share asked for. Step k has the length
    R / (2 G sqrt(k)) for a range of length R, where G squared bounds the mean square of the estimated gradient. The
    estimate is the mean of all places. One person in each round is the published method; more in a round are a
    mini-batch, with fewer and longer steps.

    Reference: Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation", JASA 2018.
    """

    owner: ClassVar[str] = "a gradient search"
    most_rounds: ClassVar[int] = 1000
    note: ClassVar[str] = "The estimate is the mean of all places of a stochastic gradient search."
    rounds: int = 100

    def next_threshold(self, rounds: tuple[ThresholdAnswers, ...]) -> Decimal | None:
        if self.domain.points == 1:
            return None
        return self.near(float(self._places(rounds)[-1]))

    def place(self, rounds: tuple[ThresholdAnswers, ...]) -> float:
        return float(self._places(rounds).mean())

    def _places(self, rounds: tuple[ThresholdAnswers, ...]) -> Floats:
        """The places of all steps, from the middle of the range."""
        (low, high), _ = line_of(self.domain)
        places, level = [(low + high) / 2], float(self.share)
        for number, answers in enumerate(rounds, start=1):
            noise = float(answers.variance(level)) / float(answers.asked[0])
            bound = float(np.sqrt(noise + max(level, 1 - level) ** 2))
            step = (high - low) / (2 * bound * np.sqrt(number))
            places.append(float(np.clip(places[-1] - step * (float(answers.below[0]) - level), low, high)))
        return np.array(places)
