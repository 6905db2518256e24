"""One estimate from public strata: each has its own tally, and its size in the population is its weight.

Where a good part of a stratum takes part, fewer people are left who could have answered otherwise: the correction for
finite populations lowers the part of the variance that is due to sampling, never that of the noise. Tallies may also be
those of clusters drawn from strata, or of classes of people whose weights are calibrated to known margins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import (
    MOST_EXCESS,
    Bounds,
    Evidence,
    Flags,
    Floats,
    most_excess,
    weighted_without_fakes,
)
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.frequency.supports import BitsEvidence
from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence
from sottovoce.estimate.joint.evidence import JointEvidence
from sottovoce.estimate.joint.weighted import WeightedTables
from sottovoce.estimate.mean.scores import skewness_excess
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.sources import sources_of
from sottovoce.estimate.survey.evidence import FEW_DRAWS, PartScores, WeighedEvidence
from sottovoce.estimate.survey.groups import GroupScores, weighed_groups
from sottovoce.estimate.survey.raking import raked
from sottovoce.estimate.survey.units import Unit, Units
from sottovoce.estimate.within_groups.evidence import of_table
from sottovoce.estimate.within_groups.table import CellTable

Margins = Mapping[str, Mapping[str, tuple[str, int]]]


@dataclass(frozen=True, eq=False)
class StrataEvidence(WeighedEvidence):
    """Independent evidence of the same question, one for each stratum."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    parts: tuple[Evidence, ...]
    units: Units

    @property
    def noun(self) -> str:
        return self.parts[0].noun

    @property
    def axes(self) -> Axes:
        return self.parts[0].axes

    @property
    def question(self) -> Question | None:
        return self.parts[0].question

    @property
    def limits(self) -> tuple[Any, Any]:
        return self.parts[0].limits

    def without_fakes(self, fakes: FakeReports) -> Bounds | None:
        weights = np.array([unit.weight for unit in self.units.each]) / self.units.weight
        return weighted_without_fakes(fakes, self.values(), weights[:, None], self.parts)

    def sentence(self, estimate: Estimate, level: float) -> str:
        return self.parts[0].sentence(estimate, level)

    def normal(self, request: IntervalRequest) -> Bounds:
        return self.student(request)

    def normal_is_poor(self) -> Flags:
        return self._poor(0.95, most_excess(0.95))

    def _poor(self, level: float, most: float) -> Flags:
        """Values whose interval may miss too often. Of shares all strata count together, at the most skewed rates that
        are possible: a doubt that followed the reports would be missing where chance hides that rare ones are rare."""
        spreads, thirds = np.asarray(0.0), np.asarray(0.0)
        for unit, part in zip(self.units.each, self.parts, strict=True):
            if not isinstance(part, BitsEvidence):
                return np.asarray(np.any([one.normal_is_poor() for one in self.parts], axis=0))
            rate = part.rarest
            scale, square = unit.weight / (np.asarray(part.own) - part.other), rate * (1 - rate)
            spreads = spreads + scale**2 * square / unit.n
            thirds = thirds + scale**3 * square * (1 - 2 * rate) / unit.n**2
        poor = skewness_excess(thirds**2 / spreads**3, level) > most
        return np.asarray(np.broadcast_to(poor, self.values().shape))

    def warning(self) -> str | None:
        return self.doubt(IntervalRequest(0.95, Method.NORMAL), most_excess(0.95))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        poor = int(self._poor(request.level, most).sum())
        if not poor:
            return None
        return (
            f"The normal interval is poor for {poor} of {len(self.values())} values: strata have too few reports. Merge"
            " strata, or ask more participants."
        )


