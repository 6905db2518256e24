"""Power of tests of association: two private answers of each person, or a private group and a public value.

With equally common answers the statistic has the non-centrality n k D**2 i j. D is the root mean square over the
differences of the k cells from an independent table, and i, j are what one report tells about a contrast of either
answer; a public answer tells as much as its number of values. A public number with the standard deviation 1 in each
group has the non-centrality n c' V**-1 c / s, where c are its covariances with the groups, V is the covariance of the
estimated groups, and s is the variance of the number over all groups.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain import Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.attributes.evidence import part_mechanisms
from sottovoce.estimate.comparison.chi_square import along_simplex
from sottovoce.estimate.comparison.null_law import covariance_at
from sottovoce.estimate.evidence import Floats
from sottovoce.study.planners.base import OWNER, Option, Request, no_method
from sottovoce.study.planners.frequency import expected_shares
from sottovoce.study.power.overall import chi_square_power, information, strength_for
from sottovoce.study.power.test_of import TestOf, reach, two_way_sizes
from sottovoce.study.power.test_planner import Contender, SeenWays, TestPlanner

NUMBERED = ("grr", "hadamard")  # reports that `association` and `private_groups` take
SPLIT = "split-attributes"


@dataclass(frozen=True, slots=True)
class AssociationPlanner(TestPlanner):
    """Methods with numbered reports, by the smallest association that their test sees.

    Attributes:
        private: The domains of the private answers, one or two.
        groups: Expected shares of the groups for a public number; None for two categories.
    """

    measure: ClassVar[str] = "an association that a test sees"

    test: TestOf
    private: tuple[tuple[str, Any], ...]
    groups: Floats | None
    methods: tuple[str, ...]
    power: float
    level: float

    @property
    def subject(self) -> str:
        if len(self.private) > 1:
            return "Association of two private answers"
        return "Association of a private group and a public value"

    def ways(self, epsilon: Decimal) -> SeenWays:
        needed = strength_for(self.power, self.test.degrees, self.level)
        candidates = tuple(
            Contender(name, one, self._smallest(self._strength(one), needed)) for name, one in self._mechanisms(epsilon)
        )
        if not candidates:
            raise no_method(epsilon, self.methods)
        return SeenWays(candidates, self.test.balance / reach(self.test, self.power, self.level))

    def power_of(self, option: Option, difference: float, participants: int) -> float:
        spread = 1 + self._between * difference**2
        noncentrality = participants * difference**2 * self._strength(option.mechanism) / spread
        return chi_square_power(noncentrality, self.test.degrees, self.level)

    def _mechanisms(self, epsilon: Decimal) -> Iterator[tuple[str, Mechanism]]:
        for name in self.methods:
            try:
                if len(self.private) == 1:
                    yield name, build(name, self.private[0][1], epsilon=epsilon)
                else:
                    yield f"{SPLIT} ({name})", build(SPLIT, Record(dict(self.private)), epsilon=epsilon, shares=name)
            except ParameterError:
                continue

    def _strength(self, mechanism: Mechanism) -> float:
        """The non-centrality of one report for a difference of one, but for the variance between groups."""
        if self.groups is None:
            size = self.test.question.domain.size or 1
            reports = part_mechanisms(mechanism) if len(self.private) > 1 else [mechanism]
            public = 1 if len(self.private) > 1 else two_way_sizes(self.test.question)[1]
            return size * public * math.prod(map(information, reports))
        first = np.eye(len(self.groups))[0]
        return along_simplex(self.groups[0] * (first - self.groups), covariance_at(mechanism, self.groups))

    @property
    def _between(self) -> float:
        """The variance of a number that differs by one between the first group and the others."""
        return 0.0 if self.groups is None else float(self.groups[0] * (1 - self.groups[0]))

    def _smallest(self, strength: float, needed: float) -> Any:
        def difference(participants: int) -> float:
            left = participants * strength - self._between * needed
            return math.sqrt(needed / left) if left > 0 else math.inf

        return difference


def association_planner(test: TestOf, request: Request, power: float) -> AssociationPlanner:
    """Two private attributes, each reported with half of epsilon; all answers are taken to be equally common."""
    _refuse_prior(request)
    return _planner(test, request, power, _two(test), None)


def public_value_planner(test: TestOf, request: Request, power: float) -> AssociationPlanner:
    """A private group and a public number, with expected shares of the groups as a prior, or a public category."""
    domain: Any = test.question.domain
    if two_way_sizes(test.question):
        _refuse_prior(request)
        return _planner(test, request, power, _two(test)[:1], None)
    if domain.size is None or domain.size < 2:
        raise reject("question", OWNER, "about at least two groups, finitely many", domain)
    return _planner(test, request, power, (("group", domain),), expected_shares(request.prior, domain.size))


def _planner(test: TestOf, request: Request, power: float, private: Any, groups: Floats | None) -> AssociationPlanner:
    request.refuse_mechanism()
    return AssociationPlanner(test, tuple(private), groups, tuple(request.listed(NUMBERED)), power, request.level)


def _two(test: TestOf) -> Any:
    """The two attributes of a table, by name."""
    domain: Any = test.question.domain
    fields = getattr(domain, "parts", ())
    if len(fields) != 2:
        raise reject("question", OWNER, "about two fields of a record: Frequency(Select(record, [...]))", domain)
    return fields


def _refuse_prior(request: Request) -> None:
    if request.prior is not None:
        raise reject("prior", OWNER, "left out for a test of two attributes", request.prior)
