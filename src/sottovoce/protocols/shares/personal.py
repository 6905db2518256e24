"""Budgets chosen by the participants themselves, for shares: one arm for each budget on offer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.params import check_epsilon, decimal_text, reject
from sottovoce.core.question import Frequency
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.estimate.combine import pooled

CHOSEN = (
    "Participants chose their budgets, and this estimate assumes that the choice has nothing to do with the answer. The"
    " estimate named everyone holds for any choices."
)


@dataclass(frozen=True, slots=True)
class PersonalBudgetShares(Protocol):
    """The shares of categories; each participant chooses one of several budgets.

    Two estimates come out. "everyone" weights the budgets by participants, and is about all participants for any
    choices. "shares" weights them for the least variance. Its weights come from laws and numbers of participants, so it
    is unbiased only if the choice of a budget is independent of the answer, which reports cannot show: its intervals
    always carry a doubt. `heterogeneity` tests whether the shares of the budgets differ, and often misses differences
    that matter. The chosen budget itself is sent in the clear.
    """

    domain: Domain
    epsilons: tuple[Any, ...]
    method: str = "subset"

    def __init__(self, domain: Domain, epsilons: Iterable[Any], *, method: str = "subset") -> None:
        budgets = tuple(sorted({check_epsilon("personal shares", epsilon) for epsilon in epsilons}))
        if method not in names(Frequency):
            raise reject("method", "personal shares", f"one of {', '.join(names(Frequency))}", method)
        if not budgets:
            raise reject("epsilons", "personal shares", "at least one budget", epsilons)
        for name, value in (("domain", domain), ("epsilons", budgets), ("method", method)):
            object.__setattr__(self, name, value)

    @property
    def question(self) -> Frequency:
        return Frequency(self.domain)

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

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        (tallies,) = history
        arms = self.start().arms
        by_arm = {arm.name: arm.mechanism.estimate(tally) for arm, tally in zip(arms, tallies, strict=True) if tally.n}
        estimates = list(by_arm.values())
        everyone = pooled(estimates, [one.n for one in estimates])
        return {"shares": replace(pooled(estimates), assumes=CHOSEN), "everyone": everyone, **by_arm}
