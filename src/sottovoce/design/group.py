"""Group means with a designed table for the value."""

from __future__ import annotations

from functools import partial
from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.design import designed
from sottovoce.estimate.prior import Prior
from sottovoce.mechanisms.group.common import build_group


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
    inner = partial(designed.build, objective=objective, prior=prior)
    return build_group("group-designed", domain, epsilon, inner, value_epsilon, key, designed.LEAST_EPSILON)
