"""A noisy histogram of the answer, added up over participants."""

from __future__ import annotations

from typing import Any

from sottovoce.core.channel import Histogram
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_people
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.sums import Sums
from sottovoce.mechanisms.distribution.binned import MOST, PARTICIPANTS, best_bins
from sottovoce.mechanisms.distribution.common import check_domain
from sottovoce.mechanisms.distribution.tree_common import leaves
from sottovoce.mechanisms.frequency.she import bin_noise


def build(
    domain: Domain,
    *,
    epsilon: Any,
    buckets: int | None = None,
    participants: int = PARTICIPANTS,
    workload: str = "cdf",
) -> Mechanism:
    """Duchi's Laplace histogram: the histogram of one answer with Laplace noise on each of its bins.

    Law: bin v holds 1 for the bin of the answer, else 0, plus noise Lap(2 / epsilon) on a grid, as in `she`.
    Privacy: two answers differ in two bins by 1, each with likelihoods at most e**(epsilon/2) apart.
    Estimator: the mean of each bin less that of a bin without a one, over the difference of a one; what the shares miss
        from one is shared out evenly. The decoder "simplex" projects them onto distributions.
    Cost: about a byte for each bin, and a variance of about 8 / (n epsilon**2) for each share. Without `buckets` there
        are as many bins as make the predicted error of the cumulative curve least, as in `binned`.
    Reference: Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation", JASA 2018,
        section 4.2 (density estimation).
    """
    name = "laplace-histogram"
    budget = check_epsilon(name, epsilon)
    crowd = check_people("participants", name, participants)
    question, noise = Distribution(check_domain(name, domain), workload, buckets), bin_noise(name, budget, 1)
    if buckets is None and domain.choices is None:
        mean, square = noise.moments(0)
        noise_variance = float(square - mean**2) / noise.steps**2
        most = min(MOST, domain.points or MOST)
        buckets = best_bins(lambda bins: noise_variance + (1 - 1 / bins) / bins, crowd, most)
    view = leaves(name, domain, buckets)
    return Mechanism(name, question, Histogram(view.size or 2, noise), budget, Sums(), view)
