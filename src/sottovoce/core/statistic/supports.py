"""`CountSupports`: for each code the reports that support it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Supporting, need, rates_of
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class CountSupports(Statistic):
    """One cell for each code."""

    kind: ClassVar[str] = "supports"
    kernel: ClassVar[str] = "fast.counting:by_node"

    def check(self, channel: Channel) -> None:
        if None in (rates_of(channel), rates_of(channel, channel.inputs - 1)):
            raise SpecError("The reports of this channel do not support every code, so supports cannot be counted.")

    def cells(self, channel: Channel) -> int:
        return channel.inputs

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        supports = need(channel, Supporting).supports
        return ((code, 1) for code in channel.codes() if supports(report, code, public))

    def limits(self, channel: Channel) -> Limits:
        sizes = need(channel, Supporting).support_sizes()
        return Limits() if sizes is None else Limits(sums=((slice(None), *sizes),))
