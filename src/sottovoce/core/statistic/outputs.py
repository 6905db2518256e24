"""`CountOutputs`: how often each report was sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class CountOutputs(Statistic):
    """One cell for each output."""

    kind: ClassVar[str] = "outputs"
    kernel: ClassVar[str] = "fast.counting:outputs"

    def check(self, channel: Channel) -> None:
        if outputs_of(channel) is None or channel.publics:
            raise SpecError("The reports of this channel are not numbered, so they cannot be counted one by one.")

    def cells(self, channel: Channel) -> int:
        return outputs_of(channel) or 0

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        yield report, 1

    def limits(self, channel: Channel) -> Limits:
        return Limits(total=1)
