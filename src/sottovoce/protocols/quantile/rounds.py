"""Quantiles in a few rounds: first anywhere, then closer and closer around each quantile."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.core.domain import Above, Integers, Interval
from sottovoce.core.domain.base import Domain
from sottovoce.core.params import check_epsilon, check_integer, decimal_text, reject
from sottovoce.core.question import Quantile
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial, reports_of
from sottovoce.core.spec_cost import ARM_EFFORT, ROUNDS_EFFORT
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.sources import sources_of
from sottovoce.protocols.quantile.answers import ThresholdAnswers, line_of
from sottovoce.protocols.quantile.evidence import ThresholdQuantiles
from sottovoce.protocols.quantile.placing import MOST, MOST_FIRST, RoundSize, as_thresholds, first_places, next_places

OWNER = "a search for quantiles"
MOST_ROUNDS = 8
MOST_QUANTILES = 9
WEIGHT = 1 << 12  # of all thresholds of one quantile
# The first round has this many times the root of all participants, counted in variances of one answer, within limits.
FIRST_ROUND, LEAST_FIRST, MOST_FIRST_SHARE = 30.0, 0.05, 0.15
GROWTH = (1.0, 1.0, 2.0, 5.0)  # of the rounds before the last, in first rounds
BEFORE_LAST = 0.7  # at most this share is asked before the last round


@dataclass(frozen=True, slots=True)
class QuantileRounds(Protocol):
    """Estimate quantiles in rounds; each participant says on which side of one threshold their answer lies.

    The first round asks about thresholds all over the range. Later rounds ask closer and closer around each quantile:
    a curve through all answers so far says where. Everyone answers once, with one bit and the whole budget.

    Args:
        domain: The range of the answers, `Interval` or `Integers`.
        shares: The shares, each between 0 and 1; 0.5 is the median. All are searched in the same rounds.
        epsilon: The privacy budget of one participant.
        participants: How many people are expected, for all rounds together.
        rounds: How many rounds there are, from 2 to 8.
        takes_rest: Whether the last round asks everyone who is left, also beyond the number that is expected.

    Returns:
        A protocol for `simulate`, with the estimate "quantile". Its intervals have two methods: "likelihood", and
        "anytime", which holds after every round at once, however one decides to stop. Both hold for any distribution.

    Examples:
        >>> protocol = sv.QuantileRounds(sv.Interval(0, 100), ["0.5"], epsilon=1, participants=8000)
        >>> estimates = sv.simulate(protocol, [20, 30, 40, 60, 70] * 1600, seed=1)
        >>> abs(estimates["quantile"].value - 40) < 1
        True

    See also:
        `Quantile` in one round, from a distribution.
    """

    domain: Integers | Interval
    shares: Any
    epsilon: Any
    participants: int
    rounds: int = 5
    takes_rest: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.line is None:
            raise reject("domain", OWNER, "an Interval or Integers", self.domain)
        shares = Quantile(self.domain, self.shares).shares
        if len(shares) > MOST_QUANTILES or len(set(shares)) < len(shares):
            raise reject("shares", OWNER, f"at most {MOST_QUANTILES} different shares", self.shares)
        fewest = self.least_participants(len(shares))
        numbers = {
            "shares": tuple(sorted(shares)),
            "epsilon": check_epsilon(OWNER, self.epsilon),
            "participants": check_integer("participants", OWNER, self.participants, fewest, 1 << 53),
            "rounds": check_integer("rounds", OWNER, self.rounds, 2, MOST_ROUNDS),
        }
        for name, value in numbers.items():
            object.__setattr__(self, name, value)
        if not self._first_thresholds():
            raise reject("domain", OWNER, "a domain with answers between its ends", self.domain)

    @staticmethod
    def least_participants(quantiles: int) -> int:
        """How many people a search for so many quantiles needs at least."""
        return 100 * quantiles

    @property
    def question(self) -> Quantile:
        return Quantile(self.domain, self.shares)

    def effort(self) -> int:
        arms = MOST_FIRST + self.rounds * (MOST + 6) * len(self.shares)
        return 4 * ROUNDS_EFFORT * self.rounds + ARM_EFFORT * arms

    # --- how many ------------------------------------------------------------------------------------------------
    @property
    def variance(self) -> float:
        """Variance of the share below a threshold at the middle quantile, as estimated from one answer."""
        rr = float(np.exp(float(self.epsilon)))
        middle = min((float(share) for share in self.shares), key=lambda share: abs(share - 0.5))
        return middle * (1 - middle) + rr / (rr - 1) ** 2

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many are expected in each round."""
        per_quantile = self.participants / len(self.shares)
        first = min(MOST_FIRST_SHARE, max(LEAST_FIRST, FIRST_ROUND * float(np.sqrt(self.variance / per_quantile))))
        growth = np.interp(np.linspace(0, 1, self.rounds - 1), np.linspace(0, 1, len(GROWTH)), GROWTH)
        before = first * growth * (len(GROWTH) / len(growth)) ** 0.5
        before *= min(1.0, BEFORE_LAST / before.sum())
        sizes = [max(1, int(part * self.participants)) for part in before]
        return (*sizes, self.participants - sum(sizes))

    # --- rounds --------------------------------------------------------------------------------------------------
    def start(self) -> Round:
        return self._ask([self._first_thresholds()], 0)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        done = len(history)
        if not closing and done < self.rounds:
            return _next_round(self, tuple(history))
        estimate = Estimate.of(self.question, self.evidence(history), sources_of(t for one in history for t in one))
        if done == self.rounds:
            return {"quantile": estimate}
        asked = sum(map(reports_of, history))
        return partial(
            {"quantile": estimate},
            f"Closed early: {asked} reports of {done} of {self.rounds} rounds were counted.",
        )

    def evidence(self, history: History) -> ThresholdQuantiles:
        """What all answers say about the quantiles."""
        rounds = tuple(ThresholdAnswers.of(self.domain, tallies) for tallies in history)
        return ThresholdQuantiles(rounds, self.question)

    def next_round(self, history: History) -> Round:
        """The round after these."""
        curve, done = self.evidence(history).curve, len(history)
        people, everyone = (count / len(self.shares) for count in (self.sizes[done], self.participants))
        size = RoundSize(people, everyone, done == self.rounds - 1)
        known = curve.places[1:-1]
        places_by_share = [next_places(curve, float(share), size) for share in self.shares]
        return self._ask([as_thresholds(self.domain, places, known) for places in places_by_share], done)

    def _first_thresholds(self) -> list[Decimal]:
        ends, _ = line_of(self.domain)
        return as_thresholds(self.domain, first_places(ends, self.sizes[0], self.variance), np.empty(0))

    def _ask(self, thresholds: list[list[Decimal]], number: int) -> Round:
        """A round in which each quantile has the same share of the participants."""
        weights: dict[Decimal, int] = {}
        for one in thresholds:
            for place in one:
                weights[place] = weights.get(place, 0) + max(1, WEIGHT // len(one))
        arms = (
            Arm(f"from {decimal_text(place)}", build("rr", Above(self.domain, place), epsilon=self.epsilon), weight)
            for place, weight in sorted(weights.items())
        )
        is_open = self.takes_rest and number == self.rounds - 1
        return Round(tuple(arms), quota=None if is_open else self.sizes[number])


@lru_cache(maxsize=16)
def _next_round(protocol: QuantileRounds, history: tuple[Any, ...]) -> Round:
    """The next round, cached: collectors ask for it often, and the curve takes milliseconds."""
    return protocol.next_round(history)
