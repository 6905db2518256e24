"""`CountSeeds`: how often each payload was sent under each public function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Numbered, Pooled, facet, need
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class CountSeeds(Statistic):
    """One cell for each pair of public function and payload, the payload varying fastest."""

    kind: ClassVar[str] = "seeds"
    kernel: ClassVar[str] = "fast.counting:seeds"

    def check(self, channel: Channel) -> None:
        if facet(channel, Pooled) is None or facet(channel, Numbered) is None:
            raise SpecError("The public functions of this channel are not numbered, so they cannot be counted apart.")

    def cells(self, channel: Channel) -> int:
        return need(channel, Pooled).seeds * need(channel, Numbered).outputs

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        yield need(channel, Pooled).seed(public) * need(channel, Numbered).outputs + report, 1

    def limits(self, channel: Channel) -> Limits:
        return Limits(total=1)
