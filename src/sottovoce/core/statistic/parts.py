"""`CountParts`: for each coordinate of a vector how often each of its reports was sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Coordinates, facet, need
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class CountParts(Statistic):
    """One cell for each pair of coordinate and report, the report varying fastest."""

    kind: ClassVar[str] = "parts"
    kernel: ClassVar[str] = "fast.counting:by_node"

    def check(self, channel: Channel) -> None:
        if facet(channel, Coordinates) is None:
            raise SpecError("The reports of this channel cannot be counted by coordinate.")

    def cells(self, channel: Channel) -> int:
        known = need(channel, Coordinates)
        return known.dimensions * known.part_outputs

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        known = need(channel, Coordinates)
        for coordinate, part in known.parts_of(report, public):
            yield coordinate * known.part_outputs + part, 1

    def limits(self, channel: Channel) -> Limits:
        known = need(channel, Coordinates)
        return Limits(total=known.chosen, block=known.part_outputs)
