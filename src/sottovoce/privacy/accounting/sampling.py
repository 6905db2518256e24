"""What it gives that an observer does not know who takes part."""

from __future__ import annotations

import math
from decimal import Decimal

from sottovoce.core.params import check_decimal, check_epsilon, reject

OWNER = "sampling"


def sampled(epsilon: object, *, rate: object, delta: float = 0.0) -> tuple[float, float]:
    """Epsilon and delta when each person takes part with probability `rate`, and nobody can tell who did.

    It is for an observer of the reports together, who does not see that a report of a person is missing. A collector
    that invites people, or receives reports with a sender, knows who takes part: there nothing is gained.
    """
    number = check_epsilon(OWNER, epsilon)
    share = check_decimal("rate", OWNER, rate)
    if not 0 < share <= 1:
        raise reject("rate", OWNER, "a number in (0, 1]", rate)
    if share == Decimal(1):
        return float(number), delta
    return math.nextafter(math.log1p(float(share) * math.expm1(float(number))), math.inf), float(share) * delta
