"""Noisy binary search for a quantile, a minimum or a maximum, as published; `QuantileRounds` is more precise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil, log, log2, sqrt, tanh
from typing import Any

import numpy as np

from sottovoce.core.domain import Above, Integers, Interval
from sottovoce.core.domain.base import Domain
from sottovoce.core.params import check_decimal, check_epsilon, check_integer, decimal_text, reject
from sottovoce.core.question import Quantile
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.sources import sources_of
from sottovoce.protocols.quantile.answers import ThresholdAnswers, line_of
from sottovoce.protocols.quantile.evidence import ThresholdQuantiles
from sottovoce.protocols.quantile.placing import as_thresholds

OWNER = "a binary search"
MOST_ROUNDS = 64


@dataclass(frozen=True, eq=False)
class SearchedQuantile(ThresholdQuantiles):
    """The place at which a search ended; intervals are those of all its answers."""

    place: float = 0.0

    def values(self) -> Floats:
        return self._as_answers(np.array([self.place]))


@dataclass(frozen=True, slots=True)
class QuantileBinarySearch(Protocol):
    """Search a quantile by halving: each round asks about the middle of what is left, and keeps one half.

    A wrong turn is never undone. With `for_error` all turns are right, up to a share `error`, with a given probability
    (Hoeffding). With `minimum` and `maximum` the share is the smallest one that noise leaves visible.

    Reference: Cyphers, Veeramachaneni, "AnonML", DSAA 2017, for the median; Gaboardi, Rogers, Sheffet, "Locally private
    mean estimation: Z-test and tight confidence intervals", AISTATS 2019, for quantiles and the number of people;
    Fukuchi, Yu, Sakuma, "Locally differentially private minimum finding", 2022.
    """

    domain: Integers | Interval
    share: Any
    epsilon: Any
    participants: int
    rounds: int = 10

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.line is None:
            raise reject("domain", OWNER, "an Interval or Integers", self.domain)
        (share,) = Quantile(self.domain, (check_decimal("share", OWNER, self.share),)).shares
        rounds = check_integer("rounds", OWNER, self.rounds, 1, MOST_ROUNDS)
        people = check_integer("participants", OWNER, self.participants, rounds, 1 << 53)
        numbers = {"share": share, "epsilon": check_epsilon(OWNER, self.epsilon), "participants": people}
        for name, value in numbers.items():
            object.__setattr__(self, name, value)

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

    @property
    def question(self) -> Quantile:
        return Quantile(self.domain, (self.share,))

    def start(self) -> Round:
        low, high = line_of(self.domain)[0]
        middle = self._middle(low, high)
        if middle is None:
            raise reject("domain", OWNER, "a domain with answers between its ends", self.domain)
        return self._ask(middle, 0)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        rounds = tuple(ThresholdAnswers.of(self.domain, tallies) for tallies in history)
        low, high = line_of(self.domain)[0]
        for answers in rounds:
            middle = float(answers.thresholds[0])
            low, high = (low, middle) if answers.below[0] >= float(self.share) else (middle, high)
        middle_next = None if len(history) == self.rounds else self._middle(low, high)
        if middle_next is not None and not closing:
            return self._ask(middle_next, len(history))
        evidence = SearchedQuantile(rounds, self.question, (low + high) / 2)
        estimate = Estimate.of(self.question, evidence, sources_of(tally for (tally,) in history))
        estimate = replace(estimate, notes=("Each round kept one half; a wrong turn is not undone.",))
        if middle_next is None:
            return {"quantile": estimate}
        return partial({"quantile": estimate}, f"Closed early: {len(history)} of {self.rounds} rounds have reports.")

    def _middle(self, low: float, high: float) -> Decimal | None:
        """The threshold that halves a part of the line, if it holds two possible answers."""
        spacing = self.domain.spacing
        if spacing is not None and high - low < 1.5 * float(spacing):
            return None
        thresholds = as_thresholds(self.domain, [(low + high) / 2], np.array([low, high]))
        return thresholds[0] if thresholds and low < float(thresholds[0]) < high else None

    def _ask(self, threshold: Decimal, number: int) -> Round:
        rr = build("rr", Above(self.domain, threshold), epsilon=self.epsilon)
        quota = None if number == self.rounds - 1 else self.participants // self.rounds
        return Round((Arm(f"from {decimal_text(threshold)}", rr),), quota=quota)
