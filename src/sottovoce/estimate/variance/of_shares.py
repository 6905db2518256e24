"""The variance of numbers whose values were counted one by one."""

from __future__ import annotations

import numpy as np

from sottovoce.core.domain.base import Domain
from sottovoce.core.question import Variance
from sottovoce.estimate.frequency.base import SharesEvidence
from sottovoce.estimate.mean.of_shares import coded_numbers, mean_of_shares
from sottovoce.estimate.variance.spread import VarianceEvidence, from_readings


def variance_of_shares(found: SharesEvidence, domain: Domain) -> VarianceEvidence | None:
    """Each report is read twice, as a number and as the square of its distance from the middle of the domain."""
    numbers, mean = coded_numbers(found, domain), mean_of_shares(found, domain)
    if numbers is None or mean is None:
        return None
    shares, rows = found.values(), np.array([numbers.away, numbers.away**2])
    values, products = rows @ shares, rows @ found.second_moments() @ rows.T
    return from_readings(
        *(found.n, numbers.ends, values, products - np.outer(values, values)),
        lambda: np.asarray(products - (rows * shares) @ rows.T),
        reach=[found.reach_of(row) for row in rows],
        poor=mean.poor,
        question=Variance(domain),
        mean=mean,
    )
