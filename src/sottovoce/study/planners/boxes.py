"""Plans for the shares of boxes: exact errors, averaged over all boxes, at equal shares of all cells."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.exchange import codec
from sottovoce.core.params import reject
from sottovoce.core.question import Boxes
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.boxes.grid import Grid
from sottovoce.estimate.boxes.queries import BoxQueries
from sottovoce.estimate.request import Target
from sottovoce.study.planners.base import OWNER, Option, Planner, Request, RootWays


@dataclass(frozen=True, slots=True)
class BoxesPlanner(Planner):
    """All cells are taken to be equally common."""

    measure: ClassVar[str] = "the share of a box, root mean square over all boxes"

    question: Boxes
    methods: tuple[str, ...]
    target: Target

    @property
    def subject(self) -> str:
        return f"Shares of boxes over {', '.join(name for name, _ in self.question.domain.fields)}"

    def ways(self, epsilon: Decimal) -> RootWays:
        options = sorted((self._option(name, epsilon) for name in self.methods), key=lambda one: one.std_error)
        return RootWays(tuple(options), options[0].std_error)

    def _option(self, name: str, epsilon: Decimal) -> Option:
        built = build(name, self.question.domain, epsilon=epsilon, buckets=self.question.buckets)
        mechanism = replace(built, question=self.question)  # with the boxes that results list
        view: Any = mechanism.domain  # `Select`
        shape = Grid.of(view).shape
        error = math.sqrt(BoxQueries.over(shape).mean_variance(mechanism.channel, self.target))
        reason = f"unbiased for all boxes over {' x '.join(map(str, shape))} cells, with intervals."
        return Option(name, mechanism, error, codec.payload_bytes(mechanism.channel), reason)


def planner(request: Request) -> BoxesPlanner:
    """Checks the request."""
    request.refuse_mechanism()
    if request.prior is not None:
        raise reject("prior", OWNER, "left out for boxes", request.prior)
    question: Any = request.question  # `Boxes`
    return BoxesPlanner(question, tuple(request.registered(Boxes)), request.target)
