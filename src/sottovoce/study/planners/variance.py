"""Plans for a variance: the method, the split of participants or budget, and the expected error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import ClassVar

from sottovoce.core.domain import Integers, Interval
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.exchange import codec
from sottovoce.core.params import reject
from sottovoce.estimate.prior import Prior
from sottovoce.protocols.variance.rounds import METHODS, VarianceRounds
from sottovoce.protocols.variance.shares import OFF, first_round
from sottovoce.study.planners.base import OWNER, Option, Planner, Request, Ways, no_method
from sottovoce.study.planners.mean import belief_of


@dataclass(frozen=True, slots=True)
class VariancePlanner(Planner):
    """The error is exact under the prior. A prior knows the mean, which favours methods of one round: so all are ranked
    by the error if the mean is half a standard deviation off. Each option holds its protocol, with the chosen share of
    participants or budget, or the chosen size of the first round.
    """

    fewest: ClassVar[int] = 100
    subject: ClassVar[str] = "Variance of a number"
    measure: ClassVar[str] = "the variance"
    domain: Integers | Interval
    prior: Prior | None
    methods: tuple[str, ...]
    mechanism: str | None

    def ways(self, epsilon: Decimal) -> VarianceWays:
        return VarianceWays(self, epsilon)

    def protocol(self, method: str, epsilon: Decimal, participants: int) -> VarianceRounds:
        """One method; if it has two rounds, with the first round of least expected error."""
        named = None if method == "same-reports" else self.mechanism
        first = self._first_round(epsilon, participants) if method == "sequential" else None
        return VarianceRounds(self.domain, epsilon, method=method, mechanism=named, prior=self.prior, first=first)

    def _first_round(self, epsilon: Decimal, participants: int) -> int:
        """Weighed with the squares about the expected mean."""
        about = self.protocol("split-n", epsilon, participants)
        number, square = (arm.mechanism for arm in about.start().arms)
        return first_round(number, square, about.believed, participants)


@dataclass(frozen=True, slots=True)
class VarianceWays(Ways):
    """Protocols, built for each number of participants; their order depends on it."""

    planner: VariancePlanner
    epsilon: Decimal
    by_participants: dict[int, tuple[Option, ...]] = field(default_factory=dict)

    def options(self, participants: int) -> tuple[Option, ...]:
        if participants not in self.by_participants:
            ranked = sorted(self._ranked(participants), key=lambda pair: pair[0])
            if not ranked:
                raise no_method(self.epsilon, self.planner.methods)
            self.by_participants[participants] = tuple(option for _, option in ranked)
        return self.by_participants[participants]

    def least(self, participants: int) -> float:
        return self.options(participants)[0].std_error

    def _ranked(self, n: int) -> Iterator[tuple[float, Option]]:
        """Options with the error if the mean is half a standard deviation off."""
        for method in self.planner.methods:
            try:
                protocol = self.planner.protocol(method, self.epsilon, n)
                arms = protocol.start().arms
            except (ParameterError, SpecError):  # does not support this domain or budget
                if len(self.planner.methods) == 1:
                    raise
                continue
            size = max(codec.payload_bytes(arm.mechanism.channel) for arm in arms)
            error, off = (protocol.predicted_error(n, off=doubt) for doubt in (0.0, OFF))
            yield off, Option(method, protocol, error, size, _reason(protocol, error, off))


def planner(request: Request) -> VariancePlanner:
    """Checks the request; the prior is a `Prior`, or answers of earlier days."""
    domain = request.question.domain.line
    if domain is None:
        raise reject("question", OWNER, "about a range of numbers (Integers or Interval)", request.question.domain)
    if not request.includes_sampling:
        raise reject("target", OWNER, "'population' for a variance", request.target)
    belief = None if request.prior is None else belief_of(domain, request.prior)
    return VariancePlanner(domain, belief, tuple(request.listed(METHODS)), request.mechanism)


def _reason(protocol: VarianceRounds, error: float, off: float) -> str:
    arms = protocol.start().arms
    if protocol.method == "split-n":
        share = arms[0].weight / sum(arm.weight for arm in arms)
        how = f"{share:.0%} of the participants report the number, the others its square about {protocol.about}"
    elif protocol.method == "sequential":
        how = f"{protocol.first:,} report the number first, the others the square of its distance from their mean"
    elif protocol.method == "split-eps":
        how = f"everyone reports the number with {protocol.budget} of epsilon, its square with the rest"
    else:
        how = "everyone reports the number by randomized response, and each report is read twice"
    said = "the same" if off <= error * (1 + 1e-9) else f"{off:.4g}"
    return f"{how}; {said} if the mean is half a standard deviation off."
