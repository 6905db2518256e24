"""Amplification by sampling: an observer does not know who takes part."""

from __future__ import annotations

import math
from decimal import Decimal

from sottovoce.core.params import check_decimal, check_epsilon, reject

OWNER = "sampling"


def sampled(epsilon: object, *, rate: object, delta: float = 0.0) -> tuple[float, float]:
    """Epsilon and delta when a share `rate` of a population is drawn to take part, and nobody can tell who was.

    The bound is for an observer of the reports together, without senders, and for a number of participants that is
    fixed: a person who is drawn takes the place of another. Where everyone takes part by a coin of their own, the
    number of reports may show that all did, and nothing is gained. Neither is it towards a collector that invites
    people, or receives reports with a sender: it knows who takes part. (Balle, Barthe and Gaboardi 2018.)
    """
    number = check_epsilon(OWNER, epsilon)
    share = check_decimal("rate", OWNER, rate)
    if not 0 < share <= 1:
        raise reject("rate", OWNER, "a number in (0, 1]", rate)
    if share == Decimal(1):
        return float(number), delta
    return math.nextafter(math.log1p(float(share) * math.expm1(float(number))), math.inf), float(share) * delta
