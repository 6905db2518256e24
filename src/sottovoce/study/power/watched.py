"""Power of e-values: how often one of 20 evenly spaced looks ends the study in time.

At a look the means of the reports are nearly normal. Let n readings have the standard deviation s. A bet of size b that
their mean is above m has the log-capital b n (mean - m) - b**2 n s**2 / 2. So the bets tell the z-score at which the
e-value reaches 1 / alpha. The z-scores of all looks are those of a Brownian motion with drift. The probability that
none of them reaches its bound is an integral over the score of each look.

Reference: Armitage, McPherson, Rowe, "Repeated significance tests on accumulating data", JRSS A 1969.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.mean.betting import Bets, Sides
from sottovoce.study.planners.base import Option, Planner, Request, Ways, question_planner
from sottovoce.study.power.test_of import TestOf, reach
from sottovoce.study.power.test_planner import TestPlanner

LOOKS = 20
COMMON_MEANS = np.linspace(0, 1, 33)[:, None]  # between those of both samples
FARTHEST = 16.0  # z-score, beyond which no bound is searched for
HALVINGS = 18
POINTS = 241  # of the integral over the score of a look


@dataclass(frozen=True, slots=True, eq=False)
class WatchedLaw:
    """How an e-value grows with the reports.

    Attributes:
        sides: The bets on a reading, for either side.
        deviation: The standard deviation of one reading.
        first: The share of the participants in the first sample; None for one sample and a stated number.
        alpha: The study ends when the e-value reaches 1 / alpha.
    """

    sides: Sides
    deviation: float
    first: float | None
    alpha: float

    def error(self, participants: Any) -> Any:
        """The standard error of the difference."""
        balance = 1.0 if self.first is None else math.sqrt(self.first * (1 - self.first))
        return self.deviation / balance / np.sqrt(participants)

    def power(self, score: float, participants: int) -> float:
        """The probability that a look reaches 1 / alpha, if the difference is so many standard errors of the end."""
        scores, masses = self._unseen(participants)
        return 1 - float(masses @ np.exp(score * scores - score**2 / 2))

    def score_for(self, power: float, participants: int) -> float:
        """The difference that is seen with a power, in standard errors of the end."""
        scores, masses = self._unseen(participants)

        def excess(score: float) -> float:
            return 1 - float(masses @ np.exp(score * scores - score**2 / 2)) - power

        return float(brentq(excess, 0.0, 2 * FARTHEST, xtol=1e-6))

    def _unseen(self, participants: int) -> tuple[Floats, Floats]:
        """Scores at the end of studies in which no look reached 1 / alpha, with their probabilities without drift."""
        times = np.arange(1, LOOKS + 1) / LOOKS
        bounds = self.bounds(participants * times) * np.sqrt(times)
        spread = 1 / math.sqrt(LOOKS)
        scores, masses = np.zeros(1), np.ones(1)
        for bound in bounds:
            after = np.linspace(-bound, bound, POINTS)
            weights = np.full(POINTS, after[1] - after[0]) / (spread * math.sqrt(2 * math.pi))
            weights[[0, -1]] /= 2
            masses = weights * (np.exp(-(((after[:, None] - scores) / spread) ** 2) / 2) @ masses)
            scores = after
        return scores, masses

    def bounds(self, people: Floats) -> Floats:
        """The z-score at which the e-value reaches 1 / alpha, for each number of participants."""
        low, high = np.zeros(len(people)), np.full(len(people), FARTHEST)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            reached = self.log_e_values(middle * self.error(people), people) >= -math.log(self.alpha)
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high

    def log_e_values(self, differences: Floats, people: Floats) -> Floats:
        """The logarithms of the e-values at some differences, for each number of participants."""
        up, down = self.sides.up, self.sides.down
        if self.first is None:
            rising, falling = self._capital(up, differences, people), self._capital(down, -differences, people)
            return np.asarray(np.logaddexp(rising, falling) - math.log(2))
        counts = self.first * people, (1 - self.first) * people
        above, below = COMMON_MEANS * differences, (1 - COMMON_MEANS) * differences
        rising = self._capital(up, above, counts[0]) + self._capital(down, below, counts[1])
        falling = self._capital(down, -above, counts[0]) + self._capital(up, -below, counts[1])
        return np.asarray(np.logaddexp(rising, falling).min(axis=0) - math.log(2))

    def _capital(self, bets: Bets, excess: Floats, counts: Floats) -> Floats:
        """The mixed log-capital of bets on readings whose mean exceeds a number by so much."""
        sizes = bets.sizes.reshape(-1, *[1] * excess.ndim)
        logs = counts * (sizes * excess - sizes**2 * self.deviation**2 / 2)
        largest = logs.max(axis=0)
        return np.asarray(largest + np.log(np.tensordot(bets.weights, np.exp(logs - largest), 1)))


@dataclass(frozen=True, slots=True)
class WatchedWays(Ways):
    """Options of the question, with the errors at which a normal test of one look has the power of the e-value."""

    ways: Ways
    planner: WatchedPlanner

    def options(self, participants: int) -> tuple[Option, ...]:
        options = self.ways.options(participants)
        options = tuple(one for one in options if isinstance(one.procedure, Mechanism) and bets_of(one.mechanism))
        if not options:
            raise ParameterError("No method for this question has a test that may be watched.")
        factor = self.planner.score(options[0], participants) / self.planner.usual
        return tuple(replace(one, std_error=factor * one.std_error) for one in options)

    def least(self, participants: int) -> float:
        return self.options(participants)[0].std_error


@dataclass(frozen=True, slots=True)
class WatchedPlanner(TestPlanner):
    """Methods of a question, for a difference that is watched."""

    test: TestOf
    question: Planner
    power: float
    level: float

    @property
    def subject(self) -> str:
        return f"Watched test: {self.question.subject}"

    @property
    def measure(self) -> str:
        return self.question.measure

    @property
    def usual(self) -> float:
        """The difference that a test of one look sees, in standard errors."""
        return reach(self.test, self.power, self.level)

    def ways(self, epsilon: Decimal) -> WatchedWays:
        return WatchedWays(self.question.ways(epsilon), self)

    def score(self, option: Option, participants: int) -> float:
        """The difference that the e-value sees, in standard errors of all reports."""
        law = self._law(option.mechanism, option.std_error * math.sqrt(participants))
        return law.score_for(self.power, participants)

    def power_of(self, option: Option, difference: float, participants: int) -> float:
        options = self.question.ways(option.mechanism.claimed).options(participants)
        error = next(one.std_error for one in options if one.procedure == option.mechanism)
        law = self._law(option.mechanism, error * math.sqrt(participants))
        return law.power(difference / float(law.error(participants)), participants)

    def _law(self, mechanism: Mechanism, deviation: float) -> WatchedLaw:
        sides = bets_of(mechanism)
        if sides is None:
            raise AssertionError("Options without such bets were left out.")
        first = self.test.first if self.test.samples == 2 else None
        return WatchedLaw(sides, deviation, first, 1 - self.test.level(self.level))


@lru_cache(maxsize=64)
def bets_of(mechanism: Mechanism) -> Sides | None:
    """The bets on the readings of a mechanism; None where it has none that hold at all times."""
    domain: Any = mechanism.domain
    if domain.size is None and domain.numbers is None:
        return None
    answer = domain.labels()[0] if domain.size is not None else domain.numbers[0]
    try:
        evidence = mechanism.estimate(mechanism.tally(mechanism.privatize([answer] * 2, seed=0))).evidence
        return next(iter(evidence.watched()))
    except SottovoceError:
        return None


def watched_planner(test: TestOf, request: Request, power: float) -> WatchedPlanner:
    """The planner of the question, for e-values."""
    return WatchedPlanner(test, question_planner(request), power, request.level)
