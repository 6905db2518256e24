"""The mean of numbers that are clamped to a range, and what clamping costs, in one round."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Any

from sottovoce.core.domain import Above, Clamp, Domain, Integers, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, check_integer, check_people, reject
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.protocols.effort import effort_of
from sottovoce.protocols.ranges.results import partial_estimates, range_estimates

OWNER = "a clamped mean"
WEIGHTS = 1000  # of the arms together
OF_SHARES = 0.3  # of those asked about the part beyond: whether they lie there; the others by how much
FEW = 40  # participants who are expected in each arm about the part beyond
MOST = 0.05  # of all, in such an arm if there are few


@dataclass(frozen=True, slots=True)
class ClampedMeanRound(Protocol):
    """The mean of a number of a wide domain, through numbers clamped to the range from `low` to `high`.

    Most participants answer with their number, clamped to the range, through `method`. A small share `tails` of them is
    asked about the part beyond it instead, so that the bias of clamping is estimated too.

    Results: "range" (its ends, and the shares beyond them), "clamped" (the mean of clamped numbers), "clipping" (how
    much higher that is than the mean), "corrected" (the difference: unbiased, and noisy if the domain is wide) and
    "mean": the clamped mean, with an interval for the mean itself.

    `participants` is how many are expected; `searchers` is how many others were asked to find the range. `mean_square`
    is a bound that the mean square of all numbers certainly keeps, if one is known: it limits what may lie far beyond.
    """

    domain: Integers | Interval
    epsilon: Any
    low: Any
    high: Any
    participants: int
    method: str = "designed"
    tails: Any = Decimal("0.04")
    searchers: int = 0
    mean_square: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.line is None:
            raise reject("domain", OWNER, "an Interval or Integers of any width", self.domain)
        if self.method not in names(Mean):
            raise reject("method", OWNER, f"one of {', '.join(names(Mean))}", self.method)
        plain: dict[str, Any] = {
            "epsilon": check_epsilon(OWNER, self.epsilon),
            "low": check_decimal("low", OWNER, self.low),
            "high": check_decimal("high", OWNER, self.high),
            "participants": check_people("participants", OWNER, self.participants),
            "searchers": check_integer("searchers", OWNER, self.searchers, 0, 1 << 53),
            "tails": check_decimal("tails", OWNER, self.tails),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)
        if not 0 < self.tails <= Decimal("0.5"):
            raise reject("tails", OWNER, "a share in (0, 0.5]", self.tails)
        object.__setattr__(self, "mean_square", check_square(OWNER, self.mean_square))
        Clamp(self.domain, self.low, self.high)  # refuses a range outside the domain

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    def effort(self) -> int:
        return 2 * effort_of("bernoulli", self.epsilon) + effort_of(self.method, self.epsilon)

    def start(self) -> Round:
        """Clamped numbers, and for each end inside the domain the share beyond it and the mean of the part there."""
        domain, low, high = self.domain, self.low, self.high
        beyond = {"low": (Decimal(domain.low), low), "high": (high, Decimal(domain.high))}
        cut = {name: ends for name, ends in beyond.items() if ends[0] < ends[1]}
        length = sum(float(end - start) for start, end in cut.values())
        arms = []
        for name, (start, end) in cut.items():
            asked = Above(domain, low if name == "low" else high)
            arms.append(Arm(f"share at {name}", self._build("rr", asked), self._weight(OF_SHARES / len(cut))))
            part = (1 - OF_SHARES) * float(end - start) / length
            arms.append(Arm(f"beyond {name}", self._build("bernoulli", Clamp(domain, start, end)), self._weight(part)))
        number = self._build(self.method, Clamp(domain, low, high))
        return Round((Arm("number", number, WEIGHTS - sum(arm.weight for arm in arms)), *arms))

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        (tallies,) = history
        number = tallies[0]
        if not closing or all(tally.n for tally in tallies):
            square = None if self.mean_square is None else float(self.mean_square)
            return range_estimates(self.domain, tallies, self.searchers, square)
        if not number.n:
            raise ParameterError("Nothing can be estimated yet: no number was reported.")
        silent = "Closed early: nobody was asked about a part beyond the range, so the cost of clamping is unknown."
        return partial(partial_estimates(self.domain, tallies), silent)

    def _build(self, name: str, domain: Domain) -> Mechanism:
        return build(name, domain, epsilon=self.epsilon)

    def _weight(self, part: float) -> int:
        """The weight of an arm about the part beyond, for its share of `tails`: enough for a few participants."""
        few = min(MOST, FEW / self.participants)
        return ceil(WEIGHTS * max(float(self.tails) * part, few))


def check_square(owner: str, stated: Any) -> Decimal | None:
    """A bound of a mean square, if one is stated."""
    square = None if stated is None else check_decimal("mean_square", owner, stated)
    if square is not None and square <= 0:
        raise reject("mean_square", owner, "a positive number, or none", stated)
    return square
