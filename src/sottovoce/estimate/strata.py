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
from sottovoce.core.params import check_integer
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.estimate import Estimate, sources_of
from sottovoce.estimate.evidence import Bounds, Evidence, Flags, Floats, weighted_without_fakes
from sottovoce.estimate.fakes import FakeReports
from sottovoce.estimate.request import Target


@dataclass(frozen=True, slots=True, eq=False)
class StrataEvidence(Evidence):
    """Independent evidences of the same question, and the number of people in each stratum."""

    methods: ClassVar[tuple[str, ...]] = ("normal",)
    default: ClassVar[str] = "normal"
    parts: tuple[Evidence, ...]
    people: tuple[int, ...]

    @property
    def noun(self) -> str:  # type: ignore[override]
        return self.parts[0].noun

    @property
    def axes(self) -> Axes:  # type: ignore[override]
        return self.parts[0].axes

    @property
    def n(self) -> int:  # type: ignore[override]
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


def over_strata(estimates: Mapping[str, Estimate], people: Mapping[str, int]) -> Estimate:
    """The estimate for all strata together, weighted by the number of people in each."""
    if {*estimates} != {*people} or len(people) < 2:
        raise ParameterError("Strata need an estimate and a number of people each, and there are at least two.")
    for name, count in people.items():
        check_integer("people", "a stratum", count, 1, 1 << 53)
        if estimates[name].n > count:
            raise ParameterError("A stratum has more reports than people.")
    names = list(people)
    first = estimates[names[0]]
    if any(part.question != first.question or list(part.labels) != list(first.labels) for part in estimates.values()):
        raise ParameterError("The estimates of strata must be about the same question.")
    evidence = StrataEvidence(tuple(estimates[name].evidence for name in names), tuple(people[name] for name in names))
    sources = sources_of(source for name in names for source in estimates[name].sources)
    simulated = any(part.simulated for part in estimates.values())
    return Estimate.of(first.question, evidence, sources, simulated=simulated)
