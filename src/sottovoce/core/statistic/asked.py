"""`CountAsked`: for each code the reports that support it, and those that were asked about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.compose.maps import AskedMap
from sottovoce.core.channel.facets import Rates, facet
from sottovoce.core.channel.shapes import Asking
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class CountAsked(Statistic):
    """The bits that are set for each code, then for each code the reports that have a bit for it."""

    kind: ClassVar[str] = "asked"
    kernel: ClassVar[str] = "fast.counting:asked"

    def check(self, channel: Channel) -> None:
        asked_bits(channel)

    def cells(self, channel: Channel) -> int:
        return 2 * asked_bits(channel)[0].k

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        chosen, _ = asked_bits(channel)
        first = chosen.choice.of(public)
        for place in range(chosen.asked):
            code = (first + place) % chosen.k
            yield code, report >> place & 1
            yield chosen.k + code, 1

    def limits(self, channel: Channel) -> Limits:
        chosen, _ = asked_bits(channel)
        return Limits(sums=((slice(chosen.k, None), chosen.asked, chosen.asked),), pairs=chosen.k)


def asked_bits(channel: Channel) -> tuple[AskedMap, Rates]:
    """The public choice of codes, and the rates of the bits for those that are asked about."""
    asking = facet(channel, Asking)
    if asking is None:
        raise SpecError("Asked codes are counted where public words choose them and each of them has a bit.")
    return asking.asked
