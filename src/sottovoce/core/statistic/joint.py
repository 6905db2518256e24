"""`CountJoint`: how often each combination of the reports of channels side by side was sent."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import need, outputs_of
from sottovoce.core.channel.shapes import Bundled, each_of
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic

MAX_JOINT = 1 << 20  # combinations of outputs


@declared
class CountJoint(Statistic):
    """One cell for each combination, the last report varying fastest."""

    kind: ClassVar[str] = "joint"
    kernel: ClassVar[str] = "fast.counting:joint"

    def check(self, channel: Channel) -> None:
        if each_of(channel) is None or not 0 < self.cells(channel) <= MAX_JOINT:
            raise SpecError("Joint cells need channels side by side with at most 2**20 combinations of outputs.")

    def cells(self, channel: Channel) -> int:
        return prod(outputs_of(part) or 0 for part in channel.parts) if each_of(channel) is not None else 0

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        place = 0
        for part, own in zip(channel.parts, need(channel, Bundled).bundle.split(report), strict=True):
            place = place * (outputs_of(part) or 0) + own
        yield place, 1

    def limits(self, channel: Channel) -> Limits:
        return Limits(total=1)
