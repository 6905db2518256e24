"""Plans for several attributes: participants or the budget split over them, or one attribute among fakes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain import Domain, Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.attributes.evidence import part_mechanisms
from sottovoce.estimate.prior import expected_answers
from sottovoce.estimate.request import Target
from sottovoce.protocols.shares.attributes import SampledAttributes
from sottovoce.study.planners.base import OWNER, Option, Planner, Request, RootWays, no_method

SPLIT, FAKE = "sampled-attributes", "fake-attributes"
METHODS = (SPLIT, "split-attributes", FAKE)


@dataclass(frozen=True, slots=True)
class AttributesPlanner(Planner):
    """Ranked by error. Answers are taken to be spread evenly; errors of means are in lengths of their range."""

    measure: ClassVar[str] = "a share, or a mean in lengths of its range, root mean square over the attributes"

    record: Record
    methods: tuple[str, ...]
    target: Target

    @property
    def subject(self) -> str:
        return f"{len(self.record.fields)} attributes"

    def ways(self, epsilon: Decimal) -> RootWays:
        size = len(self.record.fields)
        candidates = []
        for count in range(1, size + 1):
            method = SPLIT if count < size else "split-attributes"
            if method in self.methods or (size == 1 and SPLIT in self.methods):
                protocol = SampledAttributes(self.record, epsilon, count)
                arms = [arm.mechanism for arm in protocol.start().arms]
                squares = np.mean([self._square(arm) for arm in arms]) * size / count
                width = max(codec.payload_bytes(arm.channel) for arm in arms)
                procedure = arms[0] if count == size else protocol
                candidates.append((math.sqrt(squares), f"{method} ({count} of {size})", procedure, width))
        if FAKE in self.methods:
            try:
                faked = build(FAKE, self.record, epsilon=epsilon)
            except ParameterError:
                pass  # it takes categories only
            else:
                candidates.append((math.sqrt(self._square(faked)), FAKE, faked, codec.payload_bytes(faked.channel)))
        if not candidates:
            raise no_method(epsilon, self.methods)
        candidates.sort(key=lambda item: item[0])
        least = candidates[0][0]
        options = (
            Option(name, procedure, error, width, _reason(error / least))
            for error, name, procedure, width in candidates
        )
        return RootWays(tuple(options), least)

    def _square(self, mechanism: Mechanism) -> float:
        """The mean squared error of one participant's report, averaged over the values of each attribute."""
        question: Any = mechanism.question  # `Attributes`
        fields = question.fields_of
        if mechanism.name == FAKE:
            truth = {name: np.full(part.size or 0, 1 / (part.size or 1)) for name, part in fields}
            variances = np.split(
                mechanism.variance(truth, 1, target=self.target), np.cumsum([p.size for _, p in fields])[:-1]
            )
            return float(np.mean([one.mean() for one in variances]))
        pairs = zip(fields, part_mechanisms(mechanism), strict=True)
        return float(np.mean([self._one(part, domain) for (_, domain), part in pairs]))

    def _one(self, part: Mechanism, domain: Domain) -> float:
        if domain.size is not None:
            return float(np.mean(part.variance(np.full(domain.size, 1 / domain.size), 1, target=self.target)))
        belief = expected_answers(domain)
        spread = belief.variance if self.target == Target.POPULATION else 0.0
        low, high, _ = domain.numbers or (0, 1, 0)
        return (part.average_variance(belief) + spread) / float(high - low) ** 2


def planner(request: Request) -> AttributesPlanner:
    """Checks the request."""
    request.refuse_mechanism()
    domain = request.question.domain
    if request.prior is not None:
        raise reject("prior", OWNER, "left out for several attributes", request.prior)
    if not isinstance(domain, Record):
        raise reject("question", OWNER, "about a record", domain)
    return AttributesPlanner(domain, tuple(request.listed(METHODS)), request.target)


def _reason(ratio: float) -> str:
    return "no method has a smaller error." if ratio == 1 else f"{ratio:.3g} times the smallest error."
