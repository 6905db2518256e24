"""Plans for a mean: which method, how large its error, and how many participants or how much budget it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sottovoce.core import codec
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON, check_decimal, check_epsilon, check_integer, reject
from sottovoce.core.question import Mean
from sottovoce.core.registry import ALIASES, builder, names
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.estimate import check_target
from sottovoce.estimate.prior import Prior, expected_answers
from sottovoce.protocols.mean.adaptive import LEAST_EPSILON, LEAST_PARTICIPANTS
from sottovoce.study.plan import CLOSE, Option, Plan

ROBUST = 1.1  # times the least worst case: what a method may cost at any answer to be a first choice without a prior
_FIRST_BUDGETS = [
    Decimal(place) / 1000
    for place in (1, 2, 5, 10, 20, 50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12000)
]


def plan_mean(
    domain: Domain,
    *,
    epsilon: Any = None,
    participants: int | None = None,
    std_error: Any = None,
    prior: Any = None,
    methods: Sequence[str] | None = None,
    target: str = "population",
) -> Plan:
    """Rank the methods for a mean by their expected standard error, given two of epsilon, participants and std_error.

    The third is found: the error to expect, the participants needed, or the least epsilon that is enough. A `prior` (a
    `Prior`, or answers of earlier days) says what is believed of the answers: methods are ranked by their average under
    it, and one is designed for it. Without one, answers are taken to be spread evenly, and methods come first whose
    variance at *no* answer is more than 10 % above the least possible worst case.
    """
    check_target(target)
    if sum(given is None for given in (epsilon, participants, std_error)) != 1:
        raise ParameterError("A plan for a mean takes two of epsilon, participants and std_error, and finds the third.")
    belief = _belief(domain, prior)
    chosen = names(Mean) if methods is None else [ALIASES.get(name, name) for name in methods]
    for name in chosen:
        if builder(name) and name not in names(Mean):
            raise reject("methods", "plan_mean", f"names among {', '.join(names(Mean))}", name)
    spread = belief.variance if target == "population" else 0.0
    goal = None if std_error is None else _positive(std_error)
    n = None if participants is None else check_integer("participants", "plan_mean", participants, 1, 1 << 53)
    if epsilon is not None:
        check_epsilon("plan_mean", epsilon)
        ranked = _ranked(domain, epsilon, belief, prior is not None, chosen)
    elif n is not None and goal is not None:
        epsilon, ranked = _least_budget(domain, belief, prior is not None, chosen, n * goal**2 - spread)
    if n is None and goal is not None:
        n = max(1, math.ceil((ranked[0].average + spread) / goal**2))
    if n is None:
        raise AssertionError("Two of three are given.")
    return _plan(epsilon, n, ranked, spread, prior is not None, std_error)


def _belief(domain: Domain, prior: Any) -> Prior:
    numbers = domain.numbers if isinstance(domain, Domain) else None
    if numbers is None:
        raise reject("domain", "plan_mean", "a domain of numbers, such as Interval(0, 10)", domain)
    low, high = float(numbers.low + numbers.origin), float(numbers.high + numbers.origin)
    if prior is None:
        return expected_answers(domain)
    belief = prior if isinstance(prior, Prior) else Prior.of(prior)
    belief.scaled(low, high)  # refuses values outside the range
    return belief


def _positive(std_error: Any) -> float:
    goal = float(check_decimal("std_error", "plan_mean", std_error))
    if goal <= 0:
        raise reject("std_error", "plan_mean", "a positive number", std_error)
    return goal


@dataclass(frozen=True, slots=True)
class Candidate:
    """A method with the variance of one answer: the average over what is believed, and the largest."""

    mechanism: Mechanism
    variant: str
    average: float
    worst: float

    @property
    def size(self) -> int:
        """Bytes of a report beside its id."""
        return codec.payload_bytes(self.mechanism.channel)


def _ranked(domain: Domain, epsilon: Any, belief: Prior, informed: bool, chosen: Sequence[str]) -> list[Candidate]:
    """All methods, best first."""
    candidates = [
        Candidate(m, variant, m.average_variance(belief), m.worst_case_variance())
        for variant, m in _built(domain, epsilon, belief if informed else None, chosen)
    ]
    if not candidates:
        raise ParameterError(f"No method can ask for this mean with epsilon {epsilon}. Tried: {', '.join(chosen)}.")
    bound = math.inf if informed else ROBUST * (1 + 1e-6) * min(one.worst for one in candidates)
    least = min(one.average for one in candidates if one.worst <= bound)

    def rank(one: Candidate) -> tuple[bool, float, float]:
        close = one.worst <= bound and one.average <= CLOSE**2 * least
        return (False, one.size, one.average) if close else (True, one.average, one.size)

    return sorted(candidates, key=rank)


def _built(domain: Domain, epsilon: Any, prior: Prior | None, chosen: Sequence[str]) -> Iterator[tuple[str, Mechanism]]:
    """Every method that has room for the budget; a designed one in each of its variants."""
    for name in chosen:
        variants: list[dict[str, Any]] = [{}]
        if name == "designed":
            variants = [{"objective": "balanced"}, {"objective": "worst-case"}]
            variants += [{"objective": "prior", "prior": prior}] if prior is not None else []
        for options in variants:
            try:
                yield options.get("objective", ""), build(name, domain, epsilon=epsilon, **options)
            except ParameterError:
                continue


def _least_budget(
    domain: Domain, belief: Prior, informed: bool, chosen: Sequence[str], variance: float
) -> tuple[Decimal, list[Candidate]]:
    """The least epsilon, to two digits, at which one answer has this variance at most; found by halving."""
    if variance <= 0:
        raise ParameterError("Sampling alone makes the error larger than that: more participants are needed.")

    def enough(epsilon: Decimal) -> list[Candidate] | None:
        ranked = _ranked(domain, epsilon, belief, informed, chosen)
        return ranked if ranked[0].average <= variance else None

    high = _first(enough, [*_FIRST_BUDGETS, Decimal(MAX_EPSILON)])
    if high is None:
        raise ParameterError(f"No epsilon up to {MAX_EPSILON} is enough for that error: more participants are needed.")
    below = [budget for budget in _FIRST_BUDGETS if budget < high[0]]
    low, (best, ranked) = below[-1] if below else Decimal("0.0001"), high
    while True:
        digit = Decimal(1).scaleb(low.adjusted() - 1)  # the second digit
        middle = ((low + best) / 2).quantize(digit)
        if not low < middle < best:
            break
        found = enough(middle)
        low, best, ranked = (low, middle, found) if found is not None else (middle, best, ranked)
    return best, ranked


def _first(
    enough: Callable[[Decimal], list[Candidate] | None], budgets: Sequence[Decimal]
) -> tuple[Decimal, list[Candidate]] | None:
    """The first budget of a rising list that is enough."""
    low, high = 0, len(budgets)
    found: tuple[Decimal, list[Candidate]] | None = None
    while low < high:
        middle = (low + high) // 2
        ranked = enough(budgets[middle])
        if ranked is None:
            low = middle + 1
        else:
            high, found = middle, (budgets[middle], ranked)
    return found


def _plan(epsilon: Any, n: int, ranked: list[Candidate], spread: float, informed: bool, std_error: Any) -> Plan:
    first = ranked[0]
    least = min(one.average for one in ranked)
    options = tuple(
        Option(
            one.mechanism, math.sqrt((one.average + spread) / n), one.size, _reason(one, least, informed), one.variant
        )
        for one in ranked
    )
    asked = "" if std_error is None else f", where {std_error} was asked for"
    advice = (
        f"Take {options[0].method}: with {n:,} participants at epsilon {epsilon} expect a standard error of"
        f" {options[0].std_error:.4g}{asked}."
    )
    if spread:
        share = first.average / (first.average + spread)
        advice += f" {share:.0%} of its square is privacy noise and rounding, the rest is the spread of the answers."
    if not informed and check_epsilon("plan_mean", epsilon) >= LEAST_EPSILON and n >= LEAST_PARTICIPANTS:
        advice += (
            " If answers lie close together, `AdaptiveMeanRounds` learns where in a first round and has less noise."
        )
    return Plan(f"Mean of a number at epsilon {epsilon}", n, options, advice)


def _reason(one: Candidate, least: float, informed: bool) -> str:
    ratio = math.sqrt(one.average / least)
    said = "no method has less noise" if ratio == 1 else f"{ratio:.3g} times the least noise"
    known = "under this prior" if informed else "if answers are spread evenly"
    return f"{said} {known}, and at the least favourable answer {math.sqrt(one.worst / least):.3g} times that."
