"""Survey designs: who was drawn, how, and with which public weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Evidence
from sottovoce.estimate.from_tally import unbiased
from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence
from sottovoce.estimate.request import Target
from sottovoce.estimate.sources import EstimateSource
from sottovoce.estimate.survey.evidence import EvidenceScores, skewness, weighed
from sottovoce.estimate.survey.groups import GroupScores, weighed_groups
from sottovoce.estimate.survey.raking import checked_margins, raked
from sottovoce.estimate.survey.units import Unit, Units
from sottovoce.fast.batch import Reports, from_messages
from sottovoce.tally.count import tally
from sottovoce.tally.tally import Tally
from sottovoce.tally.weighted import WeightedTally, check_weights, fixed_point, weighted_tally

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Public facts about the participants of a survey, one entry for each report.

    Weights, strata and clusters travel in clear and must not depend on the private answers or on the noise.

    Attributes:
        weights: how many people of the population each participant stands for, up to a factor; None for equal weights.
        strata: the stratum of each participant, drawn from independently; None for one stratum.
        clusters: the cluster, such as a school, in which each participant was drawn; None where people were drawn.
        people: how many people each stratum has, by its name; one number without strata. The finite-population
            correction follows from it. None for drawing with replacement, or from a very large population.

    Examples:
        >>> from sottovoce.estimate.survey.design import Survey
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=2)
        >>> reports = m.privatize(["yes"] * 300 + ["no"] * 700, seed=1)
        >>> survey = Survey(weights=[3.0] * 300 + [1.0] * 700)
        >>> round(float(survey.estimate(m, reports).values[0]), 2)
        0.56

    See also:
        `sottovoce.estimate.strata.over_strata` combines strata that were served one by one.
    """

    weights: Any = None
    strata: Sequence[object] | None = None
    clusters: Sequence[object] | None = None
    people: Mapping[Any, int] | int | None = None
    cells: Ints | None = field(default=None, repr=False)
    traits: NDArray[np.float64] | None = field(default=None, repr=False)

    def raked(self, margins: Mapping[str, tuple[Sequence[Any], Mapping[Any, Any]]]) -> Survey:
        """Calibrate the weights to known public margins.

        Args:
            margins: For each variable a pair: the category of each participant, and the people of each category.

        Returns:
            The survey with weights that sum to every margin. Its variances are those of calibrated estimates.
        """
        columns = [column for column, _ in checked_margins(margins).values()]
        known = (self.weights, self.strata, self.clusters, *columns)
        n = next(len(column) for column in known if column is not None)
        weights, cells, traits = raked(self._weights(n), margins)
        return replace(self, weights=weights, cells=cells, traits=traits)

    def estimate(self, mechanism: Mechanism, reports: Any, question: Question | None = None) -> Estimate:
        """Estimate from weighted reports, with the variance of the design.

        Args:
            mechanism: The mechanism of the reports.
            reports: A batch of `privatize`, or messages, in the order of the weights, strata and clusters.
            question: Another question that the reports answer, such as a quantile of a distribution.

        Returns:
            The estimate; its notes say what is assumed.
        """
        if isinstance(reports, Tally):
            raise ParameterError(
                "A survey needs the reports themselves: a tally no longer knows which report has which weight. Count"
                " each stratum apart and use over_strata where only tallies are left."
            )
        batch = reports if isinstance(reports, Reports) else from_messages(mechanism, list(reports))
        if self.cells is not None and len(self.cells) != len(batch):
            raise ParameterError(
                f"The margins are about {len(self.cells)} participants, and there are {len(batch)} reports."
            )
        plain = unbiased(mechanism, tally(mechanism, batch))
        evidence = self._evidence(mechanism, batch, plain.evidence)
        asked = mechanism.question if question is None else question
        notes = (self._effect(plain.evidence, evidence), self.assumptions())
        source = EstimateSource(mechanism, len(batch))
        answered = evidence if question is None or question == mechanism.question else evidence.answer(question)
        return Estimate.of(asked, answered, [source], notes=notes, simulated=batch.simulated)

    def assumptions(self) -> str:
        """What must hold for values and intervals, in one sentence."""
        drawn = "clusters were" if self.clusters is not None else "participants were"
        within = " within each stratum" if self.strata is not None else ""
        how = " without replacement" if self.people is not None else ""
        fitted = " and calibrated to public margins" if self.traits is not None else ""
        return (
            f"This assumes that {drawn} drawn independently at random{within}{how}, and that the public weights are"
            f" inverse to the chance of taking part{fitted}."
        )

    def _effect(self, plain: Evidence, evidence: Evidence) -> str:
        ratio = evidence.variances(Target.POPULATION) / plain.variances(Target.POPULATION)
        return (
            f"The design effect is {np.nanmedian(ratio):.2f}: variances are that many times those of as many"
            " independent reports of equal weight."
        )

    def _weights(self, n: int) -> NDArray[np.float64]:
        weights = check_weights(np.ones(n) if self.weights is None else self.weights, n)
        if n and not (weights > 0).all():
            raise ParameterError("The weight of every participant must be above zero. Leave out who does not count.")
        return weights

    def _evidence(self, mechanism: Mechanism, batch: Reports, plain: Evidence) -> Evidence:
        tallies, places, fractions = self._tallies(mechanism, batch)
        clustered, lopsided = self.clusters is not None, skewness(tallies)

        def units(scores: Any) -> Units:
            each = [
                Unit(*place, one.n, one.total, one.squared.n / one.units**2, scores(one))
                for place, one in zip(places, tallies, strict=True)
            ]
            return Units(tuple(each), fractions, clustered, self.traits)

        if isinstance(plain, GroupMeansEvidence):
            whole = reduce(add, tallies).weighted
            return weighed_groups(mechanism, plain.n, whole.cells / whole.n, units(GroupScores.of), lopsided)
        return weighed(plain, lambda like: units(lambda one: EvidenceScores(one, like)), lopsided)

    def _tallies(
        self, mechanism: Mechanism, batch: Reports
    ) -> tuple[list[WeightedTally], list[tuple[int, int, int]], NDArray[np.float64]]:
        """A weighted tally for each stratum, cluster and calibration cell, and the sampling fractions of strata."""
        n = len(batch)
        weights, size = fixed_point(self._weights(n))
        names, strata = _numbered(self.strata, n, "stratum")
        clusters = _numbered(self.clusters, n, "cluster")[1]
        cells = np.zeros(n, np.int64) if self.cells is None else self.cells
        kinds, place = np.unique(np.stack([strata, clusters, cells], axis=1), axis=0, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(place.ravel(), minlength=len(kinds)))
        public = None if batch.public is None else batch.public[order]
        moved = Reports(batch.mechanism, batch.payload[order], public, batch.simulated)
        starts = [0, *ends[:-1]]
        tallies = [
            weighted_tally(mechanism, moved[a:b], weights[order[a:b]], units=1)
            for a, b in zip(starts, ends, strict=True)
        ]
        units = [replace(one, units=size) for one in tallies]
        fractions = self._fractions(names, np.bincount(strata, minlength=len(names)))
        self._check_draws(names, strata, clusters)
        return units, [(int(h), int(c), int(k)) for h, c, k in kinds], fractions

    def _fractions(self, names: Sequence[object], counts: Ints) -> NDArray[np.float64]:
        """The share of the people of each stratum who take part."""
        if self.people is None:
            return np.zeros(len(names))
        if self.clusters is not None:
            raise ParameterError(
                "Numbers of people do not correct the variance of clusters: leave out 'people'. Intervals are then a"
                " little wide where many of all clusters were drawn."
            )
        known: Mapping[Any, int] = self.people if isinstance(self.people, Mapping) else {None: self.people}
        if {*known} != {*names}:
            raise ParameterError("The 'people' of a survey must name every stratum of its participants, and no other.")
        sizes = [check_people("people", "a survey", known[name]) for name in names]
        for name, count, size in zip(names, counts.tolist(), sizes, strict=True):
            if count > size:
                where = "The survey" if name is None else f"Stratum {name!r}"
                raise ParameterError(f"{where} has {count:,} reports, more than its {size:,} people.")
        return np.asarray(counts / np.array(sizes, float))

    def _check_draws(self, names: Sequence[object], strata: Ints, clusters: Ints) -> None:
        """Two draws in each stratum: one has no variance."""
        what = "cluster" if self.clusters is not None else "participant"
        for place, name in enumerate(names):
            inside = strata == place
            draws = len(np.unique(clusters[inside])) if self.clusters is not None else int(inside.sum())
            if draws < 2:
                where = "The survey" if name is None else f"Stratum {name!r}"
                then = "merge it with another stratum" if len(names) > 1 else f"it needs two {what}s"
                raise ParameterError(f"{where} has a single {what}, so its variance is unknown: {then}.")


def _numbered(column: Sequence[object] | None, n: int, what: str) -> tuple[list[object], Ints]:
    """The distinct names of a column, and the number of each entry's."""
    if column is None:
        return [None], np.zeros(n, np.int64)
    if len(column) != n:
        raise ParameterError(f"A survey needs a {what} for each of the {n} reports. Got {len(column)}.")
    places: dict[object, int] = {}
    try:
        codes = [places.setdefault(entry, len(places)) for entry in column]
    except TypeError:  # a list, for example
        raise ParameterError(f"Each {what} of a survey must be a text or a number.") from None
    return list(places), np.array(codes, np.int64)
