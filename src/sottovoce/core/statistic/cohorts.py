"""`CountCohorts`: for each public function its reports, and how many of them set each bit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Pooled, facet, need, outputs_of
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class CountCohorts(Statistic):
    """Cells of each cohort, or row of a sketch: the number of its reports, then a count for each of their bits."""

    kind: ClassVar[str] = "cohorts"
    kernel: ClassVar[str] = "fast.counting:cohorts"

    def check(self, channel: Channel) -> None:
        if facet(channel, Pooled) is None or outputs_of(channel) is not None:
            raise SpecError("Bits are counted by cohort where public functions are numbered and reports are masks.")

    def cells(self, channel: Channel) -> int:
        return need(channel, Pooled).seeds * (channel.payload_bits + 1)

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        start = need(channel, Pooled).seed(public) * (channel.payload_bits + 1)
        yield start, 1
        yield from ((start + 1 + place, report >> place & 1) for place in range(channel.payload_bits))

    def limits(self, channel: Channel) -> Limits:
        return Limits(rows=channel.payload_bits + 1)
