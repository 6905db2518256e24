"""`CountEach`: for channels side by side, the reports of each of them, counted apart."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import facet, need, outputs_of
from sottovoce.core.channel.shapes import Bundled
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.supports import CountSupports


def statistic_of(part: Channel) -> Statistic:
    """How a part is counted: by its outputs if they are numbered, else by supports."""
    return CountSupports() if outputs_of(part) is None else CountOutputs()


def starts(channel: Channel) -> list[int]:
    """The first cell of each part, and the number of all."""
    parts = channel.parts if facet(channel, Bundled) is not None else ()
    return list(accumulate((statistic_of(part).cells(part) for part in parts), initial=0))


@declared
class CountEach(Statistic):
    """The cells of the first channel, then those of the second, and so on."""

    kind: ClassVar[str] = "each"
    kernel: ClassVar[str] = "fast.counting:each"

    def check(self, channel: Channel) -> None:
        if facet(channel, Bundled) is None:
            raise SpecError("Counting parts apart needs channels side by side.")
        for part in channel.parts:
            statistic_of(part).check(part)

    def cells(self, channel: Channel) -> int:
        return starts(channel)[-1]

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        reports = need(channel, Bundled).bundle.split(report)
        for part, own, start in zip(channel.parts, reports, starts(channel), strict=False):
            for cell, amount in statistic_of(part).add(part, own):
                yield start + cell, amount

    def limits(self, channel: Channel) -> Limits:
        """Every part keeps the limits of its own statistic."""
        sums: list[tuple[slice, int, int]] = []
        for part, (start, end) in zip(channel.parts, pairwise(starts(channel)), strict=True):
            own = statistic_of(part).limits(part)
            sums += [(slice(start, end), own.total, own.total)] if own.total is not None else []
            sums += [(slice(start, end), least, most) for _, least, most in own.sums]
        return Limits(sums=tuple(sums))
