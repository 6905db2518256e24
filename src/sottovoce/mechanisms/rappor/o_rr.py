"""O-RR: a public permutation or hash to few values, then randomized response."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Public, Subset
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.mechanisms.rappor.common import rows_or_permutations


def build(domain: Domain, *, epsilon: Any, g: int | None = None, cohorts: int | None = None) -> Mechanism:
    """Randomized response after hashing in cohorts, by permutations where the domain is closed.

    Law: the report's id chooses a permutation x -> a x + b modulo a prime P >= k, followed by the remainder modulo g;
        for an open domain one of a few hash functions to g values. The value goes through randomized response,
        p = e**epsilon / (e**epsilon + g - 1).
    Privacy: that of the randomized response, e**epsilon; the function is public.
    Estimator: (count / n - q) / (p - q) with q = c p + (1 - c) (1 - p) / (g - 1), where c is the exact probability of
        a collision, below 1/g; over an open domain a least-squares fit of the candidates.
    Cost: one or two bytes beside the id; by default the g of least variance. Closed domains have up to 2,000 codes or
        so: a tally has P (P - 1) g cells.
    Reference: Kairouz, Bonawitz, Ramage, "Discrete distribution estimation under local privacy", ICML 2016.
    """
    budget = check_epsilon("o-rr", epsilon)
    e = odds(budget)
    chosen = rows_or_permutations("o-rr", domain, g, cohorts, lambda values, same: _variance(e, values, same), 0)
    inner = Subset(chosen.outputs, 1, floor_unit(e / (e + chosen.outputs - 1)))
    return Mechanism("o-rr", Frequency(domain), Public(chosen, inner), budget, CountSeeds())


def _variance(e: Fraction, g: int, same: Fraction) -> float:
    """n times the variance of a rare value."""
    own, rest = float(e / (e + g - 1)), float(1 / (e + g - 1))
    other = float(same) * own + float(1 - same) * rest
    return other * (1 - other) / (own - other) ** 2 if own > other else float("inf")
