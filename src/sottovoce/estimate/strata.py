"""One estimate from public strata: each has its own tally, and its size in the population is its weight.

Individual weights are classes of strata: people with the same weight are one stratum. Where a good part of a stratum
takes part, fewer people are left who could have answered otherwise: the finite-population correction lowers the part of
the variance that is due to sampling, never that of the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.errors import NoCovarianceError, ParameterError
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Evidence, Flags, Floats, Functional, weighted_without_fakes
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.joint.evidence import JointEvidence
from sottovoce.estimate.joint.weighted import WeightedTables
from sottovoce.estimate.request import Method, Target
from sottovoce.estimate.sources import sources_of
from sottovoce.estimate.within_groups.evidence import of_table
from sottovoce.estimate.within_groups.table import CellTable


@dataclass(frozen=True, slots=True, eq=False)
class StrataEvidence(Evidence):
    """Independent evidences of the same question, and the number of people in each stratum."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    parts: tuple[Evidence, ...]
    people: tuple[int, ...]

    @property
    def noun(self) -> str:
        return self.parts[0].noun

    @property
    def axes(self) -> Axes:
        return self.parts[0].axes

    @property
    def n(self) -> int:
        return int(sum(np.sum(part.n) for part in self.parts))

    @property
    def limits(self) -> tuple[Any, Any]:
        return self.parts[0].limits

    @property
    def _weights(self) -> Floats:
        sizes = np.array(self.people, float)
        return np.asarray(sizes / sizes.sum())

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        return weighted_without_fakes(fakes, self.values(), self._weights[:, None], self.parts)

    def values(self) -> Floats:
        return np.asarray(sum(w * part.values() for w, part in zip(self._weights, self.parts, strict=True)))

    def variances(self, target: Target) -> Floats:
        """Sampling is without replacement from the people of each stratum; noise is added to every report."""
        total = np.zeros(len(self.labels))
        for weight, people, part in zip(self._weights, self.people, self.parts, strict=True):
            noise = part.variances(Target.SAMPLE)
            rest = np.maximum(part.variances(Target.POPULATION) - noise, 0) if target == Target.POPULATION else 0.0
            asked = min(1.0, float(np.sum(part.n)) / people)
            total += weight**2 * (noise + (1 - asked) * rest)
        return total

    def covariance(self, target: Target) -> Floats:
        raise NoCovarianceError("The covariance of values that were combined over strata is not known.")

    def normal_is_poor(self) -> Flags:
        return np.asarray(np.any([part.normal_is_poor() for part in self.parts], axis=0))

    def warning(self) -> str | None:
        return next(filter(None, (part.warning() for part in self.parts)), None)


@dataclass(frozen=True, eq=False)
class StrataDistribution(DistributionEvidence):
    """The distribution of all strata together: the shares of the same buckets, weighted."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    counted: ClassVar[None] = None  # type: ignore[misc]
    parts: tuple[tuple[float, DistributionEvidence], ...]

    @property
    def buckets(self) -> Buckets:  # type: ignore[override]
        return self.parts[0][1].buckets

    @property
    def question(self) -> Question | None:
        return self.parts[0][1].question

    @property
    def n(self) -> int:
        return sum(part.n for _, part in self.parts)

    def values(self) -> Floats:
        return np.asarray(sum(weight * part.values() for weight, part in self.parts))

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        rows = np.atleast_2d(weights)
        spread = sum(weight**2 * part.functional(rows, target).covariance for weight, part in self.parts)
        return Functional(rows @ self.values(), np.asarray(spread))

    def covariance(self, target: Target) -> Floats:
        return self.functional(np.eye(len(self.buckets)), target).covariance

    def spreads(self, weights: Floats, target: Target = Target.POPULATION) -> Floats:
        return np.asarray(sum(weight**2 * part.spreads(weights, target) for weight, part in self.parts))

    def excess_of(self, sums: ShareSums, level: float, target: Target | None) -> Floats:
        every = [part.excess_of(ShareSums(part, sums.rows), level, target) for _, part in self.parts]
        return np.asarray(np.max(every, axis=0))

    def few(self) -> str | None:
        return next(filter(None, (part.few() for _, part in self.parts)), None)


def _together(parts: list[Evidence], people: list[int]) -> Evidence | None:
    """Evidence of all strata where more than weighted means is asked of it: distributions, and cells of tables."""
    weights = [count / sum(people) for count in people]
    joint = [part for part in parts if isinstance(part, JointEvidence)]
    if len(joint) == len(parts):
        tables = WeightedTables(tuple(zip(weights, (part.tables for part in joint), strict=True)))
        return JointEvidence(joint[0].asked, tables, frozenset.union(*(part.poor for part in joint)))
    if all(isinstance(part, DistributionEvidence) for part in parts):
        edges = [part.edges for part in parts]  # type: ignore[attr-defined]
        if any(len(one) != len(edges[0]) or (one != edges[0]).any() for one in edges):
            raise ParameterError("The distributions of strata must have the same buckets: serve them by one plan.")
        return StrataDistribution(tuple(zip(weights, parts, strict=True)))  # type: ignore[arg-type]
    cells = [getattr(part, "table", None) for part in parts]
    if not all(isinstance(table, CellTable) for table in cells):
        return None
    first: Any = cells[0]
    if any(table.cells != first.cells for table in cells if table is not None):
        raise ParameterError("The tables of strata must have the same cells: serve them by one plan.")
    sources = [(w * own, source) for w, one in zip(weights, cells, strict=True) for own, source in one.sources]  # type: ignore[union-attr]
    return of_table(CellTable(first.asked, first.cells, tuple(sources)))


def over_strata(estimates: Mapping[str, Estimate], people: Mapping[str, int]) -> Estimate:
    """The estimate for all strata together, weighted by the number of people in each."""
    if {*estimates} != {*people} or len(people) < 2:
        raise ParameterError("Strata need an estimate and a number of people each, and there are at least two.")
    for name, count in people.items():
        check_people("people", "a stratum", count)
        if estimates[name].n > count:
            raise ParameterError("A stratum has more reports than people.")
    names = list(people)
    first = estimates[names[0]]
    if any(part.question != first.question or list(part.labels) != list(first.labels) for part in estimates.values()):
        raise ParameterError("The estimates of strata must be about the same question.")
    evidence = _together([estimates[name].evidence for name in names], [people[name] for name in names])
    if evidence is None:
        if not first.question.averages:
            raise ParameterError(
                f"A {first.question.noun} is no weighted mean of that of each stratum. Ask for shares, means,"
                " quantiles or a distribution, or report each stratum by itself."
            )
        evidence = StrataEvidence(tuple(estimates[name].evidence for name in names), tuple(people.values()))
    sources = sources_of(source for name in names for source in estimates[name].sources)
    simulated = any(part.simulated for part in estimates.values())
    return Estimate.of(first.question, evidence, sources, simulated=simulated)
