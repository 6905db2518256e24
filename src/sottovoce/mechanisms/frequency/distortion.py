"""The distortion-based mechanism: randomized response with a chosen share of changed answers."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, ceil_unit, odds, units
from sottovoce.core.channel import Subset
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_fraction, reject
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.frequency.common import categories

UNUSED = "The distortion that was asked for is larger than this budget needs."


def build(domain: Domain, *, epsilon: Any, distortion: Any = None) -> Mechanism:
    """Randomized response given by its distortion; by default the smallest one that epsilon allows.

    Law: with m categories and the distortion d the true code with probability 1 - d, each other one with d / (m - 1).
    Privacy: (1 - d) (m - 1) / d, so epsilon = ln(m - 1) + ln((1 - d) / d), and the smallest distortion is
        d = (m - 1) / (e**epsilon + m - 1). A larger one leaves budget unused.
    Estimator: (count / n - q) / (p - q) with p = 1 - d and q = d / (m - 1).
    Cost: one byte up to 256 codes. At a fixed distortion epsilon grows with the number of categories.
    Reference: Sarwate, Sankar, "A rate-distortion perspective on local differential privacy", Allerton 2014.
    """
    budget = check_epsilon("distortion", epsilon)
    k = categories("distortion", domain)
    e = odds(budget)
    least = ceil_unit((k - 1) / (e + k - 1))
    if distortion is None:
        changed = least
    else:
        changed = ceil_unit(check_fraction("distortion", "distortion", distortion))
        if not least <= changed < UNIT - UNIT // k:
            smallest, largest = float(units(least)), (k - 1) / k
            allowed = f"a number in [{smallest:.6g}, {largest:.6g}), for this epsilon and number of categories"
            raise reject("distortion", "distortion", allowed, distortion)
    channel = Subset(k, 1, UNIT - changed)
    unused = None if changed == least else UNUSED
    return Mechanism("distortion", Frequency(domain), channel, budget, CountOutputs(), unused=unused)
