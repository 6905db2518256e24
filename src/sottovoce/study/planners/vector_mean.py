"""Plans for the mean of a vector: the method for given coordinates, participants and budget."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import singledispatch

import numpy as np

from sottovoce.core.channel.facets import Coordinates, need
from sottovoce.core.domain import Ball, Box, Domain, Sparse
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import VectorMean
from sottovoce.core.registry import builder
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.prior import Prior, expected_answers
from sottovoce.estimate.request import Target
from sottovoce.study.planners.base import CLOSE, OWNER, Option, Planner, Request, RootWays, no_method
from sottovoce.study.planners.mean import belief_of

# Building blocks of a method: coordinates are randomized one by one, entries of a sparse vector by an oracle.
VARIANTS = {
    "inner": ("designed", "hybrid", "piecewise", "bernoulli"),
    "oracle": ("hadamard", "grr", "signs", "hints"),
}


@dataclass(frozen=True, slots=True)
class VectorPlanner(Planner):
    """The domain describes the vectors: numbers of a range each (`Box`, or a record of numbers), a length (`Ball`), or
    few nonzero entries (`Sparse`). Without a prior of one coordinate, answers are assumed to be spread evenly: over
    each range; over all directions of a vector of full length; for a sparse vector, over all places.

    Methods within two percent of the smallest error come first, those with short reports before others; a method that
    is exact comes before one that is idealised.
    """

    domain: Domain
    prior: Prior | None
    methods: tuple[str, ...]
    target: Target

    @property
    def dimensions(self) -> int:
        """Numbers of a vector."""
        parts = self.domain.coordinates
        return int(self.domain.dimensions if parts is None else len(parts))  # type: ignore[attr-defined]

    @property
    def subject(self) -> str:
        return f"Mean of a vector of {self.dimensions} numbers"

    @property
    def measure(self) -> str:
        if self.domain.fields:
            return "a field's mean in units of its range, root mean square over all fields"
        return "a coordinate's mean, root mean square over all coordinates"

    def ways(self, epsilon: Decimal) -> RootWays:
        candidates = [
            (
                math.sqrt(mean_coordinate_variance(mechanism, self.prior, 1, target=self.target)),
                codec.payload_bytes(mechanism.channel),
                variant,
                mechanism,
            )
            for variant, mechanism in self._built(epsilon)
        ]
        if not candidates:
            raise no_method(epsilon, self.methods)
        least = min(error for error, *_ in candidates)
        candidates.sort(key=lambda one: _rank(one[3], one[0] / least, one[1]))
        options = (
            Option(
                f"{mechanism.name} ({variant})" if variant else mechanism.name,
                mechanism,
                error,
                size,
                _reason(mechanism, error / least),
            )
            for error, size, variant, mechanism in candidates
        )
        return RootWays(tuple(options), least)

    def _built(self, epsilon: Decimal) -> Iterator[tuple[str, Mechanism]]:
        """Every method that supports the domain and the budget, in each of its variants."""
        for name in self.methods:
            known = inspect.signature(builder(name)).parameters
            kind = next((kind for kind in VARIANTS if kind in known), None)
            seen = set()
            for variant in VARIANTS.get(kind or "", ("",)):
                try:
                    mechanism = build(name, self.domain, epsilon=epsilon, **({kind: variant} if kind else {}))
                except ParameterError:
                    continue
                if mechanism.channel not in seen:  # small budgets make a hybrid of one part only
                    seen.add(mechanism.channel)
                    several = f", {need(mechanism.channel, Coordinates).chosen} at a time" if name == "sampled" else ""
                    yield f"{variant}{several}", mechanism

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterator[str]:
        if self.dimensions > 1:
            errors = math.sqrt(2 * math.log(2 * self.dimensions / 0.05))
            yield f"All {self.dimensions} means at once lie within about {errors:.2g} standard errors."


def planner(request: Request) -> VectorPlanner:
    """Checks the request; the prior is a `Prior` of one coordinate."""
    request.refuse_mechanism()
    domain, prior = request.question.domain, request.prior
    bounded_together = isinstance(domain, (Ball, Sparse))
    if not bounded_together and not _is_numbers(domain):
        raise reject("question", OWNER, "about a Box, a Ball, a Sparse, or a record of numbers", domain)
    if prior is not None and (bounded_together or not isinstance(prior, Prior)):
        must_be = "left out for a Ball or a Sparse" if isinstance(prior, Prior) else "a Prior of one coordinate"
        raise reject("prior", OWNER, must_be, prior)
    for part in domain.coordinates or ():
        belief_of(part, prior)  # refuses a prior outside the range
    return VectorPlanner(domain, prior, tuple(request.registered(VectorMean)), request.target)


def _is_numbers(domain: object) -> bool:
    parts = domain.coordinates if isinstance(domain, Domain) else None
    return parts is not None and all(part.numbers is not None for part in parts)


def mean_coordinate_variance(
    mechanism: Mechanism, prior: Prior | None, n: int, *, target: Target = Target.POPULATION
) -> float:
    """The mean, over the coordinates, of the expected variance; for a record, in units of the ranges."""
    return _mean_variance(mechanism.domain, mechanism, prior, n, target)


@singledispatch
def _mean_variance(domain: Domain, mechanism: Mechanism, prior: Prior | None, n: int, target: Target) -> float:
    parts = domain.coordinates or ()
    variances = mechanism.variance(
        [expected_answers(part) if prior is None else prior for part in parts], n, target=target
    )
    ranges = np.array([float(part.numbers.high - part.numbers.low) for part in parts if part.numbers is not None])
    return float((variances / ranges**2).mean())


@_mean_variance.register
def _(domain: Box, mechanism: Mechanism, prior: Prior | None, n: int, target: Target) -> float:
    belief = expected_answers(domain.side) if prior is None else prior
    return float(mechanism.variance(belief, n, target=target).mean())


@_mean_variance.register
def _(domain: Sparse, mechanism: Mechanism, prior: Prior | None, n: int, target: Target) -> float:
    return float(mechanism.variance({}, n, target=target).mean())


@_mean_variance.register
def _(domain: Ball, mechanism: Mechanism, prior: Prior | None, n: int, target: Target) -> float:
    """Variance of a coordinate, for vectors of any direction."""
    even = np.full(domain.dimensions, float(domain.radius) / math.sqrt(domain.dimensions) * (1 - 1e-12))
    spread = float(domain.radius) ** 2 / domain.dimensions if target == Target.POPULATION else 0.0
    return float(mechanism.variance(even, n, target=target).mean()) + spread / n


def _rank(mechanism: Mechanism, ratio: float, size: int) -> tuple[bool, bool, float, float]:
    idealised = not mechanism.guarantee.is_pure
    return (False, idealised, size, ratio) if ratio <= CLOSE else (True, idealised and ratio <= CLOSE, ratio, size)


def _reason(mechanism: Mechanism, ratio: float) -> str:
    said = "no method has a smaller error" if ratio == 1 else f"{ratio:.3g} times the smallest error"
    remark = mechanism.guarantee.remark
    kept = f"; its privacy is {remark}, computed with floats" if remark else ""
    return f"{said}{kept}."
