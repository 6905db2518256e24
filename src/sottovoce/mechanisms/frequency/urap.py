"""Utility-optimised RAPPOR: one bit for each answer, with noise on the bits of sensitive answers only."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import ceil_unit, floor_unit, odds, sqrt_down, units
from sottovoce.core.channel import Bits
from sottovoce.core.domain import Domain
from sottovoce.core.guarantee import UtilityOptimised
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.frequency.common import categories, sensitive_codes


def build(domain: Domain, *, epsilon: Any, sensitive: Any = None) -> Mechanism:
    """Unary encoding of sensitive answers; by default all are sensitive, and the guarantee is pure.

    Law: with p = e**(epsilon/2) / (e**(epsilon/2) + 1) the bit of a sensitive code is 1 with p for the true code, else
        with q = p / ((1-p) e**epsilon + p). The bit of any other code is 1 with p (1 - e**-epsilon) for the true code,
        else never.
    Privacy: utility-optimised. Reports in which only bits of sensitive codes are set have likelihoods at most
        e**epsilon apart between any two codes; the bit of a code that is not sensitive reveals it. A client must
        accept this guarantee.
    Estimator: (count / n - q) / (p - q) with the two rates of each code.
    Cost: k bits; for sensitive values the variance of symmetric unary encoding.
    Reference: Murakami, Kawamoto, "Utility-optimized local differential privacy mechanisms for distribution
        estimation", USENIX Security 2019.
    """
    budget = check_epsilon("urap", epsilon)
    k = categories("urap", domain, 1 << 16)
    e, codes = odds(budget), sensitive_codes("urap", domain, sensitive)
    root = sqrt_down(e)
    own = floor_unit(root / (root + 1))
    share = units(own)
    other = ceil_unit(share / (share + e * (1 - share)))
    if codes is None:
        return Mechanism("urap", Frequency(domain), Bits(k, own, other), budget, CountSupports())
    hidden = set(codes)
    shown = floor_unit(share * (1 - 1 / e))
    p = tuple(own if code in hidden else shown for code in range(k))
    q = tuple(other if code in hidden else 0 for code in range(k))
    guarantee = UtilityOptimised(frozenset(codes))
    return Mechanism("urap", Frequency(domain), Bits(k, p, q), budget, CountSupports(), guarantee=guarantee)
