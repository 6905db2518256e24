"""Group means with one bit for the value."""

from __future__ import annotations

from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.mechanisms.group.common import build_group
from sottovoce.mechanisms.mean import bernoulli


def build(domain: Domain, *, epsilon: Any, value_epsilon: Any = None, key: str = "grr") -> Mechanism:
    """The group through a frequency oracle, the value through the Bernoulli mechanism.

    Law: the group through the key; where its report supports the true group, the value through the Bernoulli
        mechanism with value_epsilon = epsilon2, else a fair bit.
    Privacy: max(epsilon2, epsilon1 + ln(2 e**epsilon2 / (e**epsilon2 + 1))), epsilon1 that of the key.
    Estimator: sums of the bits of a group over its estimated size.
    Cost: the group and one bit.
    Reference: Raab, Bohr, Klede, Gmeiner, Eskofier, PoPETs 2025(4) (Theorem 2); Juarez, Korolova, 2023.
    """
    return build_group("group-bernoulli", domain, epsilon, bernoulli.build, value_epsilon, key)
