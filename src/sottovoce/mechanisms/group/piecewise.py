"""Group means with the piecewise mechanism for the value."""

from __future__ import annotations

from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.mechanisms.group.common import build_group
from sottovoce.mechanisms.mean import piecewise


def build(domain: Domain, *, epsilon: Any, value_epsilon: Any = None, key: str = "grr") -> Mechanism:
    """The group through a frequency oracle, the value through the piecewise mechanism.

    Law: the group through the key; where its report supports the true group, the value through the piecewise
        mechanism with value_epsilon = epsilon2, else a uniform report.
    Privacy: max(epsilon2, epsilon1 + epsilon2 / 2), epsilon1 that of the key; the published version spends epsilon1 +
        epsilon2.
    Estimator: sums of the readings of a group over its estimated size.
    Cost: the group and two bytes.
    Reference: Raab, Bohr, Klede, Gmeiner, Eskofier, PoPETs 2025(4) (with another neutral law, see the errata).
    """
    return build_group("group-piecewise", domain, epsilon, piecewise.build, value_epsilon, key)
