"""Group means with Laplace noise on the value."""

from __future__ import annotations

from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.mechanisms.group.common import build_group
from sottovoce.mechanisms.mean import laplace


def build(domain: Domain, *, epsilon: Any, value_epsilon: Any = None, key: str = "grr") -> Mechanism:
    """The group through a frequency oracle, the value with Laplace noise.

    Law: the group through the key; where its report supports the true group, the value with geometric noise of
        value_epsilon = epsilon2, else a draw from the law that is proportional to the largest likelihood of each
        report.
    Privacy: max(epsilon2, epsilon1 + ln(1 + epsilon2 / 2)), epsilon1 that of the key; the noise around 0 that was
        published spends epsilon1 + epsilon2 / 2.
    Estimator: sums of the readings of a group over its estimated size.
    Cost: the group and two bytes.
    Reference: Juarez, Korolova, 2023; Raab, Bohr, Klede, Gmeiner, Eskofier, PoPETs 2025(4) (Theorem 1).
    """
    return build_group("group-laplace", domain, epsilon, laplace.build, value_epsilon, key)
