"""Two mechanisms that keep a memo: unary encoding in two stages, alone and under cohorts. None is registered."""

from __future__ import annotations

from decimal import Decimal

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Chain, Channel, Cohorts, PoolMap
from sottovoce.core.statistic.supports import CountSupports

ONCE, FOREVER = Decimal("1.0216512476"), Decimal("2.1972245774")  # 2 ln(5/3) and 2 ln 3


def two_stages(k: int) -> Chain:
    """A bit is kept with 3/4, and sent with 3/4."""
    p, q = 3 * UNIT // 4, UNIT // 4
    return Chain(Bits(k, p, q), Bits(k, p, q, "mask", 0))


def memoised(channel: Channel, kind: type[sv.Mechanism] = sv.Mechanism) -> sv.Mechanism:
    """The shares of as many numbers as the channel has codes."""
    domain = sv.Integers(0, channel.inputs - 1)
    return kind("toy", sv.Frequency(domain), channel, ONCE, CountSupports(), claimed_forever=FOREVER)


def unary(k: int = 4, kind: type[sv.Mechanism] = sv.Mechanism) -> sv.Mechanism:
    return memoised(two_stages(k), kind)


def in_cohorts(
    k: int = 10, g: int = 4, digits: int = 2, bits: int = 64, kind: type[sv.Mechanism] = sv.Mechanism
) -> sv.Mechanism:
    """g**digits cohorts, in each of which k codes are mapped to g."""
    return memoised(Cohorts(PoolMap(k, g, digits, bits), two_stages(g)), kind)
