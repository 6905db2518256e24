"""The piecewise mechanism with a wider window, which has the smaller worst case."""

from __future__ import annotations

from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.mechanisms.mean.piecewise import windowed


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """The piecewise mechanism whose window is narrower than its way by e**(epsilon/3) instead of e**(epsilon/2).

    Law: with x scaled to [-1, 1] and t = e**(epsilon/3), reports lie in [-C, C], C = (e**epsilon + t) (t + 1) / (t
        (e**epsilon - 1)); the likely window has the length 2 C / (t + 1) and moves linearly with x.
    Privacy: the densities inside and outside differ by e**epsilon.
    Estimator: the mean report; it is linear in the number, exactly so on the grid.
    Cost: two bytes; less variance at the ends of the range than the piecewise mechanism, and about the same in the
        middle.
    Reference: Zhao et al., "Local differential privacy-based federated learning for Internet of Things", IEEE
        Internet of Things Journal 2021 (PM-SUB).
    """
    return windowed("pm-sub", domain, epsilon, 1 / 3)
