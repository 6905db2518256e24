"""The smallest share that can be distinguished from zero: exact where reports support codes with two rates.

A share is distinguished from zero where its interval excludes zero. The interval rejects zero from a critical count on,
and the share must reach that count with the wanted probability.
"""

from __future__ import annotations

import math

from scipy.special import bdtrc, ndtri

from sottovoce.core.channel import Contrast
from sottovoce.core.channel.facets import facet
from sottovoce.core.channel.shapes import Asking, Naming, contrast_of, shared_rates
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer, check_people, reject
from sottovoce.estimate.frequency.intervals.critical import critical_count, least_share

OWNER = "smallest_share"
POWER = 0.8


def smallest_share(
    mechanism: Mechanism, participants: int, *, level: float = 0.95, power: float = POWER, among: int = 1
) -> float | None:
    """The smallest share whose interval of this level excludes zero with probability `power`; None if no share is.

    With `among` values, all of their intervals hold at once (Bonferroni). For reports that support a code with two
    rates it is computed from the binomial law of the exact interval; for Hadamard sums by normal approximation.
    """
    n = check_people("participants", OWNER, participants)
    check_integer("among", OWNER, among, 1, 1 << 24)
    for name, value in (("level", level), ("power", power)):
        if not isinstance(value, float) or not 0 < value < 1:
            raise reject(name, OWNER, "a number in (0, 1)", value)
    rates, contrast = shared_rates(mechanism.channel), contrast_of(mechanism.channel)
    named = facet(mechanism.channel, Naming)
    if named is not None:
        rates, n = named.item_rates(), _reports_of_item(mechanism, n)
    alpha = (1 - level) / among / 2  # one side of a two-sided interval
    if contrast is not None:
        return _from_scores(n, contrast, alpha, power)
    if rates is None:
        raise ParameterError(f"The smallest share that {mechanism.name} distinguishes from zero has no closed form.")
    return _from_supports(n, float(rates.own), float(rates.other), alpha, power)


def _reports_of_item(mechanism: Mechanism, n: int) -> int:
    """How many of n reports about sets are about one item: all, unless public words choose some items."""
    asking = facet(mechanism.channel, Asking)
    return n if asking is None else n * asking.asked[0].asked // asking.asked[0].k


def _from_supports(n: int, own: float, other: float, alpha: float, power: float) -> float | None:
    critical = critical_count(n, other, alpha)

    def reached(share: float) -> bool:
        return critical <= n and bool(bdtrc(critical - 1, n, other + share * (own - other)) >= power)

    return least_share(reached)


def _from_scores(n: int, rates: Contrast, alpha: float, power: float) -> float | None:
    """A sum of scores +1, 0, -1 with the hit rate of a group of rare codes."""
    slope, hits = float(rates.slope), float(rates.hit_other)
    critical = -float(ndtri(alpha)) * math.sqrt(n * hits)

    def reached(share: float) -> bool:
        drift = share * slope
        spread = hits + share * float(rates.hit_own - rates.hit_other) - drift**2
        return n * drift + float(ndtri(1 - power)) * math.sqrt(n * max(spread, 0.0)) >= critical

    return least_share(reached)
