"""PrivUnitG: a normal vector whose component along the answer is cut at a threshold."""

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
    """PrivUnit with normal vectors in place of unit vectors: simpler to draw, and as good for many dimensions.

    Law: x is moved to the surface as in duchi-l2. The report is a normal vector with variance 1/d in each coordinate,
        given that its component along that point exceeds gamma / sqrt(d) with probability p, and given that it does not
        otherwise; each coordinate is cut at 12 standard deviations and rounded to a byte. With q = Phi(gamma), p and
        gamma are those of least variance with p q / ((1 - p)(1 - q)) = e**epsilon.
    Privacy: idealised. The two densities have the ratio e**epsilon; the sampler computes with floats.
    Estimator: the mean report times r / m, m = phi(gamma) / sqrt(d) (p/(1-q) - (1-p)/q).
    Cost: d bytes, O(d) time; for a vector on the surface the mean square error is r**2 (s / m**2 - 1) with
        s = 1 + gamma m / sqrt(d).
    Reference: Asi, Feldman, Talwar, "Optimal algorithms for mean estimation under local differential privacy", ICML
        2022, Section 4.
    """
    budget = check_epsilon("priv-unit-g", epsilon)
    channel = best_cap(ball("priv-unit-g", domain).dimensions, "gauss", budget)
    return Mechanism("priv-unit-g", VectorMean(domain), channel, budget, Sums(), guarantee=IDEALISED)
