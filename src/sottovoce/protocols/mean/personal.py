"""Budgets chosen by the participants themselves, for a mean: one arm for each budget on offer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from sottovoce.core.question import Mean
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.mean.combine import precision
from sottovoce.estimate.prior import Prior
from sottovoce.protocols.effort import effort_of
from sottovoce.protocols.shares.personal import PersonalBudgets


@dataclass(frozen=True, slots=True)
class PersonalBudgetMean(PersonalBudgets):
    """The mean of a number; each participant chooses one of several budgets.

    Two estimates come out. "mean" weights the budgets by participants over the variance of one report, noise and spread
    of the answers, which is most precise if the choice of a budget is independent of the answer, and answers are
    distributed like the prior (evenly without one). The weights come from laws and counts, not from reports, so it is
    unbiased then; reports cannot show whether it is so, and its intervals always carry a doubt. "everyone" weights them
    by participants alone, and is the mean of all participants for any choices. `heterogeneity` tests whether the means
    of the budgets differ, and often misses differences that matter. The chosen budget itself is sent in the clear.

    Xue, Zhu, Wang, "Mean estimation over numeric data with personalized local differential privacy", 2021.
    """

    asks: ClassVar[type[Mean]] = Mean
    owner: ClassVar[str] = "a personal mean"
    result: ClassVar[str] = "mean"
    method: str = field(default="designed", kw_only=True)
    prior: Prior | None = field(default=None, kw_only=True)

    def effort(self) -> int:
        return sum(effort_of(self.method, epsilon) for epsilon in self.epsilons)

    def weights(self, estimates: Sequence[Estimate]) -> list[float]:
        return [precision(one.mechanism, one.n, self.prior) for one in estimates]
