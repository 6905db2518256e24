"""Fast local hashing: a balanced public pool of functions, counted apart, decoded for any candidates later."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.field import MAX_ORDER, digits, is_order
from sottovoce.core.arithmetic.rational import floor_unit
from sottovoce.core.channel import PoolMap, Public, Subset
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import MAX_CELLS, Mechanism
from sottovoce.core.params import check_integer, reject
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.mechanisms.frequency.common import categories
from sottovoce.mechanisms.published_common import budget_and_odds


def build(domain: Domain, *, epsilon: Any = None, g: int | None = None, p: Any = None) -> Mechanism:
    """Local hashing with all linear maps over the field of g elements; by default the g of least variance.

    Law: the report's id chooses one of g**m linear maps, g**m >= k; the value of the code goes through randomized
        response on g values, p = e**epsilon / (e**epsilon + g - 1).
    Privacy: that of the inner randomized response, e**epsilon; the map is public. With published g and p epsilon
        follows from them: ln(p (g - 1) / (1 - p)).
    Estimator: (count / n - q) / (p - q) with q = 1/g exactly: two codes collide under one map in g.
    Cost: one or two bytes beside the id; a tally adds one to one of g**(m+1) cells, whatever k is.
    Reference: Cormode, Maddock, Maple, "Frequency estimation under local differential privacy", VLDB 2021, with a
        balanced pool in place of a random one, which would be biased given the pool.
    """
    values = None if g is None else check_integer("g", "flh", g, 2, MAX_ORDER)
    budget, e = budget_and_odds("flh", epsilon, values, p)
    k = categories("flh", domain, MAX_CELLS // 2)
    if values is None:
        orders = [order for order in range(2, MAX_ORDER + 1) if is_order(order) and _fits(k, order)]
        if not orders:
            raise ParameterError(f"No pool for {k} categories fits into a tally of 2**24 cells.")
        order = min(orders, key=lambda order: _variance(e, order))
    elif is_order(values) and _fits(k, values):
        order = values
    else:
        raise reject("g", "flh", "a prime, or a power of two up to 256, whose pool fits into 2**24 cells", g)
    return pooled("flh", domain, budget, e, order)


def pooled(name: str, domain: Domain, budget: Any, e: Fraction, g: int) -> Mechanism:
    """Randomized response on the value of a map of the balanced pool over g elements."""
    k = categories(name, domain, MAX_CELLS // 2)
    inner = Subset(g, 1, floor_unit(e / (e + g - 1)))
    return Mechanism(name, Frequency(domain), Public(PoolMap(k, g, digits(k, g)), inner), budget, CountSeeds())


def _fits(k: int, g: int) -> bool:
    return int(g ** (digits(k, g) + 1)) <= MAX_CELLS


def _variance(e: Fraction, g: int) -> float:
    own, other = float(e / (e + g - 1)), 1 / g
    return other * (1 - other) / (own - other) ** 2 if own > other else float("inf")
