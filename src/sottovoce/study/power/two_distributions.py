"""Power of the likelihood ratio of two stated distributions, by the exact mean and variance of a report.

The difference is the total variation distance from the stated shares, on the straight way to the other distribution:
half of it means that the answers are an even mixture of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import brentq

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.comparison.chi_square import MOST_VALUES
from sottovoce.estimate.comparison.simple_hypotheses import likelihood_ratio_power
from sottovoce.estimate.evidence import Floats
from sottovoce.study.planners.base import OWNER, Option, Request, no_method
from sottovoce.study.planners.frequency import expected_shares
from sottovoce.study.power.test_of import TestOf, reach
from sottovoce.study.power.test_planner import Contender, SeenWays, TestPlanner

ONE_BIT = "one-bit"
METHODS = (ONE_BIT, "grr", "hadamard")  # they count each report that can be sent


@dataclass(frozen=True, slots=True)
class TwoDistributionsPlanner(TestPlanner):
    """Mechanisms by the smallest distance from stated shares that the likelihood ratio sees."""

    measure: ClassVar[str] = "a distance from stated shares, in one direction, that the likelihood ratio sees"

    test: TestOf
    stated: Floats
    direction: Floats  # from the stated shares, to a total variation distance of one
    methods: tuple[str, ...]
    power: float
    level: float

    @property
    def subject(self) -> str:
        size = self.test.question.domain.size
        return f"Two stated distributions of {size} categories"

    @property
    def most(self) -> float:
        """The distance at which the first share would become negative."""
        falling = self.direction < 0
        return float((self.stated[falling] / -self.direction[falling]).min())

    def ways(self, epsilon: Decimal) -> SeenWays:
        scale, candidates = self.test.balance / self.reached, tuple(self._candidates(epsilon))
        if candidates:
            return SeenWays(candidates, scale)
        raise no_method(epsilon, self.methods)

    @property
    def reached(self) -> float:
        """The standard errors that a normal test of one difference needs for the same power."""
        return reach(self.test, self.power, self.level)

    def power_of(self, option: Option, difference: float, participants: int) -> float:
        return self._power(option.mechanism, difference, participants)

    def _power(self, mechanism: Mechanism, difference: float, participants: int) -> float:
        other = np.maximum(self.stated + min(difference, self.most) * self.direction, 0)
        return likelihood_ratio_power(mechanism, self.stated, other, participants, self.level)

    def _candidates(self, epsilon: Decimal) -> Iterator[Contender]:
        for name in self.methods:
            try:
                mechanism = self._built(name, epsilon)
            except ParameterError:
                continue
            yield Contender(name, mechanism, self._smallest(mechanism))

    def _built(self, name: str, epsilon: Decimal) -> Mechanism:
        domain = self.test.question.domain
        if name != ONE_BIT:
            return build(name, domain, epsilon=epsilon)
        other = np.maximum(self.stated + self.most * self.direction, 0)
        return build(name, domain, epsilon=epsilon, shares=self.stated, other=other / other.sum())

    def _smallest(self, mechanism: Mechanism) -> Any:
        def difference(participants: int) -> float:
            def missing(size: float) -> float:
                return self._power(mechanism, size, participants) - self.power

            return math.inf if missing(self.most) < 0 else float(brentq(missing, 1e-9 * self.most, self.most))

        return difference


def two_distributions_planner(test: TestOf, request: Request, power: float) -> TwoDistributionsPlanner:
    """Checks the request; its prior is the first distribution, equal shares by default."""
    request.refuse_mechanism()
    size = test.question.domain.size
    if size is None or not 2 <= size <= MOST_VALUES:
        raise reject("question", OWNER, f"about 2 to {MOST_VALUES} answers", test.question.domain)
    stated, other = expected_shares(request.prior, size), expected_shares(test.other, size)
    distance = float(np.abs(other - stated).sum() / 2)
    if distance == 0:
        raise ParameterError(
            "The two stated distributions are the same: no report tells them apart.", parameter="other"
        )
    direction = (other - stated) / distance
    return TwoDistributionsPlanner(test, stated, direction, tuple(request.listed(METHODS)), power, request.level)
