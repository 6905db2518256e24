"""The contract of a statistic: the definition of counting, which devices, collectors and engines share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.specs import Spec


class Limits(NamedTuple):
    """Bounds that the cells of every tally keep, in units of one report.

    Attributes:
        most: the largest number that one report adds to a cell; one number, or one for each cell.
        total: the sum that one report adds to all cells, if that is the same for every report.
        block: neighbouring cells to which one report adds at most 1 together; None if there is no such bound.
    """

    most: int | tuple[int, ...] = 1
    total: int | None = None
    block: int | None = None


class Statistic(ABC):
    """How one report becomes integers. `add` is the definition; kernels are proven equal to it."""

    kind: ClassVar[str]
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

    def spec(self) -> Spec:
        """The statistic in plain data."""
        return {"kind": self.kind}
