"""Utility-optimised randomized response: only sensitive answers are hidden."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import ceil_unit, floor_unit, odds
from sottovoce.core.channel import Channel, Sparing, Subset
from sottovoce.core.domain import Domain
from sottovoce.core.guarantee import UtilityOptimised
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.frequency.common import categories, sensitive_codes


def build(domain: Domain, *, epsilon: Any, sensitive: Any = None) -> Mechanism:
    """Randomized response among the sensitive answers; by default all are sensitive, and the guarantee is pure.

    Law: with s sensitive codes and q = 1 / (e**epsilon + s - 1), a code reports each other sensitive code with q, and
        itself with the rest: 1 - (s - 1) q if it is sensitive, 1 - s q if it is not.
    Privacy: utility-optimised. The report of a sensitive code has likelihoods at most e**epsilon apart between any two
        codes; the report of a code that is not sensitive reveals it. A client must accept this guarantee.
    Estimator: (count / n - q) / (p - q) for a sensitive code, count / (n p) for any other, p the rest above.
    Cost: one byte up to 256 codes; that of randomized response with s categories.
    Reference: Murakami, Kawamoto, "Utility-optimized local differential privacy mechanisms for distribution
        estimation", USENIX Security 2019.
    """
    budget = check_epsilon("urr", epsilon)
    k = categories("urr", domain, 1 << 20)
    e, codes = odds(budget), sensitive_codes("urr", domain, sensitive)
    if codes is None:
        response: Channel = Subset(k, 1, floor_unit(e / (e + k - 1)))
        return Mechanism("urr", Frequency(domain), response, budget, CountOutputs())
    channel = Sparing(k, codes, ceil_unit(1 / (e + len(codes) - 1)))
    guarantee = UtilityOptimised(frozenset(codes))
    return Mechanism("urr", Frequency(domain), channel, budget, CountOutputs(), guarantee=guarantee)
