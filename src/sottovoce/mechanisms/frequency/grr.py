"""Generalised randomized response: the true answer with the largest probability, else any other one."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Subset
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.frequency.common import categories


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """k-ary randomized response, also called direct encoding.

    Law: the true code with probability p = e**epsilon / (e**epsilon + k - 1), each other one with
        q = 1 / (e**epsilon + k - 1).
    Privacy: p / q = e**epsilon.
    Estimator: (count / n - q) / (p - q).
    Cost: one byte up to 256 codes; the variance grows with k, so it is best for few categories.
    Reference: Kairouz, Oh, Viswanath, "Extremal mechanisms for local differential privacy", NeurIPS 2014.
    """
    budget = check_epsilon("grr", epsilon)
    k = categories("grr", domain)
    e = odds(budget)
    return Mechanism("grr", Frequency(domain), Subset(k, 1, floor_unit(e / (e + k - 1))), budget, CountOutputs())
