"""A square wave or a coded wave, by a coin: the one tells slow changes of a distribution, the other quick ones."""

from __future__ import annotations

from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.design.distribution import coded_wave
from sottovoce.mechanisms.distribution import square_wave
from sottovoce.mechanisms.distribution.tree_common import one_of

MOST = 1 << 11  # buckets, whose unbiased shares are found by solving linear equations


def build(domain: Domain, *, epsilon: Any, buckets: Any = None, workload: str = "cdf") -> Mechanism:
    """A square wave of the bucket or a coded wave, as a fair coin says.

    Law: that of `square-wave-discrete` with probability 1/2, else that of `coded-wave`; a report shows which.
    Privacy: that of both waves, e**epsilon; the coin is independent of the answer.
    Estimator: as for both; `curve()` is closer to the truth on average than with either wave alone.
    Cost: two bytes, and the patterns of the coded wave, which are found in seconds.
    Reference: ours, of the waves that `square-wave-discrete` and `coded-wave` refer to.
    """
    name = "mixed-wave"
    coded = coded_wave(name, domain, epsilon, buckets, workload, most=MOST)
    size = coded.channel.inputs if domain.size is None else buckets
    square = square_wave.discrete(domain, epsilon=epsilon, buckets=size, workload=workload)
    channel = one_of([square.channel, coded.channel])
    return Mechanism(name, coded.question, channel, coded.claimed, coded.statistic, coded.domain)
