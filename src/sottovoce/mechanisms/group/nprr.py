"""Group means with randomized response on a few levels of the value."""

from __future__ import annotations

from functools import partial
from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.mechanisms.group.common import build_group
from sottovoce.mechanisms.mean import nprr


def build(
    domain: Domain, *, epsilon: Any, value_epsilon: Any = None, key: str = "grr", k: int | None = None
) -> Mechanism:
    """The group through a frequency oracle, the value through NPRR with k + 1 levels.

    Law: the group through the key; where its report supports the true group, the value through NPRR with
        value_epsilon = epsilon2, else a uniform level.
    Privacy: max(epsilon2, epsilon1 + ln((k + 1) e**epsilon2 / (e**epsilon2 + k))), epsilon1 that of the key.
    Estimator: sums of the levels of a group over its estimated size.
    Cost: the group and a level.
    Reference: Raab, Bohr, Klede, Gmeiner, Eskofier, PoPETs 2025(4) (Theorem 3, which holds only for this neutral law:
        the published algorithm perturbs the value 0 instead, see the errata).
    """
    return build_group("group-nprr", domain, epsilon, partial(nprr.build, k=k), value_epsilon, key)
