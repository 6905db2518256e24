"""`CountEnds`: reports about ends, then the reports that contain each key, then those that contain each end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import facet, need
from sottovoce.core.channel.shapes import ByEnds, Itemised
from sottovoce.core.channel.vector.key_values import KeyEnds
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class CountEnds(Statistic):
    """One cell for the reports about ends, one for each key and its fillers, one for each end and its fillers."""

    kind: ClassVar[str] = "ends"
    kernel: ClassVar[str] = "fast.counting:by_node"

    def check(self, channel: Channel) -> None:
        key_ends(channel)

    def cells(self, channel: Channel) -> int:
        return 1 + sum(sets.elements for sets in item_channels(channel))

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        plain, ends = item_channels(channel)
        about_ends = report & 1
        yield 0, about_ends
        sets, start = (ends, 1 + plain.elements) if about_ends else (plain, 1)
        for element in range(sets.elements):
            if sets.holds(report >> 1, element, public):
                yield start + element, 1

    def limits(self, channel: Channel) -> Limits:
        return Limits()

    def impossible(self, channel: Channel, cells: Any, n: int) -> bool:
        """Whether more reports have an element than are of its kind, or those of a kind have another number of them."""
        about_ends, start = int(cells[0]), 1
        known = key_ends(channel)
        for part, reports in ((known.plain, n - about_ends), (known.ends, about_ends)):
            sets = need(part, Itemised)
            counts = list(map(int, cells[start : start + sets.elements]))
            # A report about cells contains all elements of a cell, or none, so only without cells the total is known.
            if max(counts) > reports or (not part.publics and sum(counts) != sets.picked * reports):
                return True
            start += sets.elements
        return False


def key_ends(channel: Channel) -> KeyEnds:
    """The node that reports keys or ends."""
    known = facet(channel, ByEnds)
    if known is None:
        raise SpecError("Keys and ends are counted where a report says which of them it is about.")
    return known.by_ends


def item_channels(channel: Channel) -> tuple[Itemised, Itemised]:
    """The channels for sets of keys and for sets of ends."""
    known = key_ends(channel)
    return need(known.plain, Itemised), need(known.ends, Itemised)
