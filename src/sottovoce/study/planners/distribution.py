"""Plans for distributions: mechanisms ranked by the exact error of a cumulative share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from sottovoce.core import codec
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Distribution, Question
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.distribution.evidence import buckets_of, functional_variances
from sottovoce.study.planners.base import Option, Planner, Request, RootWays, no_method

TYPICAL = 10_000  # reports whose number of buckets is planned for


@dataclass(frozen=True, slots=True)
class DistributionPlanner(Planner):
    """By the standard error of the unbiased cumulative share, root mean square over the edges of all buckets."""

    question: Question
    methods: tuple[str, ...]

    @property
    def subject(self) -> str:
        return "The distribution"

    @property
    def measure(self) -> str:
        return "a cumulative share, root mean square over all of them"

    def ways(self, epsilon: Decimal) -> RootWays:
        found = []
        for name in self.methods:
            try:
                mechanism = build(name, self.question.domain, epsilon=epsilon)
                found.append((cumulative_error(mechanism), mechanism))
            except (ParameterError, TooLargeError):
                continue
        if not found:
            raise no_method(epsilon, self.methods)
        least = min(error for error, _ in found)
        options = (
            Option(mechanism.name, mechanism, error, codec.payload_bytes(mechanism.channel), _reason(error / least))
            for error, mechanism in sorted(found, key=lambda item: item[0])
        )
        return RootWays(tuple(options), least)


def cumulative_error(mechanism: Mechanism) -> float:
    """The standard error for one participant, if all buckets are equally common."""
    d = len(buckets_of(mechanism, TYPICAL))
    return math.sqrt(float(np.mean(functional_variances(mechanism, np.tri(d - 1, d), np.full(d, 1 / d)))))


def planner(request: Request) -> DistributionPlanner:
    """Checks the request."""
    request.refuse_mechanism()
    return DistributionPlanner(request.question, tuple(request.registered(Distribution)))


def _reason(ratio: float) -> str:
    return "no method has a smaller error." if ratio == 1 else f"{ratio:.3g} times the smallest error."
