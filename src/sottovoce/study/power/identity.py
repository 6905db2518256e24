"""Power of the identity test: a weighted sum of squares, whose weights are variances of directions of the shares.

A difference of root mean square D, in a direction that is not known beforehand, spreads n k D**2 evenly over all
contrasts of k shares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from scipy.optimize import brentq

from sottovoce.core.errors import NoCovarianceError, ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.comparison.chi_square import MOST_VALUES
from sottovoce.estimate.comparison.identity import directions, squares_tail
from sottovoce.estimate.comparison.null_law import covariance_at
from sottovoce.estimate.evidence import Floats
from sottovoce.study.planners.base import OWNER, Option, Request, no_method
from sottovoce.study.planners.frequency import expected_shares
from sottovoce.study.power.overall import ORACLES
from sottovoce.study.power.test_of import TestOf, reach
from sottovoce.study.power.test_planner import Contender, SeenWays, TestPlanner, falls_with_root


@dataclass(frozen=True, slots=True)
class IdentityPlanner(TestPlanner):
    """Oracles by the smallest difference from stated shares that the identity test sees."""

    measure: ClassVar[str] = "a difference from stated shares that the identity test sees"

    test: TestOf
    stated: Floats
    methods: tuple[str, ...]
    power: float
    level: float

    @property
    def subject(self) -> str:
        return f"Identity of the shares of {len(self.stated)} categories"

    def ways(self, epsilon: Decimal) -> SeenWays:
        candidates = tuple(self._candidates(epsilon))
        if not candidates:
            raise no_method(epsilon, self.methods)
        return SeenWays(candidates, self.test.balance / reach(self.test, self.power, self.level))

    def power_of(self, option: Option, difference: float, participants: int) -> float:
        return _SquaredDistance(option.mechanism, self.stated, self.level).power(participants * difference**2)

    def _candidates(self, epsilon: Decimal) -> Iterator[Contender]:
        for name in self.methods:
            try:
                mechanism = build(name, self.test.question.domain, epsilon=epsilon)
                squares = _SquaredDistance(mechanism, self.stated, self.level).needed(self.power)
            except (ParameterError, NoCovarianceError):
                continue
            yield falls_with_root(name, mechanism, math.sqrt(squares))


class _SquaredDistance:
    """The law of the statistic at stated shares, and when these are missed."""

    def __init__(self, mechanism: Mechanism, stated: Floats, level: float) -> None:
        self.weights, vectors = directions(covariance_at(mechanism, stated))
        size = len(stated)
        self.parts = (size - vectors.sum(axis=0) ** 2) / (size - 1)  # of the squared difference, on average
        most = float(self.weights.sum() + 40 * self.weights.max())
        while squares_tail(self.weights, most) > 1 - level:
            most *= 2
        mean = float(self.weights.sum())
        self.critical = brentq(lambda x: squares_tail(self.weights, x) - (1 - level), mean / 2, most, rtol=1e-9)

    def power(self, squares: float) -> float:
        """The power where participants times the mean squared difference of a share is this number."""
        return squares_tail(self.weights, self.critical, squares * self.parts / self.weights)

    def needed(self, power: float) -> float:
        """The number for which the test has this power."""
        most = self.critical
        while self.power(most) < power:
            most *= 2
        return float(brentq(lambda squares: self.power(squares) - power, 0.0, most, rtol=1e-9))


def identity_planner(test: TestOf, request: Request, power: float) -> IdentityPlanner:
    """Checks the request; its prior is the stated shares, equal ones by default."""
    request.refuse_mechanism()
    size = test.question.domain.size
    if size is None or not 2 <= size <= MOST_VALUES:
        raise reject("question", OWNER, f"about 2 to {MOST_VALUES} answers", test.question.domain)
    stated = expected_shares(request.prior, size)
    return IdentityPlanner(test, stated, tuple(request.listed(ORACLES)), power, request.level)
