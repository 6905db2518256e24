"""Subset selection: report a random set of codes that is likely to contain the true one."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Subset
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.frequency.common import categories


def build(domain: Domain, *, epsilon: Any, w: int | None = None) -> Mechanism:
    """Subset selection of w codes; by default w = round(k / (e**epsilon + 1)), at least 1.

    Law: with p = e**epsilon w / (e**epsilon w + k - w) a uniform w-subset that contains the code, else one
        that does not. Another code is in it with q = (w - p) / (k - 1).
    Privacy: p (k - w) / ((1 - p) w) = e**epsilon.
    Estimator: (count / n - q) / (p - q), where count is the number of subsets that contain the code.
    Cost: k bits; the smallest variance of all oracles for moderate k, but the slowest to draw.
    Reference: Ye, Barg, "Optimal schemes for discrete distribution estimation under locally differential
        privacy", IEEE Transactions on Information Theory 2018; Wang et al., "Mutual information optimally
        local private discrete distribution estimation", 2016.
    """
    budget = check_epsilon("subset", epsilon)
    k = categories("subset", domain, 1 << 20)
    e = odds(budget)
    size = max(1, round(k / (e + 1))) if w is None else check_integer("w", "subset", w, 1, k - 1)
    channel = Subset(k, size, floor_unit(e * size / (e * size + k - size)))
    return Mechanism("subset", Frequency(domain), channel, budget, CountOutputs() if size == 1 else CountSupports())
