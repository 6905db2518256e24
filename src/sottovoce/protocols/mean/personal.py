"""Budgets chosen by the participants themselves: one arm for each budget on offer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, decimal_text, reject
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round
from sottovoce.estimate.combine import pooled
from sottovoce.estimate.mean.combine import precision
from sottovoce.estimate.prior import Prior
from sottovoce.protocols.effort import effort_of
from sottovoce.protocols.shares.personal import CHOSEN


@dataclass(frozen=True, slots=True)
class PersonalBudgetMean(Protocol):
    """The mean of a number; each participant chooses one of several budgets.

    Two estimates come out. "mean" weights the budgets by participants over the variance of one report, noise and spread
    of the answers, which is most precise if the choice of a budget is independent of the answer, and answers are
    distributed like the prior (evenly without one). The weights come from laws and counts, not from reports, so it is
    unbiased then; reports cannot show whether it is so, and its intervals always carry a doubt. "everyone" weights them
    by participants alone, and is the mean of all participants for any choices. `heterogeneity` tests whether the means
    of the budgets differ, and often misses differences that matter. The chosen budget itself is sent in the clear.

    Xue, Zhu, Wang, "Mean estimation over numeric data with personalized local differential privacy", 2021.
    """

    domain: Domain
    epsilons: tuple[Any, ...]
    method: str = "designed"
    prior: Prior | None = None

    def __init__(
        self, domain: Domain, epsilons: Iterable[Any], *, method: str = "designed", prior: Prior | None = None
    ) -> None:
        budgets = tuple(sorted({check_epsilon("a personal mean", epsilon) for epsilon in epsilons}))
        if method not in names(Mean):
            raise reject("method", "a personal mean", f"one of {', '.join(names(Mean))}", method)
        if not budgets:
            raise reject("epsilons", "a personal mean", "at least one budget", epsilons)
        for name, value in (("domain", domain), ("epsilons", budgets), ("method", method), ("prior", prior)):
            object.__setattr__(self, name, value)

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    @property
    def epsilon(self) -> Decimal:
        """The largest budget on offer."""
        largest: Decimal = self.epsilons[-1]
        return largest

    def effort(self) -> int:
        return sum(effort_of(self.method, epsilon) for epsilon in self.epsilons)

    def _mechanisms(self) -> list[Mechanism]:
        return [build(self.method, self.domain, epsilon=epsilon) for epsilon in self.epsilons]

    def start(self) -> Round:
        arms = (Arm(f"epsilon {decimal_text(m.claimed)}", m) for m in self._mechanisms())
        return Round(tuple(arms), chosen=True)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        (tallies,) = history
        arms = self.start().arms
        by_arm = {arm.name: arm.mechanism.estimate(tally) for arm, tally in zip(arms, tallies, strict=True) if tally.n}
        estimates = list(by_arm.values())
        precisions = [precision(one.mechanism, one.n, self.prior) for one in estimates]
        everyone = pooled(estimates, [one.n for one in estimates])
        return {
            "mean": replace(pooled(estimates, precisions), assumes=CHOSEN),
            "everyone": everyone,
            **by_arm,
        }
