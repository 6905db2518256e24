"""Power of one test of all shares: of two samples, of stated shares, and of independence of two attributes.

The difference is the root mean square D over the differences of k shares, in a direction that is not known beforehand.
An oracle with variance v of a share gives k - 1 degrees of freedom and the non-centrality m k D**2 / v, where
1 / m = 1 / n_1 + 1 / n_2; with one sample m is its size. Independence has the degrees of freedom of the interaction,
and its differences are those from an independent table. With r half-sets the z-score of each set has a variance of
1 + m k D**2 i / r, where i is the information that a bit has about the share of its set, times the variance of the
choice of the set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri
from scipy.stats import ncx2

from sottovoce.core.errors import NoCovarianceError, ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Frequency
from sottovoce.core.question.half_sets import MAX_ANSWERS, most_sets
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.comparison.chi_square import MOST_VALUES
from sottovoce.estimate.comparison.half_sets import half_sets_power, half_sets_scaled
from sottovoce.estimate.comparison.null_law import covariance_at
from sottovoce.estimate.half_sets.evidence import slope_of
from sottovoce.study.planners.base import OWNER, Option, Request, no_method
from sottovoce.study.power.test_of import INDEPENDENCE, STATED, TestOf, reach
from sottovoce.study.power.test_planner import SeenWays, TestPlanner, falls_with_root

HALF_SETS = "half-sets"
ORACLES = ("grr", "subset", "oue", "sue", "hadamard")  # with covariances that are known, so that they have the test
FARTHEST = 1e6  # non-centrality, beyond which no search goes


def overall_power(mechanism: Mechanism, difference: float, n: float, level: float, degrees: int | None = None) -> float:
    """The power for a root mean square difference of all shares; 1 / n is the sum of 1 / reports of both samples."""
    size = mechanism.domain.size or 1
    strength = n * size * difference**2 * information(mechanism)
    if mechanism.name == HALF_SETS:
        sets = mechanism.cells // 2
        return half_sets_power(strength / sets, sets, level)
    return chi_square_power(strength, size - 1 if degrees is None else degrees, level)


def chi_square_power(strength: float, degrees: int, level: float) -> float:
    """The power of a chi-square test with this non-centrality."""
    return float(ncx2.sf(chdtri(degrees, 1 - level), degrees, strength))


def strength_for(power: float, degrees: int, level: float) -> float:
    """The non-centrality at which a chi-square test has this power."""
    return float(brentq(lambda one: chi_square_power(one, degrees, level) - power, 0, FARTHEST, rtol=1e-9))


def information(mechanism: Mechanism) -> float:
    """What one report tells about a unit contrast of equally common shares, on average over contrasts."""
    size = mechanism.domain.size or 1
    if mechanism.name == HALF_SETS:  # a bit has the variance 1 / 4; a random half-set has that of a random contrast
        return slope_of(mechanism) ** 2 * size / (size - 1)
    covariance = covariance_at(mechanism, np.full(size, 1 / size))
    return (size - 1) / float(np.trace(covariance) - covariance.sum() / size)


def _needed(mechanism: Mechanism, power: float, level: float, degrees: int) -> float:
    """The product m k D**2 at which the test has this power."""
    if mechanism.name == HALF_SETS:
        sets = mechanism.cells // 2
        return half_sets_scaled(power, sets, level) * sets / information(mechanism)
    return strength_for(power, degrees, level) / information(mechanism)


@dataclass(frozen=True, slots=True)
class OverallPlanner(TestPlanner):
    """Oracles and half-sets for a chi-square test of all shares."""

    measure: ClassVar[str] = "a difference that a test of all shares sees"

    test: TestOf
    methods: tuple[str, ...]
    power: float
    level: float

    @property
    def subject(self) -> str:
        what = {STATED: "Goodness of fit", INDEPENDENCE: "Independence"}.get(self.test.test, "Equality")
        return f"{what} of the shares of {self.test.question.domain.size} categories"

    def ways(self, epsilon: Decimal) -> SeenWays:
        people = self.test.balance**2 * (self.test.question.domain.size or 1)
        candidates = tuple(
            falls_with_root(name, one, math.sqrt(_needed(one, self.power, self.level, self.test.degrees) / people))
            for name, one in self._mechanisms(epsilon)
        )
        if not candidates:
            raise no_method(epsilon, self.methods)
        return SeenWays(candidates, self.test.balance / reach(self.test, self.power, self.level))

    def power_of(self, option: Option, difference: float, participants: int) -> float:
        people = participants * self.test.balance**2
        return overall_power(option.mechanism, difference, people, self.level, self.test.degrees)

    def _mechanisms(self, epsilon: Decimal) -> Iterator[tuple[str, Mechanism]]:
        domain = self.test.question.domain
        size = domain.size or 0
        for name in self.methods:
            if name == HALF_SETS and size <= MAX_ANSWERS:
                sets = best_sets(size, self.power, self.level)
                said = f"{HALF_SETS} ({sets} set{'s' * (sets > 1)})"
                yield said, build(name, domain, epsilon=epsilon, count=sets)
            elif name != HALF_SETS and size <= MOST_VALUES:
                try:
                    mechanism = build(name, domain, epsilon=epsilon)
                    information(mechanism)
                except (ParameterError, NoCovarianceError):
                    continue
                yield name, mechanism


def best_sets(size: int, power: float, level: float) -> int:
    """The number of half-sets that needs the fewest participants for a power."""
    return min(range(1, most_sets(size) + 1), key=lambda sets: sets * half_sets_scaled(power, sets, level))


def overall_planner(test: TestOf, request: Request, power: float) -> OverallPlanner:
    """Checks the request; all categories are taken to be equally common."""
    request.refuse_mechanism()
    if request.prior is not None:
        raise reject("prior", OWNER, "left out for an overall test", request.prior)
    known = (*ORACLES, HALF_SETS) if test.samples == 2 else ORACLES  # half-sets compare two samples
    if test.question.domain.size is None:
        raise reject("question", OWNER, f"a {Frequency.kind} of finitely many answers", test.question.domain)
    return OverallPlanner(test, tuple(request.listed(known)), power, request.level)
