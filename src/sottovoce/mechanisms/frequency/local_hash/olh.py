"""Optimised local hashing: hash the code to few values by a public function, then randomized response."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit
from sottovoce.core.channel import HashMap, Public, Subset
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.frequency.common import categories
from sottovoce.mechanisms.published_common import budget_and_odds

MAX_VALUES = 1 << 20


def build(domain: Domain, *, epsilon: Any = None, g: int | None = None, p: Any = None) -> Mechanism:
    """Local hashing to g values; by default g = round(e**epsilon + 1), at least 2 and at most 2**20.

    Law: the report's id chooses h from an exactly pairwise independent family; the hash h(v) goes through
        randomized response on g values, p = e**epsilon / (e**epsilon + g - 1).
    Privacy: that of the inner randomized response, e**epsilon; the hash is public. With published g and p epsilon
        follows from them: ln(p (g - 1) / (1 - p)).
    Estimator: (count / n - q) / (p - q), where count is the number of reports y with h(v) = y, and
        q = c p + (1 - c) (1 - p) / (g - 1) with c the exact probability of a collision, about 1/g.
    Cost: one byte beside the id up to g = 256, else two or three; a tally computes one hash per report and category.
    Reference: Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation",
        USENIX Security 2017.
    """
    values = None if g is None else check_integer("g", "olh", g, 2, MAX_VALUES)
    budget, e = budget_and_odds("olh", epsilon, values, p)
    return hashed("olh", domain, budget, e, values or min(max(2, round(e + 1)), MAX_VALUES))


def hashed(name: str, domain: Domain, budget: Decimal, e: Fraction, g: int) -> Mechanism:
    """Randomized response on a public hash to g values."""
    inner = Subset(g, 1, floor_unit(e / (e + g - 1)))
    channel = Public(HashMap(categories(name, domain), g), inner)
    return Mechanism(name, Frequency(domain), channel, budget, CountSupports())
