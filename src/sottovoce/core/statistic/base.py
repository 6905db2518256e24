"""The contract of a statistic: the definition of counting, which devices, collectors and engines share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.declared import Declared


class Limits(NamedTuple):
    """Bounds that the cells of every tally keep, in units of one report.

    Attributes:
        most: the largest number that one report adds to a cell; one number, or one for each cell.
        total: the sum that one report adds to all cells, if that is the same for every report.
        sums: slices of cells, with the least and the largest sum that one report adds to the cells of each.
        block: neighbouring cells to which one report adds at most 1 together; None if there is no such bound.
        rows: neighbouring cells of which the first counts reports, each report once, and bounds the others.
        pairs: the distance to the cell that counts all reports of which a cell counts some.
    """

    most: int | tuple[int, ...] = 1
    total: int | None = None
    sums: tuple[tuple[slice, int, int], ...] = ()
    block: int | None = None
    rows: int | None = None
    pairs: int | None = None


class Statistic(Declared, ABC):
    """How one report becomes integers. `add` is the definition; kernels are proven equal to it."""

    known: ClassVar[bool] = True  # whether this package can count it
    kernel: ClassVar[str]  # the function of the analysis side that gives the kernel of a channel
    __slots__ = ()

    @abstractmethod
    def check(self, channel: Channel) -> None:
        """Refuse a channel whose reports this statistic cannot count."""

    @abstractmethod
    def cells(self, channel: Channel) -> int:
        """How many integers a tally holds."""

    @abstractmethod
    def add(self, channel: Channel, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        """What a report adds to which cells."""

    @abstractmethod
    def limits(self, channel: Channel) -> Limits:
        """The bounds and the total that a tally must keep."""

    def impossible(self, channel: Channel, cells: Any, n: int) -> bool:
        """Whether no n reports give these integers, a sequence or an array, although they keep the limits."""
        return False
