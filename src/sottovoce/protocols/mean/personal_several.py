"""Budgets chosen by the participants themselves, for the means of a vector and for means by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from sottovoce.core.channel.facets import Coordinates, facet
from sottovoce.core.question import GroupMean, VectorMean
from sottovoce.estimate.estimate import Estimate
from sottovoce.protocols.shares.personal import PersonalBudgets


@dataclass(frozen=True, slots=True)
class PersonalBudgetVector(PersonalBudgets):
    """The mean of each coordinate of a vector; each participant chooses one of several budgets.

    Two estimates come out. "means" weights the budgets by participants over the variance of a coordinate, noise and
    spread of even answers, and holds if the choice of a budget is independent of the answers; its intervals always
    carry a doubt. "everyone" weights them by participants, and holds for any choices. The chosen budget is sent in the
    clear.

    Shen, Xia, Yu, "PLDP: personalized local differential privacy for multidimensional data aggregation", 2021.
    """

    asks: ClassVar[type[VectorMean]] = VectorMean
    owner: ClassVar[str] = "a personal vector"
    result: ClassVar[str] = "means"
    method: str = field(default="sampled", kw_only=True)

    def weights(self, estimates: Sequence[Estimate]) -> list[float]:
        return [1 / _coordinate_variance(one) for one in estimates]


def _coordinate_variance(estimate: Estimate) -> float:
    """The variance of a coordinate's mean, averaged over coordinates, for answers spread evenly over the range."""
    mechanism, (low, high) = estimate.mechanism, (np.asarray(end, float) for end in estimate.evidence.limits)
    middle = np.broadcast_to((low + high) / 2, len(estimate.values))
    noise = mechanism.variance(middle, estimate.n)
    counted = facet(mechanism.channel, Coordinates)
    share = 1.0 if counted is None else counted.chosen / len(middle)
    return float(np.mean(noise + (high - low) ** 2 / 12 / (estimate.n * share)))


@dataclass(frozen=True, slots=True)
class PersonalBudgetGroups(PersonalBudgets):
    """The mean of a number by private group; each participant chooses one of several budgets.

    Sizes and sums of all budgets are added with weights, and a mean is their ratio. "means" weights the budgets by the
    expected precision of a group's mean, and holds if the choice of a budget is independent of group and answer; its
    intervals always carry a doubt. "everyone" weights them by participants, and holds for any choices. The chosen
    budget is sent in the clear.
    """

    asks: ClassVar[type[GroupMean]] = GroupMean
    owner: ClassVar[str] = "personal group means"
    result: ClassVar[str] = "means"
    method: str = field(default="group-piecewise", kw_only=True)

    def weights(self, estimates: Sequence[Estimate]) -> list[float]:
        return [1 / float(np.mean(one.mechanism.variance(None, one.n))) for one in estimates]
