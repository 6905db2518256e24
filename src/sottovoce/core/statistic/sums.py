"""`Sums`: sums of the numbers that reports hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Summed, facet, need
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class Sums(Statistic):
    """One cell for each sum."""

    kind: ClassVar[str] = "sums"
    kernel: ClassVar[str] = "fast.counting:by_node"

    def check(self, channel: Channel) -> None:
        if facet(channel, Summed) is None:
            raise SpecError("The reports of this channel cannot be added up.")

    def cells(self, channel: Channel) -> int:
        return len(need(channel, Summed).sums)

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        return enumerate(need(channel, Summed).summands(report, public))

    def limits(self, channel: Channel) -> Limits:
        return Limits(most=need(channel, Summed).sums)
