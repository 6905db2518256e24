"""Plans for a variance: which method, how to share out participants and budget, and what error to expect."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sottovoce.core import codec
from sottovoce.core.domain import Domain, Integers, Interval
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.estimate.prior import Prior
from sottovoce.protocols.variance.rounds import METHODS, VarianceRounds
from sottovoce.protocols.variance.shares import OFF, first_round
from sottovoce.study.plan import Option, Plan

OWNER = "plan_variance"
FEWEST = 100  # participants of a plan


@dataclass(frozen=True, slots=True)
class VarianceOption(Option):
    """One way to learn a variance, ready to run."""

    protocol: VarianceRounds | None = None
    std_error_off: float = math.nan  # where the mean is half a standard deviation off

    @property
    def method(self) -> str:
        """That of the protocol."""
        return self.variant


def plan_variance(
    domain: Domain,
    *,
    epsilon: Any,
    participants: int,
    prior: Any = None,
    methods: Sequence[str] | None = None,
    mechanism: str | None = None,
) -> Plan:
    """Rank the ways to learn a variance by the standard error to expect.

    A `prior` (a `Prior`, or answers of earlier days) says what is believed of the answers; without one they are taken
    to be spread evenly. The error is exact under that belief. A belief knows the mean, though, which is what methods of
    one round profit from: so all are ranked by the error where the mean is half a standard deviation off. Each option
    holds its `protocol`, with the share of participants or budget, or the size of the first round, chosen.
    """
    n = check_integer("participants", OWNER, participants, FEWEST, 1 << 53)
    check_epsilon(OWNER, epsilon)
    if not isinstance(domain, (Integers, Interval)):
        raise reject("domain", OWNER, "a range of numbers (Integers or Interval)", domain)
    belief = prior if isinstance(prior, Prior) or prior is None else Prior.of(prior)
    chosen = METHODS if methods is None else tuple(methods)
    for name in chosen:
        if name not in METHODS:
            raise reject("methods", OWNER, f"names among {', '.join(METHODS)}", name)
    found = sorted(_options(domain, epsilon, n, belief, chosen, mechanism), key=lambda option: option.std_error_off)
    if not found:
        raise ParameterError(f"No method can ask for this variance with epsilon {epsilon}. Tried: {', '.join(chosen)}.")
    return Plan(f"Variance of a number at epsilon {epsilon}", n, tuple(found), _advice(found[0], epsilon, n))


def _options(
    domain: Integers | Interval,
    epsilon: Any,
    n: int,
    prior: Prior | None,
    methods: Sequence[str],
    mechanism: str | None,
) -> Iterator[VarianceOption]:
    for method in methods:
        named = None if method == "same-reports" else mechanism
        try:
            protocol = VarianceRounds(
                domain,
                epsilon,
                method=method,
                mechanism=named,
                prior=prior,
                first=_first(domain, epsilon, n, prior, named) if method == "sequential" else None,
            )
            arms = protocol.start().arms
        except (ParameterError, SpecError):  # not for this domain, no room for the budget, or too many joint cells
            if len(methods) == 1:
                raise
            continue
        size = max(codec.payload_bytes(arm.mechanism.channel) for arm in arms)
        error, off = (protocol.predicted_error(n, off=doubt) for doubt in (0.0, OFF))
        yield VarianceOption(arms[-1].mechanism, error, size, _reason(protocol, error, off, n), method, protocol, off)


def _first(domain: Integers | Interval, epsilon: Any, n: int, prior: Prior | None, mechanism: str | None) -> int:
    """The first round of least expected error, weighed with the squares about the mean that is expected."""
    about = VarianceRounds(domain, epsilon, method="split-n", mechanism=mechanism, prior=prior)
    number, square = (arm.mechanism for arm in about.start().arms)
    return first_round(number, square, about.believed, n)


def _reason(protocol: VarianceRounds, error: float, off: float, n: int) -> str:
    arms = protocol.start().arms
    if protocol.method == "split-n":
        share = arms[0].weight / sum(arm.weight for arm in arms)
        how = f"{share:.0%} of the participants tell the number, the others its square about {protocol.about}"
    elif protocol.method == "sequential":
        how = f"{protocol.first:,} tell the number first, the others the square of its distance from their mean"
    elif protocol.method == "split-eps":
        how = f"everyone tells the number with {protocol.budget} of epsilon, its square with the rest"
    else:
        how = "everyone tells the number by randomized response, and each report is read twice"
    said = "the same" if off <= error * (1 + 1e-9) else f"{off:.4g}"
    return f"{how}; {said} if the mean is half a standard deviation off."


def _advice(best: VarianceOption, epsilon: Any, n: int) -> str:
    return (
        f"Take {best.method}: with {n:,} participants at epsilon {epsilon} expect a standard error of the variance of"
        f" {best.std_error:.4g}."
    )
