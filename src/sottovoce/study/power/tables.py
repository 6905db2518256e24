"""Power of the test of independence in cross tables: the smallest Cramer's V between two attributes that it sees.

At equal shares the sum of squares behind V is a multiple of chi-square, with (i - 1)(j - 1) degrees of freedom. One
report gives the information a to each contrast of the interaction, so that the non-centrality is n a V**2 (min(i, j)
- 1). Of several tables the plan is that of the pair which needs the largest V.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

from sottovoce.estimate.evidence import POOR_BELOW
from sottovoce.study.planners.base import Option, Request, Ways
from sottovoce.study.planners.joint import JointPlanner
from sottovoce.study.planners.joint import planner as joint_planner
from sottovoce.study.power.overall import chi_square_power, strength_for
from sottovoce.study.power.test_of import TestOf, reach
from sottovoce.study.power.test_planner import TestPlanner


@dataclass(frozen=True, slots=True)
class TablesPlanner(TestPlanner):
    """Designs for cross tables, by the smallest Cramer's V that is seen in every table."""

    measure: ClassVar[str] = "Cramer's V between two attributes that a test of independence sees"

    test: TestOf
    tables: JointPlanner
    power: float
    level: float

    @property
    def subject(self) -> str:
        return f"Independence in {self.tables.subject}"

    def ways(self, epsilon: Decimal) -> TablesWays:
        designs = tuple(self._seen(one) for one in self.tables.ways(epsilon).per_participant)
        return TablesWays(designs, 1 / reach(self.test, self.power, self.level))

    def _seen(self, option: Option) -> SeenDesign:
        design, level = option.procedure, self.test.level(self.level)
        return SeenDesign(option, v_of_one(design, self.power, level), fewest(design))

    def power_of(self, option: Option, difference: float, participants: int) -> float:
        level, pairs = self.test.level(self.level), strengths(option.procedure)
        return min(chi_square_power(participants * difference**2 * one, degrees, level) for one, degrees in pairs)


class SeenDesign(NamedTuple):
    """A design, the Cramer's V that one participant would see, and from how many on the test says anything."""

    option: Option
    of_one: float
    fewest: float

    def smallest(self, participants: int) -> float:
        """The Cramer's V that is seen in every table; infinite where too few reports leave the test open."""
        return math.inf if participants < self.fewest else self.of_one / math.sqrt(participants)


@dataclass(frozen=True, slots=True)
class TablesWays(Ways):
    """Designs by the smallest Cramer's V that they see; `scale` turns it into a standard error."""

    designs: tuple[SeenDesign, ...]
    scale: float

    def options(self, participants: int) -> tuple[Option, ...]:
        seen = [replace(one.option, std_error=self.scale * one.smallest(participants)) for one in self.designs]
        return tuple(sorted(seen, key=lambda one: one.std_error))

    def least(self, participants: int) -> float:
        return self.scale * min(one.smallest(participants) for one in self.designs)


def v_of_one(design: Any, power: float, level: float) -> float:
    """The Cramer's V that one participant would see in every table; it falls with the root of the participants."""
    return math.sqrt(max(strength_for(power, degrees, level) / strength for strength, degrees in strengths(design)))


def fewest(design: Any) -> float:
    """The participants from which on the test says anything about every two attributes."""
    return POOR_BELOW / float(min(design.supports(pair) for pair in design.question.pairs))


def smallest_v(design: Any, power: float, level: float, participants: int) -> float:
    """The Cramer's V that so many participants see in every table; infinite where they are too few."""
    return math.inf if participants < fewest(design) else v_of_one(design, power, level) / math.sqrt(participants)


def strengths(design: Any) -> Iterator[tuple[float, int]]:
    """For every two attributes, the non-centrality of one report for a V of one, and the degrees of freedom."""
    for pair in design.question.pairs:
        sizes = [design.question.sizes[name] for name in pair]
        yield design.information(pair) * (min(sizes) - 1), math.prod(size - 1 for size in sizes)


def tables_planner(test: TestOf, request: Request, power: float) -> TablesPlanner:
    """Checks the request; all answers are taken to be equally common."""
    return TablesPlanner(test, joint_planner(request), power, request.level)
