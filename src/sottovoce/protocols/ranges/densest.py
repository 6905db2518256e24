"""Two rounds: find the densest interval of a range of integers, then ask within it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.core.domain import Bins, Integers
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, check_people
from sottovoce.core.question import Frequency
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Estimates
from sottovoce.protocols.ask import AskEveryone
from sottovoce.protocols.nested.sequential import Sequential
from sottovoce.protocols.nested.walk import Rounds

OWNER = "the densest interval"


@dataclass(frozen=True, slots=True)
class DensestInterval(Sequential):
    """`first` participants report in which of `intervals` equal intervals they are; the rest, where in the densest one.

    The second question is about the interval with the largest first estimate: below it, each of its integers, above
    it. Everyone answers once.
    """

    domain: Integers
    epsilon: Any
    first: int
    intervals: int = 4
    method: str = "grr"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(OWNER, self.epsilon))
        check_people("first", OWNER, self.first)
        check_integer("size of the domain", OWNER, self.domain.size, 4, 1 << 20)
        check_integer("intervals", OWNER, self.intervals, 2, self.domain.size // 2)

    @property
    def question(self) -> Frequency:
        return Frequency(self.domain)

    def _edges(self) -> list[int]:
        low, size = self.domain.low, self.domain.size
        return [low + size * i // self.intervals for i in range(1, self.intervals)]

    def fine(self, interval: int) -> Mechanism:
        """The second question."""
        ends = [self.domain.low, *self._edges(), self.domain.high + 1]
        inside = range(ends[interval], ends[interval + 1] + 1)
        edges = [edge for edge in inside if self.domain.low < edge <= self.domain.high]
        return build(self.method, Bins(self.domain, edges), epsilon=self.epsilon)

    @property
    def opening(self) -> AskEveryone:
        coarse = build(self.method, Bins(self.domain, self._edges()), epsilon=self.epsilon)
        return AskEveryone(coarse, "interval", self.first)

    def following(self, estimates: Estimates, rounds: Rounds) -> AskEveryone:
        return AskEveryone(self.fine(int(np.argmax(estimates["interval"].values))), "value")
