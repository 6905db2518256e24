"""LOLOHA: a hash to few values that a device keeps, a memo of each hash value, and fresh randomized response."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sottovoce.core.arithmetic.field import MAX_ORDER, digits, is_order
from sottovoce.core.channel import Cohorts, PoolMap
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.mechanisms.frequency.common import categories
from sottovoce.mechanisms.rappor.common import MAX_COHORTS, lifetime, two_responses


def build(domain: Domain, *, epsilon: Any, epsilon_forever: Any = None, g: int | None = None) -> Mechanism:
    """Longitudinal local hashing; by default with the number g of hash values of least variance.

    Law: a device keeps one of g**m linear maps to g values, g**m >= k, and for each value of its map a memo, drawn by
        randomized response with p = e**epsilon_forever / (e**epsilon_forever + g - 1); each report is randomized
        response of that memo. Together the value of the map is sent with p*, any other with (1 - p*) / (g - 1).
    Privacy: p* (g - 1) / (1 - p*) = e**epsilon for one report, e**epsilon_forever for all reports of one unchanged
        value; the latter is 2 epsilon unless it is given. A device keeps at most g memos, whatever its answers are.
        Reports also tell when the value of the map changed.
    Estimator: (count / n - 1/g) / (p* - 1/g), exactly: two codes have the same value under one map in g.
    Cost: one byte beside the id, and a file on the device; n times the variance of a rare value is
        (1/g) (1 - 1/g) / (p* - 1/g)**2. At most 1,024 codes, whose maps are balanced.
    Reference: Arcolezi, Pinzon, Palamidessi, Gambs, "Frequency estimation of evolving data under local differential
        privacy", EDBT 2023, with a balanced pool of maps in place of random ones, and the g of least exact variance.
    """
    budget = check_epsilon("loloha", epsilon)
    forever = lifetime("loloha", budget, epsilon_forever)
    k = categories("loloha", domain, MAX_COHORTS)
    orders = [one for one in range(2, MAX_ORDER + 1) if is_order(one) and one ** digits(k, one) <= MAX_COHORTS]
    if g is None:
        chosen = min(orders, key=lambda one: variance(one, forever, budget))
    elif (chosen := check_integer("g", "loloha", g, 2, MAX_ORDER)) not in orders:
        raise reject("g", "loloha", f"a prime or a power of two with at most {MAX_COHORTS} maps", g)
    channel = Cohorts(PoolMap(k, chosen, digits(k, chosen)), two_responses(chosen, forever, budget))
    return Mechanism("loloha", Frequency(domain), channel, budget, CountSeeds(), claimed_forever=forever)


def variance(g: int, forever: Decimal, budget: Decimal) -> float:
    """n times the variance of a rare value with g hash values."""
    responses = two_responses(g, forever, budget)
    sent, blind = float(responses.likelihood(0, 0)), 1 / g
    return blind * (1 - blind) / (sent - blind) ** 2
