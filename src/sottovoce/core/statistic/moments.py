"""`Moments`: sums, squares and products of two reports, for channels with too many combinations to count."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import pairwise, product
from typing import Any, ClassVar

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import need, outputs_of, scales_of
from sottovoce.core.channel.shapes import Bundled, each_of
from sottovoce.core.declared import declared
from sottovoce.core.errors import SpecError
from sottovoce.core.statistic.base import Limits, Statistic

POWERS = ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (1, 1))  # of the two reports, in the order of the cells


@declared
class Moments(Statistic):
    """Moments of two channels side by side whose reports are numbers: n, sums of y, z, y**2, z**2 and y z.

    A channel may read its outputs by several scales, one interval of outputs after another. Readings are straight lines
    on each interval only, so there are six cells for each pair of intervals, and y and z are counted from the first
    output of their interval on. The second channel's intervals vary faster.
    """

    kind: ClassVar[str] = "moments"
    kernel: ClassVar[str] = "fast.counting:moments"

    def check(self, channel: Channel) -> None:
        if each_of(channel) is None or len(channel.parts) != 2 or not all(map(bounds, channel.parts)):
            raise SpecError("Moments need two channels side by side whose reports are read as numbers.")

    def cells(self, channel: Channel) -> int:
        first, second = _starts(channel)
        return len(POWERS) * (len(first) - 1) * (len(second) - 1)

    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        first, second = _starts(channel)
        y, z = need(channel, Bundled).bundle.split(report)
        row, column = bisect_right(first, y) - 1, bisect_right(second, z) - 1
        y, z = y - first[row], z - second[column]
        start = len(POWERS) * (row * (len(second) - 1) + column)
        return ((start + place, y**a * z**b) for place, (a, b) in enumerate(POWERS))

    def limits(self, channel: Channel) -> Limits:
        return Limits(most=tuple(y**a * z**b for y, z in _largest(channel) for a, b in POWERS), rows=len(POWERS))

    def impossible(self, channel: Channel, cells: Any, n: int) -> bool:
        """Sums of squares and products keep the inequalities of variances and of numbers within their ranges."""
        starts = range(0, len(cells), len(POWERS))
        return not all(
            _possible(y, z, *map(int, cells[start : start + len(POWERS)]))
            for start, (y, z) in zip(starts, _largest(channel), strict=True)
        )


def _largest(channel: Channel) -> Iterable[tuple[int, int]]:
    """The largest numbers of each pair of intervals."""
    first, second = ([end - start - 1 for start, end in pairwise(ends)] for ends in _starts(channel))
    return product(first, second)


def _possible(most_y: int, most_z: int, n: int, y: int, z: int, yy: int, zz: int, yz: int) -> bool:
    """Whether n pairs of whole numbers from 0 can have these sums."""
    spread_y, spread_z, joint = n * yy - y * y, n * zz - z * z, n * yz - y * z
    return (
        y <= yy <= most_y * y
        and z <= zz <= most_z * z
        and (yy - y) % 2 == (zz - z) % 2 == 0
        and most_y * z + most_z * y - n * most_y * most_z <= yz <= min(most_z * y, most_y * z)
        and min(spread_y, spread_z) >= 0
        and joint * joint <= spread_y * spread_z
    )


def bounds(part: Channel) -> tuple[int, ...] | None:
    """The first output of each interval of a channel, and its number of outputs; None if reports are not numbers."""
    scales, outputs = scales_of(part), outputs_of(part)
    if scales is None or outputs is None or part.publics:
        return None
    return (*(scale.first for scale in scales), outputs)


def _starts(channel: Channel) -> tuple[tuple[int, ...], tuple[int, ...]]:
    first, second = (bounds(part) for part in channel.parts)
    return first or (), second or ()
