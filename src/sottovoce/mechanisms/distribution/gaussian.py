"""Gaussian noise on the bucket of a number, with an exact delta: what is fitted by a mixture of Gaussians."""

from __future__ import annotations

from typing import Any

from sottovoce.core.channel import Table
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.guarantee import Approximate
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.distribution.common import check_domain, coded
from sottovoce.mechanisms.mean.gaussian import check_delta, gaussian_noise, shifted

BUCKETS = 8
MOST_BUCKETS = 32  # a table has about 14 times as many columns as rows at epsilon 4, and more at less


def build(domain: Domain, *, epsilon: Any, delta: Any, buckets: int | None = None, workload: str = "cdf") -> Mechanism:
    """PrivGMM with an exact delta: the bucket of the answer plus discrete Gaussian noise, cut off where it is rare.

    Law: the number of the bucket plus a whole number m with a probability proportional to e**(-m**2 / (2 s**2)),
        |m| <= M; the same M and the same weights for every bucket.
    Privacy: (epsilon, delta): the hockey-stick divergence at e**epsilon between any two buckets is computed exactly and
        is at most delta; s is the smallest deviation for which it is. The ratio itself is infinite, as the ends of the
        noise differ.
    Estimator: the decoder "gmm", the mixture of Gaussians of largest likelihood; unbiased shares of few buckets, whose
        variance grows with the 2 (d - 1)-th power of s / d.
    Cost: two bytes; noise of 4.2 lengths of the range at epsilon 1 and delta 1e-6. Mean and variance are told, and what
        else a distribution has hardly: other mechanisms tell it with the same epsilon and no delta.
    Reference: Diao, Yang, Wang, Huang, Xu, "PrivGMM: probability density estimation with local differential privacy",
        DASFAA 2020; Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020.
    """
    name = "gaussian-distribution"
    budget, chance = check_epsilon(name, epsilon), check_delta(name, delta)
    if check_domain(name, domain).circular:
        raise ParameterError(f"The 'domain' parameter of {name} must not be a circle: noise leads out of it.")
    sized = buckets is None and (domain.points or MOST_BUCKETS + 1) > MOST_BUCKETS
    view = coded(name, domain, BUCKETS if sized else buckets)
    codes = check_integer("buckets", name, view.size, 2, MOST_BUCKETS)
    channel = Table(shifted(gaussian_noise(budget, chance, codes - 1), codes - 1))
    question = Distribution(domain, workload, buckets)
    return Mechanism(name, question, channel, budget, CountOutputs(), view, guarantee=Approximate(chance))
