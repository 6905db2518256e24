"""`CountSupports`: for each code the reports that support it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.compose.maps import MultiplierMap
from sottovoce.core.channel.compose.public import Public
from sottovoce.core.channel.facets import Supporting, need, rates_of
from sottovoce.core.channel.finite.block import ArcSets, Block
from sottovoce.core.channel.finite.subset import Subset
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@dataclass(frozen=True, slots=True)
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
        """Sets of a known size support as many codes; public sets of arcs lose those beyond the last code."""
        if isinstance(channel, Subset):
            return Limits(sums=((slice(None), channel.w, channel.w),))
        if isinstance(channel, Public) and isinstance(channel.map, MultiplierMap) and isinstance(channel.inner, Block):
            sets, beyond = channel.inner.sets, channel.map.outputs - channel.map.inputs
            if isinstance(sets, ArcSets) and sets.codes == sets.outputs:
                return Limits(sums=((slice(None), max(0, sets.size - beyond), sets.size),))
        return Limits()
