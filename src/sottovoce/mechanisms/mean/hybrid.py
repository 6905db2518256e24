"""The hybrid mechanism: by a coin, the piecewise mechanism or the Bernoulli mechanism."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Mix, Rounding, Then
from sottovoce.core.channel.base import Channel
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.mean.common import coin, scale, window

# The budget above which mixing pays: about 0.61 (Wang et al., Lemma 3).
_ROOT = sqrt(241)
THRESHOLD = log((2 * (6353 - 405 * _ROOT) ** (1 / 3) + 2 * (6353 + 405 * _ROOT) ** (1 / 3) - 5) / 27)


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """A mixture whose variance does not depend on the number.

    Law: with probability 1 - e**(-epsilon/2) the piecewise mechanism, else the Bernoulli mechanism; for epsilon up to
        0.61 always the latter. A report shows which of the two it came from.
    Privacy: both have the ratio e**epsilon, and the coin is independent of the number.
    Estimator: each report is read by the scale of its own mechanism; the mean of all.
    Cost: two bytes; for epsilon above 0.61 the variance is the same for all numbers, up to rounding.
    Reference: Wang et al., "Collecting and analyzing multidimensional data with local differential privacy", ICDE
        2019.
    """
    budget = check_epsilon("hybrid", epsilon)
    e = odds(budget)
    if float(budget) <= THRESHOLD:
        channel: Channel = Then(scale("hybrid", domain, 1), coin(e))
    else:
        near = window(e, exp(float(budget) / 2))
        share = round(UNIT * -(exp(-float(budget) / 2) - 1))
        either = Mix((share, UNIT - share), (near, Then(Rounding(0, near.k - 1, 1), coin(e))))
        channel = Then(scale("hybrid", domain, near.k - 1), either)
    return Mechanism("hybrid", Mean(domain), channel, budget, CountOutputs())
