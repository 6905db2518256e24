"""`CountStates`: for each key that ids choose, how often each report was sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import facet
from sottovoce.core.channel.shapes import ByState
from sottovoce.core.channel.vector.key_values import AskedKey
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class CountStates(Statistic):
    """One cell for each pair of key and report, the report varying fastest."""

    kind: ClassVar[str] = "states"
    kernel: ClassVar[str] = "fast.counting:by_node"

    def check(self, channel: Channel) -> None:
        asked_key(channel)

    def cells(self, channel: Channel) -> int:
        known = asked_key(channel)
        return int(known.dimensions * known.outputs)

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        known = asked_key(channel)
        yield known.choice.of(public) * known.outputs + report, 1

    def limits(self, channel: Channel) -> Limits:
        return Limits(total=1)


def asked_key(channel: Channel) -> AskedKey:
    """The node whose reports are about one key."""
    known = facet(channel, ByState)
    if known is None:
        raise SpecError("Reports are counted by key where public words choose one key.")
    return known.by_state
