"""ProjUnit: PrivUnit on a public random projection, so that a report is short."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sottovoce.core.channel import Projected
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, reject
from sottovoce.mechanisms.vector.sphere_common import ball, best_cap

COST = 1.05  # times the mean square error of all dimensions, that the chosen number of them may have


def build(domain: Domain, *, epsilon: Any, k: int | None = None) -> Mechanism:
    """PrivUnit in k dimensions instead of d, on a projection that the report's id chooses.

    Law: x is filled up with zeros to D = 2**r coordinates and turned by a pseudo-random rotation (signs, a Walsh-
        Hadamard transform, signs, a transform, signs); coordinates that agree modulo k are added up; the sum, given the
        length of x, goes through priv-unit in k dimensions. By default k is the smallest power of two whose mean square
        error is within 5 % of that of all dimensions.
    Privacy: idealised, that of priv-unit in k dimensions; the projection is public and not chosen by the answer.
    Estimator: the mean of the reports mapped back by the transposed projections, times r / (m c) with the m of
        priv-unit and c = Gamma((k+1)/2) Gamma(D/2) / (Gamma(k/2) Gamma((D+1)/2)), the mean length of a projected unit
        vector. The rotation is not exactly uniform, which leaves a relative bias of about 1 / (4 D).
    Cost: k bytes beside the id; O(D log D) time for the device and for each report that is counted.
    Reference: Asi, Feldman, Nelson, Nguyen, Talwar, "Fast optimal locally private mean estimation via random
        projections", NeurIPS 2023.
    """
    budget = check_epsilon("proj-unit", epsilon)
    size = ball("proj-unit", domain).dimensions
    full = Projected(size, best_cap(1 << (size - 1).bit_length(), "sphere", budget))
    sizes = [1 << power for power in range(1, full.padded.bit_length())]
    if k is None:
        channel = next(found for each in sizes if _error(found := _of(size, each, budget)) <= COST * _error(full))
    elif k in sizes and not isinstance(k, (bool, float)):
        channel = _of(size, int(k), budget)
    else:
        raise reject("k", "proj-unit", f"a power of two from 2 to {full.padded}", k)
    return Mechanism("proj-unit", domain, channel, budget, "sums", guarantee="idealised")


def _of(size: int, k: int, budget: Decimal) -> Projected:
    return Projected(size, best_cap(k, "sphere", budget))


def _error(channel: Projected) -> float:
    """The mean square error of one report of a unit vector."""
    reading = channel.reading()
    return reading.along + (channel.size - 1) * reading.across - 1
