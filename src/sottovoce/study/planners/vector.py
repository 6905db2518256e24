"""Plans for the mean of a vector: which method for how many coordinates, participants and which budget."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sottovoce.core import codec
from sottovoce.core.channel.facets import Coordinates, dimensions_of, need
from sottovoce.core.domain import Ball, Box, Domain, Sparse
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import VectorMean
from sottovoce.core.registry import builder, names
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.prior import Prior, expected_answers
from sottovoce.study.plan import CLOSE, Option, Plan

# What a method may be built on: coordinates are randomized one by one, entries of a sparse vector by an oracle.
VARIANTS = {
    "inner": ("designed", "hybrid", "piecewise", "bernoulli"),
    "oracle": ("hadamard", "grr", "signs", "hints"),
}


def plan_vector(
    domain: Domain,
    *,
    epsilon: Any,
    participants: int,
    prior: Prior | None = None,
    methods: Sequence[str] | None = None,
) -> Plan:
    """Rank the methods for a vector by the root mean square, over its coordinates, of their standard errors.

    The domain says what is known of the vectors: numbers of a range each (`Box`, or a record of numbers), a length
    (`Ball`), or few entries that are not zero (`Sparse`). Without a `prior` of one coordinate, answers are taken to be
    spread evenly: over each range; over all directions of a vector of full length; a sparse vector, over all places.
    For a record errors are in units of each field's range. Methods within two percent of the smallest error come
    first, those with short reports before others; a method that is exact comes before one that is idealised.
    """
    n = check_integer("participants", "plan_vector", participants, 1, 1 << 53)
    check_epsilon("plan_vector", epsilon)
    if not isinstance(domain, (Ball, Sparse)) and not _is_numbers(domain):
        raise reject("domain", "plan_vector", "a Box, a Ball, a Sparse, or a record of numbers", domain)
    for name in methods or ():
        if builder(name) and name not in names(VectorMean):
            raise reject("methods", "plan_vector", f"names among {', '.join(names(VectorMean))}", name)
    found = [
        (
            math.sqrt(mean_coordinate_variance(mechanism, prior, n)),
            codec.payload_bytes(mechanism.channel),
            variant,
            mechanism,
        )
        for variant, mechanism in _built(domain, epsilon, names(VectorMean) if methods is None else methods)
    ]
    if not found:
        raise ParameterError(f"No method takes these vectors with epsilon {epsilon}.")
    least = min(error for error, *_ in found)
    found.sort(key=lambda one: _rank(one[3], one[0] / least, one[1]))
    options = tuple(
        Option(mechanism, error, size, _reason(mechanism, error / least), variant)
        for error, size, variant, mechanism in found
    )
    dimensions = dimensions_of(options[0].mechanism.channel)
    question = f"Mean of a vector of {dimensions} numbers at epsilon {epsilon}"
    return Plan(question, n, options, _advice(options[0], n, dimensions or 0))


def _is_numbers(domain: object) -> bool:
    parts = domain.coordinates if isinstance(domain, Domain) else None
    return parts is not None and all(part.numbers is not None for part in parts)


def _built(domain: Domain, epsilon: Any, methods: Sequence[str]) -> Iterator[tuple[str, Mechanism]]:
    """Every method that takes the domain and has room for the budget, in each of its variants."""
    for name in methods:
        known = inspect.signature(builder(name)).parameters
        kind = next((kind for kind in VARIANTS if kind in known), None)
        seen = set()
        for variant in VARIANTS.get(kind or "", ("",)):
            try:
                mechanism = build(name, domain, epsilon=epsilon, **({kind: variant} if kind else {}))
            except ParameterError:
                continue
            if mechanism.channel not in seen:  # small budgets make a hybrid of one part only
                seen.add(mechanism.channel)
                several = f", {need(mechanism.channel, Coordinates).chosen} at a time" if name == "sampled" else ""
                yield f"{variant}{several}", mechanism


def mean_coordinate_variance(mechanism: Mechanism, prior: Prior | None, n: int) -> float:
    """The mean, over the coordinates, of the variance that is expected; for a record, in units of the ranges."""
    domain = mechanism.domain
    if isinstance(domain, Ball):
        even = np.full(domain.dimensions, float(domain.radius) / math.sqrt(domain.dimensions) * (1 - 1e-12))
        spread = float(domain.radius) ** 2 / domain.dimensions  # of a coordinate, where vectors point everywhere
        return float(mechanism.variance(even, n).mean()) + spread / n
    if isinstance(domain, Sparse):
        return float(mechanism.variance({}, n).mean())
    parts = domain.coordinates or ()
    if isinstance(domain, Box):
        belief = expected_answers(parts[0]) if prior is None else prior
        return float(mechanism.variance(belief, n).mean())
    each = mechanism.variance([expected_answers(part) if prior is None else prior for part in parts], n)
    ranges = np.array([float(part.numbers.high - part.numbers.low) for part in parts if part.numbers is not None])
    return float((each / ranges**2).mean())


def _rank(mechanism: Mechanism, ratio: float, size: int) -> tuple[bool, bool, float, float]:
    idealised = mechanism.guarantee != "pure"
    return (False, idealised, size, ratio) if ratio <= CLOSE else (True, idealised and ratio <= CLOSE, ratio, size)


def _reason(mechanism: Mechanism, ratio: float) -> str:
    said = "no method has a smaller error" if ratio == 1 else f"{ratio:.3g} times the smallest error"
    kept = "" if mechanism.guarantee == "pure" else f"; its privacy is {mechanism.guarantee}, computed with floats"
    return f"{said}{kept}."


def _advice(first: Option, n: int, dimensions: int) -> str:
    all_at_once = math.sqrt(2 * math.log(2 * dimensions / 0.05)) if dimensions > 1 else 1.96
    return (
        f"Take {first.method}: with {n:,} participants expect a standard error of {first.std_error:.4g} in each"
        f" coordinate; all {dimensions} means at once lie within about {all_at_once:.2g} of these."
    )
