"""Which intervals are asked for: level, method, target, and whether all hold at once."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from sottovoce.core.params import reject


class PoorIntervalWarning(UserWarning):
    """A requested approximate interval misses clearly more often than its level promises."""


class Target(StrEnum):
    """What values and intervals are about: the population that participants were drawn from, or they themselves."""

    POPULATION = "population"
    SAMPLE = "sample"

    @classmethod
    def of(cls, text: str) -> Target:
        """The target of this name."""
        if text not in tuple(cls):
            raise reject("target", "an estimate", " or ".join(repr(str(known)) for known in cls), text)
        return cls(text)


def check_level(level: float) -> None:
    """A confidence level strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise reject("level", "ci", "a number in (0, 1)", level)


@dataclass(frozen=True, slots=True)
class IntervalRequest:
    """Intervals by a method (None: the default one), each of a level, or `simultaneous`: all of them together."""

    level: float = 0.95
    method: str | None = None
    target: Target = Target.POPULATION
    simultaneous: bool = False

    @classmethod
    def of(cls, level: float, method: str | None, target: str, simultaneous: bool) -> IntervalRequest:
        """The request of a caller, checked."""
        check_level(level)
        return cls(level, method, Target.of(target), simultaneous)

    def to_dict(self) -> dict[str, Any]:
        """The request in plain data."""
        return asdict(self) | {"target": str(self.target)}

    def words(self) -> str:
        """The intervals in a few words, such as "95 % exact intervals, all at once"."""
        for_whom = ", for these participants" if self.target is Target.SAMPLE else ""
        return f"{100 * self.level:g} % {self.method} intervals{', all at once' * self.simultaneous}{for_whom}"

    def at(self, level: float) -> IntervalRequest:
        """The request at another level."""
        return replace(self, level=level)

    def by(self, method: str) -> IntervalRequest:
        """The request by another method."""
        return replace(self, method=method)

    def instead_of(self, *methods: str, use: str) -> IntervalRequest:
        """The request, by another method in place of any of these."""
        return self.by(use) if self.method in methods else self

    def single(self, method: str, count: int) -> IntervalRequest:
        """One of `count` intervals by a method; where all must hold at once, at the level of Bonferroni."""
        level = 1 - (1 - self.level) / max(1, count) if self.simultaneous else self.level
        return replace(self, level=level, method=method, simultaneous=False)
