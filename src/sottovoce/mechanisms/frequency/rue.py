"""Re-optimised unary encoding: the probabilities of least average error for the number of categories."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import ceil_unit, floor_unit, odds, sqrt_down, units
from sottovoce.core.channel import Bits
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.frequency.common import categories, lean


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Unary encoding with the least variance averaged over all categories instead of that of a rare one.

    Law: with h = sqrt((k - 1 + e**-epsilon) / (k - 1 + e**epsilon)) bit v is 1 with p = 1 / (1 + h) for the true code,
        else with q = 1 / (1 + h e**epsilon).
    Privacy: p (1-q) / (q (1-p)) = e**epsilon: two codes differ in two bits.
    Estimator: (count / n - q) / (p - q).
    Cost: k bits. For two categories it is symmetric unary encoding, for very many it is OUE; between them the average
        variance is lower than that of both.
    Reference: Fang, Chen, Liu, "Further study on frequency estimation under local differential privacy", USENIX
        Security 2025.
    """
    budget = check_epsilon("rue", epsilon)
    k = categories("rue", domain, 1 << 20)
    e = odds(budget)
    own = floor_unit(1 / (1 + sqrt_down(lean(k, e))))
    share = units(own)
    other = ceil_unit(share / (share + e * (1 - share)))
    return Mechanism("rue", Frequency(domain), Bits(k, own, other), budget, CountSupports())
