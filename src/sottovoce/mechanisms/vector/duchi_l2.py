"""The mechanism of Duchi, Jordan and Wainwright for vectors of bounded length: a random direction of half a sphere."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sottovoce.core.channel import Cap
from sottovoce.core.domain import Domain
from sottovoce.core.guarantee import IDEALISED
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import VectorMean
from sottovoce.core.statistic.sums import Sums
from sottovoce.mechanisms.vector.sphere_common import ball


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """A uniform direction of the half sphere around the answer, or of the other half.

    Law: x is moved to r x / |x| or to the opposite point, with probabilities (1 +- |x|/r) / 2; the report is uniform on
        the half of the unit sphere around that point with probability e**epsilon / (e**epsilon + 1), else on the other
        half; each coordinate is rounded to a byte.
    Privacy: idealised. The two densities have the ratio e**epsilon; the sampler computes with floats.
    Estimator: the mean report times r B, B = (e**epsilon + 1) / (e**epsilon - 1) sqrt(pi) Gamma((d+1)/2) / Gamma(d/2).
    Cost: d bytes, O(d) time; the mean square error is r**2 (B**2 - 1) for a vector on the surface, about
        pi d / 2 ((e**epsilon + 1) / (e**epsilon - 1))**2, which a large epsilon does not lower below pi d / 2.
    Reference: Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation", JASA 2018,
        Section 4.2.3 (the l2 ball).
    """
    budget = check_epsilon("duchi-l2", epsilon)
    channel = Cap.of_budget(ball("duchi-l2", domain).dimensions, "sphere", Decimal(0), budget)
    return Mechanism("duchi-l2", VectorMean(domain), channel, budget, Sums(), guarantee=IDEALISED)
