"""Group means with a designed table for the value."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sottovoce.core.channel import Channel, Keyed
from sottovoce.core.domain import Domain, Pair
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.design import designed
from sottovoce.estimate.prior import Prior
from sottovoce.mechanisms.group.common import KEYS, build_group, keyed, mean_variance

_FIRST = (Decimal("0.4"), Decimal("0.6"), Decimal("0.8"), Decimal(1))  # shares of the budget, tried for the value
_STEPS = (Decimal("0.1"), Decimal("0.05"))  # to either side of the best so far


def build(
    domain: Domain,
    *,
    epsilon: Any,
    value_epsilon: Any = None,
    key: str = "grr",
    objective: str = "balanced",
    prior: Prior | None = None,
) -> Mechanism:
    """The group through a frequency oracle, the value through a table that a linear program finds best.

    Law: the group through the key; where its report supports the true group, the value through the designed table of
        value_epsilon = epsilon2, else a draw from the law that is proportional to the largest likelihood of each
        report.
    Privacy: max(epsilon2, epsilon1 + ln S), epsilon1 that of the key and S the sum of those largest likelihoods.
    Estimator: sums of the readings of a group over its estimated size.
    Cost: the group and one byte; the table is part of the specification.
    Reference: Raab, Bohr, Klede, Gmeiner, Eskofier, PoPETs 2025(4), with the table of `designed` for the value.
    """
    inner = inner_table(objective, prior)
    if value_epsilon is None and isinstance(domain, Pair) and key in KEYS:
        value_epsilon = _best_split(domain, check_epsilon("group-designed", epsilon), key, inner)
    return build_group("group-designed", domain, epsilon, inner, value_epsilon, key)


def inner_table(objective: str = "balanced", prior: Prior | None = None) -> Callable[[Domain, Decimal], Channel]:
    """The designed channel of the values for a budget."""

    def inner(value: Domain, budget: Decimal) -> Channel:
        return designed.build(value, epsilon=budget, objective=objective, prior=prior).channel

    return inner


def _best_split(domain: Pair, budget: Decimal, key: str, inner: Callable[[Domain, Decimal], Channel]) -> Decimal:
    """The split of least variance, found by few programs: a coarse grid, then nearer and nearer to its best."""
    found: dict[Decimal, float] = {}

    def cost(share: Decimal) -> float:
        if share not in found:
            channel: Keyed | None = None
            if Decimal("0.1") <= share <= 1 and budget * share >= designed.LEAST_EPSILON:
                channel = keyed(domain, inner(domain.value, budget * share), budget, key)
            found[share] = float("inf") if channel is None else mean_variance(channel)
        return found[share]

    best = min(_FIRST, key=cost)
    for step in _STEPS:
        best = min((best, best - step, best + step), key=cost)
    return budget * best
