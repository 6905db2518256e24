"""Noisy binary search for a quantile, a minimum or a maximum, as published; `QuantileRounds` is more precise."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil, log, log2, sqrt, tanh
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain import Integers, Interval
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.protocols.quantile.answers import ThresholdAnswers, line_of
from sottovoce.protocols.quantile.one_threshold import OneThresholdSearch
from sottovoce.protocols.quantile.placing import as_thresholds

OWNER = "a binary search"
MOST_ROUNDS = 64


@dataclass(frozen=True, slots=True)
class QuantileBinarySearch(OneThresholdSearch):
    """Search a quantile by halving: each round asks about the middle of what is left, and keeps one half.

    A wrong turn is never undone. With `for_error` all turns are right, up to a share `error`, with a given probability
    (Hoeffding). With `minimum` the share is the smallest one that noise leaves visible.

    Reference: Cyphers, Veeramachaneni, "AnonML", DSAA 2017, for the median; Gaboardi, Rogers, Sheffet, "Locally private
    mean estimation: Z-test and tight confidence intervals", AISTATS 2019, for quantiles and the number of people;
    Fukuchi, Yu, Sakuma, "Locally differentially private minimum finding", 2022.
    """

    owner: ClassVar[str] = OWNER
    note: ClassVar[str] = "Each round kept one half; a wrong turn is not undone."

    @classmethod
    def for_error(
        cls, domain: Integers | Interval, share: Any, epsilon: Any, error: float, *, parts: int, level: float = 0.95
    ) -> QuantileBinarySearch:
        """The search whose share is off by at most `error`, up to one of `parts` equal parts of the domain."""
        if not 0 < error < 1:
            raise reject("error", OWNER, "a share in (0, 1)", error)
        rounds = max(1, ceil(log2(check_integer("parts", OWNER, parts, 2, 1 << MOST_ROUNDS))))
        worth = tanh(float(check_epsilon(OWNER, epsilon)) / 2) ** 2
        people = ceil(log(2 * rounds / (1 - level)) / (2 * worth * error**2))
        return cls(domain, share, epsilon, rounds * people, rounds)

    @classmethod
    def minimum(
        cls, domain: Integers | Interval, epsilon: Any, participants: int, rounds: int = 10, *, largest: bool = False
    ) -> QuantileBinarySearch:
        """The search for a minimum, or the largest answer: the quantile of the smallest visible share.

        No private method finds a minimum that few people hold. So this is the value below which about `share` lie.
        """
        visible = cls.visible_share(epsilon, participants, rounds)
        text = Decimal(f"{1 - visible if largest else visible:.6f}")
        return cls(domain, text, epsilon, participants, rounds)

    @staticmethod
    def visible_share(epsilon: Any, participants: int, rounds: int, level: float = 0.95) -> float:
        """The smallest share that all rounds tell from zero with a given probability."""
        worth = tanh(float(check_epsilon(OWNER, epsilon)) / 2) ** 2
        share = sqrt(log(2 * rounds / (1 - level)) * rounds / (2 * worth * participants))
        if share >= 0.5:
            raise reject("participants", OWNER, "enough people to tell a share of one half from zero", participants)
        return share

    def next_threshold(self, rounds: tuple[ThresholdAnswers, ...]) -> Decimal | None:
        return self._middle(*self._left(rounds))

    def place(self, rounds: tuple[ThresholdAnswers, ...]) -> float:
        low, high = self._left(rounds)
        return (low + high) / 2

    def _left(self, rounds: tuple[ThresholdAnswers, ...]) -> tuple[float, float]:
        """The ends of the part that all rounds kept."""
        low, high = line_of(self.domain)[0]
        for answers in rounds:
            middle = float(answers.thresholds[0])
            low, high = (low, middle) if answers.below[0] >= float(self.share) else (middle, high)
        return low, high

    def _middle(self, low: float, high: float) -> Decimal | None:
        """The threshold that halves a part of the line, if it holds two possible answers."""
        spacing = self.domain.spacing
        if spacing is not None and high - low < 1.5 * float(spacing):
            return None
        thresholds = as_thresholds(self.domain, [(low + high) / 2], np.array([low, high]))
        return thresholds[0] if thresholds and low < float(thresholds[0]) < high else None
