"""What the planners of tests share that have a power law of their own."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.study.planners.base import Option, Planner, Ways
from sottovoce.study.power.test_of import TestOf, most_difference


class TestPlanner(Planner):
    """Finds methods by the smallest difference that their test sees with a power.

    Standard errors are those of a normal test of one difference with the same power, so that a plan is solved alike.
    """

    __test__: ClassVar[bool] = False  # pytest collects classes of such names
    __slots__ = ()

    test: TestOf

    @property
    def most(self) -> float | None:
        """The largest difference that is possible, where it is known."""
        return most_difference(self.test)

    @abstractmethod
    def power_of(self, option: Option, difference: float, participants: int) -> float:
        """The probability that the test sees a difference, by one of the options."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A mechanism, with the smallest difference that its test sees for a number of participants."""

    name: str
    mechanism: Mechanism
    smallest: Callable[[int], float]


def falls_with_root(name: str, mechanism: Mechanism, difference: float) -> Contender:
    """A candidate whose smallest difference falls with the root of the participants."""
    return Contender(name, mechanism, lambda participants: difference / math.sqrt(participants))


@dataclass(frozen=True, slots=True)
class SeenWays(Ways):
    """Candidates by the smallest difference that they see; `scale` turns it into a standard error."""

    candidates: tuple[Contender, ...]
    scale: float

    def options(self, participants: int) -> tuple[Option, ...]:
        seen = sorted((one.smallest(participants), place) for place, one in enumerate(self.candidates))
        return tuple(self._option(self.candidates[place], size, seen[0][0]) for size, place in seen)

    def _option(self, one: Contender, difference: float, least: float) -> Option:
        size = codec.payload_bytes(one.mechanism.channel)
        return Option(one.name, one.mechanism, difference * self.scale, size, _reason(difference / least))

    def least(self, participants: int) -> float:
        return self.scale * min(one.smallest(participants) for one in self.candidates)


def _reason(ratio: float) -> str:
    """Why an option has its place, from its smallest difference over that of the first choice."""
    if ratio == 1:
        return "no method sees a smaller difference."
    if math.isinf(ratio):
        return "sees no difference that is possible, with so few participants."
    return f"needs {ratio**2:.3g} times the participants of the first choice."
