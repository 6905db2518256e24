"""Plans for distributions: mechanisms ranked by the exact error of a cumulative share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from sottovoce.core import codec
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Distribution
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.distribution.evidence import buckets_of, functional_variances
from sottovoce.mechanisms.distribution.common import MOST_CODES
from sottovoce.study.planners.base import Option, Planner, Request, RootWays, no_method

BUCKETS = 64  # of a range for which all methods are compared, where the question names no number


@dataclass(frozen=True, slots=True)
class DistributionPlanner(Planner):
    """By the standard error of the unbiased cumulative share, root mean square over the edges of all buckets.

    All methods tell the same buckets apart: one that has fewer of them has less noise, but does not see what is inside.
    """

    question: Distribution
    methods: tuple[str, ...]

    @property
    def subject(self) -> str:
        return "The distribution"

    @property
    def measure(self) -> str:
        return "a cumulative share, root mean square over all of them"

    def ways(self, epsilon: Decimal) -> RootWays:
        found, asked = [], self.question
        buckets = asked.buckets or min(asked.domain.size or BUCKETS, MOST_CODES)
        for name in self.methods:
            try:
                mechanism = build(name, asked.domain, epsilon=epsilon, buckets=buckets, workload=asked.workload)
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
    d = len(buckets_of(mechanism, 1))
    return math.sqrt(float(np.mean(functional_variances(mechanism, np.tri(d - 1, d), np.full(d, 1 / d)))))


def planner(request: Request) -> DistributionPlanner:
    """Checks the request."""
    request.refuse_mechanism()
    question = request.question
    if not isinstance(question, Distribution):
        raise ParameterError(f"There is no plan for a question of kind {question.kind}: plan for the distribution.")
    return DistributionPlanner(question, tuple(request.registered(Distribution)))


def _reason(ratio: float) -> str:
    return "no method has a smaller error." if ratio == 1 else f"{ratio:.3g} times the smallest error."
