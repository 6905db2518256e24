"""Power of the test that private groups have one mean."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np

from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.group_mean.contrasts import mean_covariances
from sottovoce.estimate.group_mean.truth import Crowd
from sottovoce.estimate.request import Target
from sottovoce.study.planners.base import Option, Request, RootWays
from sottovoce.study.planners.group_mean import GroupPlanner
from sottovoce.study.planners.group_mean import planner as group_planner
from sottovoce.study.power.overall import chi_square_power, strength_for
from sottovoce.study.power.test_of import TestOf, reach
from sottovoce.study.power.test_planner import TestPlanner


@dataclass(frozen=True, slots=True)
class GroupsTestPlanner(TestPlanner):
    """Methods for means of groups, by the difference of the first group that a test of equal means sees."""

    measure: ClassVar[str] = "the difference of the first group from the others that a test of equal means sees"

    test: TestOf
    means: GroupPlanner
    power: float
    level: float

    @property
    def subject(self) -> str:
        return f"Equality of the means of {len(self.means.crowd.shares)} groups"

    def ways(self, epsilon: Decimal) -> RootWays:
        needed = math.sqrt(strength_for(self.power, self.test.degrees, self.level)) / reach(
            self.test, self.power, self.level
        )
        options = [
            replace(one, std_error=needed / math.sqrt(strength(one.mechanism, self.means.crowd)))
            for one in self.means.ways(epsilon).per_participant
        ]
        options.sort(key=lambda one: one.std_error)
        return RootWays(tuple(options), options[0].std_error)

    def power_of(self, option: Option, difference: float, participants: int) -> float:
        noncentrality = participants * difference**2 * strength(option.mechanism, self.means.crowd)
        return chi_square_power(noncentrality, self.test.degrees, self.level)


def strength(mechanism: Mechanism, crowd: Crowd) -> float:
    """The non-centrality of the test of equal means from one report, where the first mean is one above the others."""
    totals = crowd.totals(mechanism, 1.0)
    groups = np.arange(len(crowd.shares))
    spread = mean_covariances(totals, totals.covariance(Target.POPULATION), groups[:, None], groups[None, :])
    contrasts = np.hstack([np.ones((len(groups) - 1, 1)), -np.eye(len(groups) - 1)])
    gaps = contrasts[:, 0]
    return float(gaps @ np.linalg.solve(contrasts @ spread @ contrasts.T, gaps))


def groups_planner(test: TestOf, request: Request, power: float) -> GroupsTestPlanner:
    """Checks the request; its prior is that of means by group."""
    return GroupsTestPlanner(test, group_planner(request), power, request.level)
