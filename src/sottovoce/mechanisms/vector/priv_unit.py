"""PrivUnit: a random direction of a spherical cap around the answer, or of what is left of the sphere."""

from __future__ import annotations

from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.guarantee import IDEALISED
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import VectorMean
from sottovoce.core.statistic.sums import Sums
from sottovoce.mechanisms.vector.sphere_common import ball, best_cap


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """The unbiased mechanism of least worst-case mean square error for vectors of bounded length.

    Law: x is moved to the surface as in duchi-l2. With probability p the report is uniform among the unit vectors with
        a cosine of at least gamma with that point, else among all others; each coordinate is rounded to a byte. With
        1 - q the share of the cap, p and gamma are those of least variance with p q / ((1 - p)(1 - q)) = e**epsilon.
    Privacy: idealised. The two densities have the ratio e**epsilon; the sampler computes with floats.
    Estimator: the mean report times r / m, m = C (1 - gamma**2)**((d-1)/2) / (d-1) (p/(1-q) - (1-p)/q), where C is
        Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)).
    Cost: d bytes, O(d) time; the mean square error is r**2 (1/m**2 - 1) for a vector on the surface, and never larger
        than that of duchi-l2, which is the case gamma = 0.
    Reference: Bhowmick, Duchi, Freudiger, Kapoor, Rogers, "Protection against reconstruction and its applications in
        private federated learning", 2018; with the p and gamma of Asi, Feldman, Talwar, "Optimal algorithms for mean
        estimation under local differential privacy", ICML 2022.
    """
    budget = check_epsilon("priv-unit", epsilon)
    channel = best_cap(ball("priv-unit", domain).dimensions, "sphere", budget)
    return Mechanism("priv-unit", VectorMean(domain), channel, budget, Sums(), guarantee=IDEALISED)
