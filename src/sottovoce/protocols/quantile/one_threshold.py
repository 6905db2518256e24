"""Searches that ask everyone of a round about one threshold: what halving, Bayes and gradient steps share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain import Above, Integers, Interval
from sottovoce.core.domain.base import Domain
from sottovoce.core.params import check_decimal, check_epsilon, check_integer, decimal_text, reject
from sottovoce.core.question import Quantile
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.core.spec_cost import ROUNDS_EFFORT
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.sources import sources_of
from sottovoce.protocols.quantile.answers import ThresholdAnswers, line_of
from sottovoce.protocols.quantile.evidence import ThresholdQuantiles
from sottovoce.protocols.ranges.bits import inside, short

FINE = 1e-6  # of the range: how far a threshold of few digits may be from its place


@dataclass(frozen=True, eq=False)
class SearchedQuantile(ThresholdQuantiles):
    """The place at which a search ended; intervals are those of all its answers."""

    place: float = 0.0

    def values(self) -> Floats:
        return self._as_answers(np.array([self.place]))


@dataclass(frozen=True, slots=True)
class OneThresholdSearch(Protocol):
    """A search for one quantile whose rounds have one threshold each."""

    owner: ClassVar[str] = "a search for a quantile"
    most_rounds: ClassVar[int] = 64
    note: ClassVar[str] = ""  # what every estimate says about the search
    domain: Integers | Interval
    share: Any
    epsilon: Any
    participants: int
    rounds: int = 10

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.line is None:
            raise reject("domain", self.owner, "an Interval or Integers", self.domain)
        (share,) = Quantile(self.domain, (check_decimal("share", self.owner, self.share),)).shares
        rounds = check_integer("rounds", self.owner, self.rounds, 1, self.most_rounds)
        people = check_integer("participants", self.owner, self.participants, rounds, 1 << 53)
        numbers = {"share": share, "epsilon": check_epsilon(self.owner, self.epsilon), "participants": people}
        for name, value in numbers.items():
            object.__setattr__(self, name, value)

    @abstractmethod
    def next_threshold(self, rounds: tuple[ThresholdAnswers, ...]) -> Decimal | None:
        """The threshold of the next round; None where nothing is left to ask."""

    @abstractmethod
    def place(self, rounds: tuple[ThresholdAnswers, ...]) -> float:
        """Where the quantile is after these rounds."""

    @property
    def question(self) -> Quantile:
        return Quantile(self.domain, (self.share,))

    def effort(self) -> int:
        return ROUNDS_EFFORT * self.rounds

    def people(self, number: int) -> int:
        """How many are asked in a round."""
        return self.participants // self.rounds

    def start(self) -> Round:
        first = self.next_threshold(())
        if first is None:
            raise reject("domain", self.owner, "a domain with answers between its ends", self.domain)
        return self._ask(first, 0)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        rounds = tuple(ThresholdAnswers.of(self.domain, tallies) for tallies in history)
        threshold = None if len(rounds) == self.rounds else self.next_threshold(rounds)
        if threshold is not None and not closing:
            return self._ask(threshold, len(rounds))
        evidence = SearchedQuantile(rounds, self.question, self.place(rounds))
        estimate = Estimate.of(self.question, evidence, sources_of(tally for (tally,) in history))
        estimate = replace(estimate, notes=(self.note,))
        if threshold is None:
            return {"quantile": estimate}
        return partial({"quantile": estimate}, f"Closed early: {len(rounds)} of {self.rounds} rounds have reports.")

    def near(self, place: float) -> Decimal:
        """A threshold of few digits at a place: a possible answer where answers have a spacing."""
        (low, high), spacing = line_of(self.domain)
        if spacing is not None:
            steps = round((place - low) / spacing)
            wanted = Decimal(self.domain.low) + steps * Decimal(str(self.domain.spacing))
            least, most = Decimal(self.domain.low) + Decimal(str(self.domain.spacing)), Decimal(self.domain.high)
            return min(max(wanted, least), most)
        kept = min(max(place, low + FINE * (high - low)), high - FINE * (high - low))
        return inside(self.domain, [short(kept, FINE * (high - low))])[0]

    def _ask(self, threshold: Decimal, number: int) -> Round:
        rr = build("rr", Above(self.domain, threshold), epsilon=self.epsilon)
        quota = None if number == self.rounds - 1 else self.people(number)
        return Round((Arm(f"from {decimal_text(threshold)}", rr),), quota=quota)
