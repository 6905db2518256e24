"""Summation with histogram encoding: a noisy histogram of the code, added up over participants."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

from sottovoce.core.channel import Histogram, Noise
from sottovoce.core.channel.compose.histogram import MAX_BINS
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, reject
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.sums import Sums
from sottovoce.mechanisms.frequency.common import categories
from sottovoce.mechanisms.mean.common import geometric, noise, power_of_two

LEAST = Decimal("0.02")  # below, the noise of a bin has too many values for a device to check


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """The one-hot histogram of the code with Laplace noise on each bin.

    Law: bin v holds 1 for the true code, else 0, plus noise Lap(2 / epsilon) on a grid of at least 4 epsilon steps: m
        or -1 - m steps with m geometric, clamped far outside.
    Privacy: two codes differ in two bins by 1, each with likelihoods at most e**(epsilon/2) apart.
    Estimator: the mean of bin v less that of a bin without a one, over the difference of a one.
    Cost: more than a byte for each category; variance about 8 / (n epsilon**2) for every value, more than
        that of `the`, and at least twice that of `oue`.
    Reference: Dwork, McSherry, Nissim, Smith, "Calibrating noise to sensitivity in private data analysis", TCC 2006; in
        this form Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation", USENIX
        Security 2017. (The noise is Lap(2 / epsilon), not Lap(epsilon / 2).)
    """
    budget = check_epsilon("she", epsilon)
    k = categories("she", domain, MAX_BINS)
    return Mechanism("she", Frequency(domain), Histogram(k, bin_noise("she", budget, 1)), budget, Sums())


@lru_cache(maxsize=32)
def bin_noise(owner: str, budget: Decimal, least: int) -> Noise:
    """The noise of one bin: half the budget from 0 to 1, on a grid of at least so many steps."""
    if budget < LEAST:
        raise reject("epsilon", owner, f"at least {LEAST}", budget)
    steps = power_of_two(max(least, 4 * float(budget)))
    profile = geometric(budget / 2, steps)
    return noise(owner, budget / 2, profile, profile)
