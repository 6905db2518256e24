"""Which planner a test has."""

from __future__ import annotations

from sottovoce.study.planners.base import Request
from sottovoce.study.power.associations import association_planner, public_value_planner
from sottovoce.study.power.groups import groups_planner
from sottovoce.study.power.identity import identity_planner
from sottovoce.study.power.overall import overall_planner
from sottovoce.study.power.tables import tables_planner
from sottovoce.study.power.test_of import ASSOCIATION, DISTRIBUTIONS, GROUPS, IDENTITY, PUBLIC_VALUE, TestOf
from sottovoce.study.power.test_planner import TestPlanner
from sottovoce.study.power.two_distributions import two_distributions_planner
from sottovoce.study.power.watched import watched_planner

PLANNERS = {
    GROUPS: groups_planner,
    IDENTITY: identity_planner,
    ASSOCIATION: association_planner,
    PUBLIC_VALUE: public_value_planner,
    DISTRIBUTIONS: two_distributions_planner,
}


def test_planner(test: TestOf, request: Request, power: float) -> TestPlanner | None:
    """The planner of a test; None for one difference, which the planner of its question plans."""
    if test.of_tables:
        return tables_planner(test, request, power)
    if test.test in PLANNERS:
        return PLANNERS[test.test](test, request, power)
    if test.watched:
        return watched_planner(test, request, power)
    return overall_planner(test, request, power) if test.of_shares else None
