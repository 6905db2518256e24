"""d-bit flip: randomized bits for a few buckets, chosen in public."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds, sqrt_down
from sottovoce.core.channel import AskedMap, Bits, Public
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.asked import CountAsked
from sottovoce.mechanisms.frequency.common import categories

BYTE = 8


def build(domain: Domain, *, epsilon: Any, d: int | None = None) -> Mechanism:
    """Bits for d of the k codes; by default for eight, which is one byte, or for all if there are fewer.

    Law: the report's id chooses d neighbouring codes on a circle of all codes. Each has a bit, which is 1 with
        p = e**(epsilon/2) / (e**(epsilon/2) + 1) for the true code, else with q = 1 - p.
    Privacy: p (1-q) / (q (1-p)) = e**epsilon: two codes differ in at most two bits. If d is 1 they differ in one, and
        p = e**epsilon / (e**epsilon + 1).
    Estimator: (count / asked - q) / ((p - q) s), where asked is the number of reports that have a bit for v, count the
        number of those whose bit is 1, and s = 1 - (1 - d/k)**n the probability that asked is not 0; 0 if it is. The
        published one divides by n d / k, the mean of asked: for a share f its variance is f**2 (k/d - 1) / n larger.
    Cost: d bits; for rare values and large n k / d times the variance of symmetric unary encoding.
    Reference: Ding, Kulkarni, Yekhanin, "Collecting telemetry data privately", NeurIPS 2017.
    """
    budget = check_epsilon("d-bit-flip", epsilon)
    k = categories("d-bit-flip", domain, 1 << 20)
    asked = min(k, BYTE) if d is None else check_integer("d", "d-bit-flip", d, 1, k)
    e = odds(budget)
    odds_of_a_bit = e if asked == 1 else sqrt_down(e)
    own = floor_unit(odds_of_a_bit / (odds_of_a_bit + 1))
    channel = Public(AskedMap(k, asked), Bits(asked, own, UNIT - own, "optional"))
    return Mechanism("d-bit-flip", Frequency(domain), channel, budget, CountAsked())
