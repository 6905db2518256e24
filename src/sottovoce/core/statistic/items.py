"""`CountItems`: for each item, and each filler, the reports that contain it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import facet, need
from sottovoce.core.channel.shapes import Itemised
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class CountItems(Statistic):
    """One cell for each element of a report."""

    kind: ClassVar[str] = "items"
    kernel: ClassVar[str] = "fast.counting:by_node"

    def check(self, channel: Channel) -> None:
        if facet(channel, Itemised) is None:
            raise SpecError("The reports of this channel are not sets of items, so items cannot be counted.")

    def cells(self, channel: Channel) -> int:
        return need(channel, Itemised).elements

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        itemised = need(channel, Itemised)
        return ((element, 1) for element in range(itemised.elements) if itemised.holds(report, element, public))

    def limits(self, channel: Channel) -> Limits:
        """A report about cells of items contains all items of a cell, or none."""
        return Limits() if channel.publics else Limits(total=need(channel, Itemised).picked)
