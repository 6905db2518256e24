"""General unary encoding: one bit per category, with any probability for the true one."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import ceil_unit, floor_unit, odds, units
from sottovoce.core.channel import Bits
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_fraction, reject
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.frequency.common import categories


def build(domain: Domain, *, epsilon: Any, p: Any = "0.5", q: Any = None) -> Mechanism:
    """Unary encoding with a chosen p, and the smallest q that epsilon allows unless a larger one is given.

    Law: bit v is 1 with p for the true code, else with q >= p / (p + e**epsilon (1 - p)).
    Privacy: p (1-q) / (q (1-p)) = e**epsilon for the smallest q, less for a larger one.
    Estimator: (count / n - q) / (p - q).
    Cost: k bits. p = 1/2 is OUE, p = e**(epsilon/2) / (e**(epsilon/2) + 1) is SUE.
    Reference: Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation",
        USENIX Security 2017.
    """
    budget = check_epsilon("unary", epsilon)
    k = categories("unary", domain, 1 << 20)
    own = check_fraction("p", "unary", p)
    if not 0 < own < 1:
        raise reject("p", "unary", "a number in (0, 1)", p)
    high = floor_unit(own)
    share = units(high)
    least = ceil_unit(share / (share + odds(budget) * (1 - share)))
    if least >= high:
        raise reject("p", "unary", "large enough for this epsilon to leave room for a smaller q", p)
    low = least if q is None else ceil_unit(check_fraction("q", "unary", q))
    if not least <= low < high:
        raise reject("q", "unary", f"a number in [{float(units(least)):.6g}, p)", q)
    return Mechanism("unary", Frequency(domain), Bits(k, high, low), budget, CountSupports())
