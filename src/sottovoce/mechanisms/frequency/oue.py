"""Optimised unary encoding: the true bit is a fair coin, so that the others are rarely set."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, ceil_unit, odds
from sottovoce.core.channel import Bits
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.frequency.common import categories


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Optimised unary encoding.

    Law: bit v is 1 with p = 1/2 for the true code, else with q = 1 / (e**epsilon + 1).
    Privacy: p (1-q) / (q (1-p)) = e**epsilon: two codes differ in two bits.
    Estimator: (count / n - q) / (p - q).
    Cost: k bits; variance 4 e**epsilon / (n (e**epsilon - 1)**2) for rare values, whatever k is.
    Reference: Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation",
        USENIX Security 2017.
    """
    budget = check_epsilon("oue", epsilon)
    k = categories("oue", domain, 1 << 20)
    return Mechanism(
        "oue", Frequency(domain), Bits(k, UNIT // 2, ceil_unit(1 / (odds(budget) + 1))), budget, CountSupports()
    )