@dataclass(frozen=True, eq=False)
class StrataDistribution(WeighedEvidence, DistributionEvidence):
    """The distribution of all strata together: the shares of the same buckets, weighted."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    counted: ClassVar[None] = None  # type: ignore[misc]
    parts: tuple[DistributionEvidence, ...]
    units: Units

    @property
    def buckets(self) -> Buckets:  # type: ignore[override]
        return self.parts[0].buckets

    @property
    def question(self) -> Question | None:
        return self.parts[0].question

    def excess_of(self, sums: ShareSums, level: float, target: Target | None) -> Floats:
        every = [part.excess_of(ShareSums(part, sums.rows), level, target) for part in self.parts]
        return np.asarray(np.max(every, axis=0))

    def few(self) -> str | None:
        if self.units.clustered and self.units.free < FEW_DRAWS:
            return f"The normal interval is poor: only {sum(self.units.draws)} clusters were drawn."
        return next(filter(None, (part.few() for part in self.parts)), None)


def _together(parts: list[Evidence], weights: Floats) -> Evidence | None:
    """Evidence about cells of tables and groups, whose shares are weighted; None for evidence without such cells."""
    joint = [part for part in parts if isinstance(part, JointEvidence)]
    if len(joint) == len(parts):
        pairs = zip(weights.tolist(), (part.tables for part in joint), strict=True)
        return JointEvidence(joint[0].asked, WeightedTables(tuple(pairs)))
    cells = [getattr(part, "table", None) for part in parts]
    if not all(isinstance(table, CellTable) for table in cells):
        return None
    first: Any = cells[0]
    if any(table.cells != first.cells for table in cells if table is not None):
        raise ParameterError("The tables of strata must have the same cells: serve them by one plan.")
    sources = [(w * own, source) for w, one in zip(weights, cells, strict=True) for own, source in one.sources]  # type: ignore[union-attr]
    return of_table(CellTable(first.asked, first.cells, tuple(sources)))


def _units(
    parts: list[Evidence], weights: Floats, fractions: Floats, strata: list[str] | None, traits: Floats | None
) -> Units:
    """A unit for each part: a stratum of its own, a cluster of a stratum, or a class of calibrated weights."""
    names = list(dict.fromkeys(strata or ()))
    each = []
    for place, (part, weight) in enumerate(zip(parts, weights, strict=True)):
        n = int(np.sum(part.n))
        known = isinstance(part, GroupMeansEvidence)
        scores: Any = GroupScores(part.totals, part.totals) if known else PartScores(part)  # type: ignore[attr-defined]
        stratum = names.index(strata[place]) if strata else 0 if traits is not None else place
        each.append(Unit(stratum, place, 0 if traits is None else place, n, weight, weight**2 / n, scores))
    count = len(names) if strata else 1 if traits is not None else len(parts)
    units = Units(tuple(each), fractions[:count], bool(strata), traits)
    if min(units.draws) < 2:
        what = "cluster" if strata else "report"
        raise ParameterError(f"A stratum has a single {what}, so its variance is unknown: merge it with another one.")
    return units


def _evidence(parts: list[Evidence], units: Units) -> Evidence:
    """The evidence of all parts together."""
    if all(isinstance(part, DistributionEvidence) for part in parts):
        edges = [part.edges for part in parts]  # type: ignore[attr-defined]
        if any(len(one) != len(edges[0]) or (one != edges[0]).any() for one in edges):
            raise ParameterError("The distributions of strata must have the same buckets: serve them by one plan.")
        return StrataDistribution(tuple(parts), units)  # type: ignore[arg-type]
    if all(isinstance(part, GroupMeansEvidence) for part in parts):
        groups: Any = parts
        rates = sum(unit.weight * part.cells / part.n for unit, part in zip(units.each, groups, strict=True))
        square = sum(unit.square for unit in units.each)
        cubes = sum(unit.weight**3 / unit.n**2 for unit in units.each)
        lopsided = units.n * cubes**2 / square**3
        return weighed_groups(groups[0].mechanism, units.n, np.asarray(rates) / units.weight, units, lopsided)
    return StrataEvidence(tuple(parts), units)


def over_strata(
    estimates: Mapping[str, Estimate],
    people: Mapping[str, int] | None = None,
    *,
    clusters: Mapping[str, str] | None = None,
    margins: Margins | None = None,
) -> Estimate:
    """The estimate for all strata together, weighted by the number of people in each.

    Args:
        estimates: One estimate of the same question for each stratum.
        people: How many people each stratum has; for clusters how many people each stands for.
        clusters: The stratum from which each was drawn, where the estimates are those of clusters.
        margins: In place of `people`: for each stratum and public variable its category, and the people of that
            category in the population. Weights are raked to meet all of them.

    Returns:
        The estimate; its notes say what is assumed.
    """
    names = list(estimates)
    known = [one for one in (people, margins) if one is not None]
    if len(known) != 1 or {*known[0]} != {*names} or len(names) < 2 or (clusters and {*clusters} != {*names}):
        raise ParameterError("Strata need an estimate and a number of people each, and there are at least two.")
    first = estimates[names[0]]
    if any(part.question != first.question or list(part.labels) != list(first.labels) for part in estimates.values()):
        raise ParameterError("The estimates of strata must be about the same question.")
    counts, traits = np.array([estimates[name].n for name in names], float), None
    if people is not None:
        weights = np.array([check_people("people", "a stratum", people[name]) for name in names], float)
        if clusters is None and (counts > weights).any():
            raise ParameterError("A stratum has more reports than people.")
        fractions = np.zeros(len(names)) if clusters else counts / weights
    else:
        weights, traits = raked_strata(dict(zip(names, counts, strict=True)), margins or {})
        fractions = np.zeros(len(names))
    parts = [estimates[name].evidence for name in names]
    evidence = None if clusters or traits is not None else _together(parts, weights / weights.sum())
    if evidence is None:
        if isinstance(parts[0], JointEvidence):
            raise ParameterError("Cross tables are combined over strata whose people are known, not over clusters.")
        kinds = (DistributionEvidence, GroupMeansEvidence)
        if not first.question.averages and not all(isinstance(part, kinds) for part in parts):
            raise ParameterError(
                f"A {first.question.noun} is no weighted mean of that of each stratum. Ask for shares, means,"
                " quantiles or a distribution, or report each stratum by itself."
            )
        strata = None if clusters is None else [clusters[name] for name in names]
        evidence = _evidence(parts, _units(parts, weights, fractions, strata, traits))
    sources = sources_of(source for name in names for source in estimates[name].sources)
    simulated = any(part.simulated for part in estimates.values())
    notes = [assumptions(clustered=bool(clusters), calibrated=traits is not None)]
    return Estimate.of(first.question, evidence, sources, notes=notes, simulated=simulated)


def assumptions(*, clustered: bool, calibrated: bool) -> str:
    """What must hold for values and intervals of strata, in one sentence."""
    if calibrated:
        return (
            "This assumes that participants of a class stand for the people of that class, and that differences between"
            " classes follow from the margins that weights were raked to."
        )
    drawn = (
        "clusters were drawn independently at random within each stratum"
        if clustered
        else ("participants were drawn at random, without replacement, from the people of each stratum")
    )
    return f"This assumes that {drawn}."


def raked_strata(counts: Mapping[str, float], margins: Margins) -> tuple[Floats, Floats]:
    """Weights of strata that meet all margins, in proportion to counts where these allow; and their categories."""
    variables = list(dict.fromkeys(variable for own in margins.values() for variable in own))
    columns: dict[str, Any] = {}
    for variable in variables:
        people: dict[str, int] = {}
        column = []
        for name in counts:
            if variable not in margins[name]:
                raise ParameterError(f"Every stratum needs its category of {variable}: one has none.")
            category, size = margins[name][variable]
            if people.setdefault(category, size) != size:
                raise ParameterError(
                    f"A category of {variable} has two numbers of people: write the same one everywhere."
                )
            column.append(category)
        columns[variable] = (column, people)
    result = raked(np.array(list(counts.values()), float), columns)
    return result.weights, result.traits[result.cells]
