"""O-RAPPOR: a public permutation or hash to few values, then symmetric unary encoding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, units
from sottovoce.core.channel import Bits, Public
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.mechanisms.rappor.common import kept, rows_or_permutations


def build(domain: Domain, *, epsilon: Any, g: int | None = None, cohorts: int | None = None) -> Mechanism:
    """Unary encoding after hashing in cohorts, by permutations where the domain is closed.

    Law: the report's id chooses a permutation x -> a x + b modulo a prime P >= k, followed by the remainder modulo g;
        for an open domain one of a few hash functions to g values. The bit of the value is 1 with
        p = e**(epsilon/2) / (e**(epsilon/2) + 1), every other one with 1 - p.
    Privacy: p**2 / (1-p)**2 = e**epsilon: two values differ in two bits. The function is public.
    Estimator: (count / n - q) / (p - q) with q = c p + (1 - c) (1 - p), where c is the exact probability of a
        collision, below 1/g; over an open domain a least-squares fit of the candidates.
    Cost: g bits beside the id. Closed domains have up to 2,000 codes or so: a tally has P (P - 1) (g + 1) cells.
    Reference: Kairouz, Bonawitz, Ramage, "Discrete distribution estimation under local privacy", ICML 2016.
    """
    budget = check_epsilon("o-rappor", epsilon)
    p = kept(budget)
    chosen = rows_or_permutations("o-rappor", domain, g, cohorts, lambda _, same: _variance(p, same), 1)
    channel = Public(chosen, Bits(chosen.outputs, p, UNIT - p))
    return Mechanism("o-rappor", Frequency(domain), channel, budget, CountCohorts())


def _variance(p: int, same: Fraction) -> float:
    """n times the variance of a rare value."""
    own = float(units(p))
    other = float(same) * own + float(1 - same) * (1 - own)
    return other * (1 - other) / (own - other) ** 2 if own > other else float("inf")
