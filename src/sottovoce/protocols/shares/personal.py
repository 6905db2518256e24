"""Budgets chosen by the participants themselves, in general and for shares: one arm for each budget on offer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.domain import Domain
from sottovoce.core.params import check_epsilon, decimal_text, reject
from sottovoce.core.question import Frequency, GroupMean, Mean, Question, VectorMean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.estimate.combine import pooled
from sottovoce.estimate.estimate import Estimate

CHOSEN = (
    "Participants chose their budgets, and this estimate assumes that the choice has nothing to do with the answer. The"
    " estimate named everyone holds for any choices."
)


@dataclass(frozen=True, slots=True)
class PersonalBudgets(Protocol):
    """What protocols share in which each participant chooses one of several budgets, with one arm for each.

    Two estimates come out. "everyone" weights the budgets by participants, and is about all participants for any
    choices. `result` names the one that is most precise if the choice of a budget is independent of the answer, which
    reports cannot show: its intervals always carry a doubt.
    """

    asks: ClassVar[type[Frequency | Mean | VectorMean | GroupMean]]
    owner: ClassVar[str]
    result: ClassVar[str]
    domain: Domain
    epsilons: Sequence[Any]
    method: str = field(kw_only=True)

    def __post_init__(self) -> None:
        budgets = tuple(sorted({check_epsilon(self.owner, epsilon) for epsilon in self.epsilons}))
        if self.method not in names(self.asks):
            raise reject("method", self.owner, f"one of {', '.join(names(self.asks))}", self.method)
        if not budgets:
            raise reject("epsilons", self.owner, "at least one budget", self.epsilons)
        object.__setattr__(self, "epsilons", budgets)

    @property
    def question(self) -> Question:
        return self.asks.about(self.domain, {})

    @property
    def epsilon(self) -> Decimal:
        """The largest budget on offer."""
        largest: Decimal = self.epsilons[-1]
        return largest

    def effort(self) -> int:
        return ARM_EFFORT * len(self.epsilons)

    def start(self) -> Round:
        mechanisms = (build(self.method, self.domain, epsilon=epsilon) for epsilon in self.epsilons)
        return Round(tuple(Arm(f"epsilon {decimal_text(m.claimed)}", m) for m in mechanisms), chosen=True)

    def weights(self, estimates: Sequence[Estimate]) -> Sequence[float] | None:
        """The weights of the budgets in `result`; None for those of least variance."""
        return None

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        (tallies,) = history
        arms = self.start().arms
        by_arm = {arm.name: arm.mechanism.estimate(tally) for arm, tally in zip(arms, tallies, strict=True) if tally.n}
        estimates = list(by_arm.values())
        result = replace(pooled(estimates, self.weights(estimates)), assumes=CHOSEN)
        return {self.result: result, "everyone": pooled(estimates, [one.n for one in estimates]), **by_arm}


@dataclass(frozen=True, slots=True)
class PersonalBudgetShares(PersonalBudgets):
    """The shares of categories; each participant chooses one of several budgets.

    Two estimates come out. "everyone" weights the budgets by participants, and is about all participants for any
    choices. "shares" weights them for the least variance. Its weights come from laws and numbers of participants, so it
    is unbiased only if the choice of a budget is independent of the answer, which reports cannot show: its intervals
    always carry a doubt. `heterogeneity` tests whether the shares of the budgets differ, and often misses differences
    that matter. The chosen budget itself is sent in the clear.
    """

    asks: ClassVar[type[Frequency]] = Frequency
    owner: ClassVar[str] = "personal shares"
    result: ClassVar[str] = "shares"
    method: str = field(default="subset", kw_only=True)
