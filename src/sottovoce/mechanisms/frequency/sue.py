"""Symmetric unary encoding: one bit per category, each flipped with the same probability."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds, sqrt_down
from sottovoce.core.channel import Bits
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.frequency.common import categories


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Symmetric unary encoding, the one-time form of basic RAPPOR.

    Law: bit v is 1 with p = e**(epsilon/2) / (e**(epsilon/2) + 1) for the true code, else with q = 1 - p.
    Privacy: p (1-q) / (q (1-p)) = e**epsilon: two codes differ in two bits.
    Estimator: (count / n - q) / (p - q).
    Cost: k bits.
    Reference: Erlingsson, Pihur, Korolova, "RAPPOR", CCS 2014; Wang et al., "Locally differentially private
        protocols for frequency estimation", USENIX Security 2017.
    """
    budget = check_epsilon("sue", epsilon)
    k = categories("sue", domain, 1 << 20)
    root = sqrt_down(odds(budget))
    p = floor_unit(root / (root + 1))
    return Mechanism("sue", Frequency(domain), Bits(k, p, UNIT - p), budget, CountSupports())
