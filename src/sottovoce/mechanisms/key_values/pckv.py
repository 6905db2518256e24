"""PCKV-GRR: one of the keys of a person, padded, through randomized response together with its number."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds
from sottovoce.core.channel import Keyed, Rounding, SampledKey, Subset, Table, Then
from sottovoce.core.domain import Domain, Sparse
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import KeyMeans
from sottovoce.core.statistic.keyed import CountKeyed
from sottovoce.mechanisms.key_values.ends import checked_keys


def grr(domain: Domain, *, epsilon: Any) -> Mechanism:
    """PCKV-GRR: one of the keys held, padded with fillers to m, and one end of its number, through randomized response.

    Law: one of m slots is drawn; a filler has the middle of the range as its number. With E = m (e**epsilon - 1) the
        key is kept with a = (E + 2) / (E + 2 d') for d' = d + m keys and fillers, else it is any other one. The number
        of a key that is kept is rounded to one of the ends, which is kept with odds E + 1; another key has a fair end.
    Privacy: e**epsilon. The draw of a slot is taken into account: the report after it spends ln(E + 1).
    Estimator: the reports that name a key with either end, through the inverse of their law: unbiased.
    Cost: an index. The variance grows with d and with m**2.
    Reference: Gu, Li, Cheng, Xiong, Cao, "PCKV: locally differentially private correlated key-value data collection
        with optimized utility", USENIX Security 2020, with their optimal parameters.
    """
    budget, keyed = check_epsilon("pckv-grr", epsilon), checked_keys("pckv-grr", domain)
    groups = len(keyed.keys) + keyed.most
    gain = keyed.most * (odds(budget) - 1)
    kept = floor_unit((gain + 1) / (gain + 2))
    ends = Then(Rounding(-1, 1, 1), Table([[kept, UNIT - kept], [UNIT - kept, kept]]))
    key = Subset(groups, 1, floor_unit((gain + 2) / (gain + 2 * groups)))
    channel = SampledKey(Sparse(len(keyed.keys), keyed.most, 1), Keyed(key, ends, (UNIT // 2, UNIT // 2)))
    return Mechanism("pckv-grr", KeyMeans(keyed), channel, budget, CountKeyed())
