"""ProjUnit: PrivUnit on a public random projection, so that a report is short."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sottovoce.core.channel import Projected
from sottovoce.core.channel.vector.projected import projections
from sottovoce.core.domain import Domain
from sottovoce.core.guarantee import IDEALISED
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, reject
from sottovoce.core.question import VectorMean
from sottovoce.core.statistic.sums import Sums
from sottovoce.mechanisms.vector.sphere_common import ball, best_cap

COST = 1.05  # allowed mean square error, relative to that of all dimensions


def build(domain: Domain, *, epsilon: Any, k: int | None = None) -> Mechanism:
    """PrivUnit in k dimensions instead of d, on a projection that the report's id chooses.

    Law: x is filled up with zeros to D = 2**r coordinates and turned by a pseudo-random rotation (three times signs and
        a Walsh-Hadamard transform, then signs); coordinates that agree modulo k are added up; the sum, given the length
        of x, goes through priv-unit in k dimensions. By default k is the smallest power of two from 8 on whose mean
        square error is within 5 % of that of all dimensions; below D = 64 it is D, and nothing is projected.
    Privacy: idealised, that of priv-unit in k dimensions; the projection is public and not chosen by the answer.
    Estimator: the mean of the reports mapped back by the transposed projections, times r / (m c) with the m of
        priv-unit and c = Gamma((k+1)/2) Gamma(D/2) / (Gamma(k/2) Gamma((D+1)/2)), the mean length of a projected unit
        vector. The rotation is not exactly uniform, which leaves a relative bias that falls like 1/D: less than 0.3 %
        at D = 64 and 0.15 % at D = 128, as measured on vectors chosen to be bad.
    Cost: k bytes beside the id; O(D log D) time for the device and for each report that is counted.
    Reference: Asi, Feldman, Nelson, Nguyen, Talwar, "Fast optimal locally private mean estimation via random
        projections", NeurIPS 2023.
    """
    budget = check_epsilon("proj-unit", epsilon)
    size = ball("proj-unit", domain).dimensions
    sizes = projections(size)
    if k is None:
        best = _error(_of(size, sizes[-1], budget))
        channel = next(projected for reduced in sizes if _error(projected := _of(size, reduced, budget)) <= COST * best)
    elif k in sizes and not isinstance(k, (bool, float)):
        channel = _of(size, int(k), budget)
    else:
        raise reject("k", "proj-unit", f"one of {', '.join(map(str, sizes))}", k)
    return Mechanism("proj-unit", VectorMean(domain), channel, budget, Sums(), guarantee=IDEALISED)


def _of(size: int, k: int, budget: Decimal) -> Projected:
    return Projected(size, best_cap(k, "sphere", budget))


def _error(channel: Projected) -> float:
    """The mean square error of one report of a unit vector."""
    reading = channel.reading()
    return reading.along + (channel.size - 1) * reading.across - 1
