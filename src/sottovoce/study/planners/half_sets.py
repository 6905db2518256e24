"""Plans for the shares of public half-sets: one method, with the exact error of a share near one half."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import numpy as np

from sottovoce.core.exchange import codec
from sottovoce.core.params import reject
from sottovoce.core.question import HalfSets, Question
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.request import Target
from sottovoce.study.planners.base import OWNER, Option, Planner, Request, RootWays

METHOD = "half-sets"


@dataclass(frozen=True, slots=True)
class HalfSetsPlanner(Planner):
    """All answers are taken to be equally common."""

    measure: ClassVar[str] = "the share of a half-set, root mean square over all sets"

    question: Question
    target: Target

    @property
    def subject(self) -> str:
        return f"Shares of half-sets of {self.question.domain.size} categories"

    def ways(self, epsilon: Decimal) -> RootWays:
        domain, fields = self.question.domain, self.question.fields()
        mechanism = build(METHOD, domain, epsilon=epsilon, **fields)
        size = domain.size or 1
        error = math.sqrt(float(np.mean(mechanism.variance(np.full(size, 1 / size), 1, target=self.target))))
        width = codec.payload_bytes(mechanism.channel)
        return RootWays((Option(METHOD, mechanism, error, width, "no method has a smaller error."),), error)


def planner(request: Request) -> HalfSetsPlanner:
    """Checks the request."""
    request.refuse_mechanism()
    request.registered(HalfSets)
    if request.prior is not None:
        raise reject("prior", OWNER, "left out for half-sets", request.prior)
    return HalfSetsPlanner(request.question, request.target)
