"""Thresholding with histogram encoding: which bins of a noisy histogram lie above a threshold."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from itertools import accumulate
from typing import Any

from sottovoce.core.arithmetic.rational import ceil_unit, floor_unit
from sottovoce.core.channel import Bits, Rates
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_fraction, reject
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.frequency.common import categories
from sottovoce.mechanisms.frequency.she import bin_noise

FINE_STEPS = 16  # of the grid: thresholds between 0 and 1
FINEST = 1024  # steps of the grid for a published threshold
UNUSED = "A bin is only compared with the threshold, so less is lost than its noise allows."


def build(domain: Domain, *, epsilon: Any, threshold: Any = None) -> Mechanism:
    """The bins of `she` that exceed a threshold, by default the one of least variance for a rare value.

    Law: bit v is 1 if bin v of a histogram with noise Lap(2 / epsilon) on a grid lies above the threshold: with p for
        the true code, else with q. The device draws these bits at once, with the exact tails of the noise.
    Privacy: p (1-q) / (q (1-p)), which is below e**epsilon: comparing is post-processing of the noisy histogram and
        leaves budget unused. `oue` uses all of it.
    Estimator: (count / n - q) / (p - q).
    Cost: k bits; between 1.1 and 2 times the variance of OUE.
    Reference: Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation", USENIX
        Security 2017.
    """
    budget = check_epsilon("the", epsilon)
    k = categories("the", domain, 1 << 20)
    own, other = _rates(budget) if threshold is None else _rates_above(budget, threshold)
    channel = Bits(k, floor_unit(own), ceil_unit(other))
    return Mechanism("the", Frequency(domain), channel, budget, CountSupports(), unused=UNUSED)


def _rates_above(budget: Decimal, threshold: Any) -> Rates:
    """How often a bin with a one and one without lie above a published threshold, rounded to a fine grid."""
    share = check_fraction("threshold", "the", threshold)
    if not 0 < share <= 1:
        raise reject("threshold", "the", "a number in (0, 1]", threshold)
    noise = bin_noise("the", budget, FINEST)
    place = max(1, round(noise.steps * share))
    return Rates(1 - noise.tail(noise.steps - place), noise.tail(place))


@lru_cache(maxsize=32)
def _rates(budget: Decimal) -> Rates:
    """How often a bin with a one and one without lie above the best threshold from 0 to 1."""
    noise = bin_noise("the", budget, FINE_STEPS)
    outputs = range(noise.outputs - 1, noise.limit + 1, -1)  # from the largest down to the first above 0
    on, off = ([noise.likelihood(y, code) for y in outputs] for code in (noise.steps, 0))
    above = [Rates(*pair) for pair in zip(accumulate(on), accumulate(off), strict=True)][-noise.steps :]
    return min(above, key=lambda rates: rates.other * (1 - rates.other) / (rates.own - rates.other) ** 2)
