"""What follows a search of a range: the search first, then a question within the range that was found."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

from sottovoce.core.round import Estimates
from sottovoce.protocols.nested.sequential import Sequential
from sottovoce.protocols.nested.walk import Rounds
from sottovoce.protocols.ranges.from_thresholds import mean_from_thresholds
from sottovoce.protocols.ranges.search import RangeSearchRounds


class AfterRangeSearch(Sequential):
    """A search that is closed early has the shares at or above thresholds, and the mean that these allow."""

    __slots__ = ()

    @property
    @abstractmethod
    def opening(self) -> RangeSearchRounds:
        """The search."""

    def alone(self, estimates: Estimates, rounds: Rounds) -> Estimates:
        mean = mean_from_thresholds(self.opening, rounds)
        return {"mean": replace(mean, missing=estimates["thresholds"].missing), **estimates}

    def effort(self) -> int:
        return 2 * self.opening.effort()
