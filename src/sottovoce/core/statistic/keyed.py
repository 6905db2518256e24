"""`CountKeyed`: for each group and each inner report the reports that support the group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.compose.keyed import Keyed
from sottovoce.core.channel.shapes import keyed_of
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic


@declared
class CountKeyed(Statistic):
    """One cell for each pair of group and inner report, the inner report varying fastest."""

    kind: ClassVar[str] = "keyed"
    kernel: ClassVar[str] = "fast.counting:by_node"

    def check(self, channel: Channel) -> None:
        _keyed(channel)

    def cells(self, channel: Channel) -> int:
        keyed = _keyed(channel)
        return keyed.key.inputs * keyed.inner_outputs

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        keyed = _keyed(channel)
        key, inner = keyed.split(report)
        for group in keyed.key.codes():
            if keyed.key.supports(key, group):
                yield group * keyed.inner_outputs + inner, 1

    def limits(self, channel: Channel) -> Limits:
        """A report supports a group at most once, and a subset of groups has a known size."""
        keyed = _keyed(channel)
        sizes = keyed.key.support_sizes()
        return Limits(total=None if sizes is None else sizes[1], block=keyed.inner_outputs)


def _keyed(channel: Channel) -> Keyed:
    keyed = keyed_of(channel)
    if keyed is None:
        raise SpecError("Only the reports of a keyed channel can be counted by group and inner report.")
    return keyed
