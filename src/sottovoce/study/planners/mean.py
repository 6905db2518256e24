"""Plans for a mean: methods ranked by their expected error; without a prior, robust ones first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.prior import Prior, expected_answers
from sottovoce.protocols.mean.adaptive import LEAST_EPSILON, LEAST_PARTICIPANTS
from sottovoce.study.planners.base import CLOSE, Option, Planner, Request, RootWays, no_method

ROBUST = 1.1  # times the least worst case: the largest variance of a first choice without a prior


@dataclass(frozen=True, slots=True)
class MeanCandidate:
    """A method with the variance of one answer: the average over the prior, and the largest."""

    mechanism: Mechanism
    variant: str
    average: float
    worst: float

    @property
    def size(self) -> int:
        """Bytes of a report beside its id."""
        return codec.payload_bytes(self.mechanism.channel)


@dataclass(frozen=True, slots=True)
class MeanPlanner(Planner):
    """With a prior, methods are ranked by their average under it, and one is designed for it.

    Without one, answers are assumed to be spread evenly, and methods come first whose variance at every answer is at
    most 10 % above the least possible worst case.
    """

    subject: ClassVar[str] = "Mean of a number"
    measure: ClassVar[str] = "the mean"

    domain: Domain
    belief: Prior
    informed: bool
    methods: tuple[str, ...]
    named: bool  # the methods were asked for by name
    spread: float  # added to the variance of one answer by sampling

    def ways(self, epsilon: Decimal) -> RootWays:
        candidates = [
            MeanCandidate(m, variant, m.average_variance(self.belief), m.worst_case_variance())
            for variant, m in self._built(epsilon)
        ]
        if not candidates:
            raise no_method(epsilon, self.methods)
        bound = math.inf if self.informed else ROBUST * (1 + 1e-6) * min(one.worst for one in candidates)
        least = min(one.average for one in candidates if one.worst <= bound)

        def rank(one: MeanCandidate) -> tuple[bool, float, float]:
            close = one.worst <= bound and one.average <= CLOSE**2 * least
            return (False, one.size, one.average) if close else (True, one.average, one.size)

        lowest = min(one.average for one in candidates)
        options = (self._option(one, lowest) for one in sorted(candidates, key=rank))
        return RootWays(tuple(options), math.sqrt(least + self.spread))

    def _built(self, epsilon: Decimal) -> Iterator[tuple[str, Mechanism]]:
        """Every method that supports the budget; a designed one in each of its variants."""
        for name in self.methods:
            variants: list[dict[str, Any]] = [{}]
            if name == "designed":
                variants = [{"objective": "balanced"}, {"objective": "worst-case"}]
                variants += [{"objective": "prior", "prior": self.belief}] if self.informed else []
            for options in variants:
                try:
                    built = build(name, self.domain, epsilon=epsilon, **options)
                except ParameterError:
                    continue
                if built.claimed_forever is None or self.named:  # devices keep a file for a memo
                    yield options.get("objective", ""), built

    def _option(self, one: MeanCandidate, least: float) -> Option:
        name = f"{one.mechanism.name} ({one.variant})" if one.variant else one.mechanism.name
        error = math.sqrt(one.average + self.spread)
        return Option(name, one.mechanism, error, one.size, self._reason(one, least))

    def _reason(self, one: MeanCandidate, least: float) -> str:
        ratio = math.sqrt(one.average / least)
        said = "no method has less noise" if ratio == 1 else f"{ratio:.3g} times the least noise"
        known = "under this prior" if self.informed else "if answers are spread evenly"
        return f"{said} {known}, and at the least favourable answer {math.sqrt(one.worst / least):.3g} times that."

    def trusted_error(self, epsilon: Decimal, participants: int) -> float | None:
        """Laplace noise on the sum, of the width of the range."""
        if self.domain.numbers is None:
            return None
        low, high, _ = self.domain.numbers
        return math.sqrt(2) * float(high - low) / float(epsilon) / participants

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterator[str]:
        if self.spread:
            noise = 1 - self.spread / (best.std_error**2 * participants)
            yield f"{noise:.0%} of its square is privacy noise and rounding, the rest is the spread of the answers."
        if not self.informed and epsilon >= LEAST_EPSILON and participants >= LEAST_PARTICIPANTS:
            yield (
                "If answers lie close together, `AdaptiveMeanRounds` learns where in a first round and has less noise."
            )


def planner(request: Request) -> MeanPlanner:
    """Checks the request; the prior is a `Prior`, or answers of earlier days."""
    request.refuse_mechanism()
    domain = request.question.domain
    belief = belief_of(domain, request.prior)
    spread = belief.variance if request.includes_sampling else 0.0
    methods, named = tuple(request.registered(Mean)), request.methods is not None
    return MeanPlanner(domain, belief, request.prior is not None, methods, named, spread)


def belief_of(domain: Domain, prior: Any) -> Prior:
    """The prior of the answers of a domain of numbers; by default they are spread evenly."""
    if prior is None or domain.numbers is None:
        return expected_answers(domain)
    belief = prior if isinstance(prior, Prior) else Prior.of(prior)
    low, high, origin = domain.numbers
    belief.scaled(float(low + origin), float(high + origin))  # refuses values outside the range
    return belief
