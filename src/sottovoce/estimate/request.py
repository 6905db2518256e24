"""Which intervals are asked for: level, method, target, and whether all hold at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from sottovoce.core.params import reject


class PoorIntervalWarning(UserWarning):
    """Warn that a requested approximate interval misses clearly more often than its level promises.

    `Estimate.doubt` returns the sentence without a warning.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        >>> rare = m.estimate(sv.simulate_counts(m, [1, 11], seed=1))
        >>> rare.doubt(method="normal") is None
        False

    See also:
        `Estimate.ci`, whose default method avoids this where it can.
    """


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


class Method(StrEnum):
    """How intervals are made; evidence says which of them it has."""

    NORMAL = "normal"
    GUARDED = "guarded"
    COMPATIBLE = "compatible"
    EVEN = "even"  # for quantiles of answers that are spread evenly
    EXACT = "exact"
    WILSON = "wilson"
    BOUNDED = "bounded"
    SHOWN = "shown"
    HOEFFDING = "hoeffding"
    BETTING = "betting"
    BERNSTEIN = "bernstein"
    LIKELIHOOD = "likelihood"
    ANYTIME = "anytime"
    CAUTIOUS = "cautious"
    FIELLER = "fieller"
    DELTA = "delta"
    EACH = "each"  # the default method of each attribute
    OWN = "own"  # from the law of the decoder itself

    @classmethod
    def of(cls, text: str, known: Sequence[Method], owner: str = "ci") -> Method:
        """The method of this name, one of those that are known."""
        if text not in known:
            raise reject("method", owner, f"one of {', '.join(known)}", text)
        return cls(text)


def check_level(level: float) -> None:
    """A confidence level strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise reject("level", "ci", "a number in (0, 1), such as 0.95", level)


@dataclass(frozen=True, slots=True)
class IntervalRequest:
    """Intervals by a method (None: the default one), each of a level, or `simultaneous`: all of them together."""

    level: float = 0.95
    method: Method | None = None
    target: Target = Target.POPULATION
    simultaneous: bool = False

    @classmethod
    def of(
        cls,
        level: float,
        method: str | None,
        target: str,
        simultaneous: bool,
        known: Sequence[Method] = tuple(Method),
        owner: str = "ci",
    ) -> IntervalRequest:
        """The request of a caller, checked; the method is one of those that are known."""
        check_level(level)
        wanted = Target.of(target)
        return cls(level, None if method is None else Method.of(method, known, owner), wanted, simultaneous)

    def to_dict(self) -> dict[str, Any]:
        """The request in plain data."""
        return asdict(self) | {"method": self.method and str(self.method), "target": str(self.target)}

    def words(self) -> str:
        """The intervals in a few words, such as "95 % exact intervals, all at once"."""
        for_whom = ", for these participants" if self.target is Target.SAMPLE else ""
        return f"{100 * self.level:g} % {self.method} intervals{', all at once' * self.simultaneous}{for_whom}"

    def at(self, level: float) -> IntervalRequest:
        """The request at another level."""
        return replace(self, level=level)

    def by(self, method: Method) -> IntervalRequest:
        """The request by another method."""
        return replace(self, method=method)

    def instead_of(self, *methods: Method, use: Method) -> IntervalRequest:
        """The request, by another method in place of any of these."""
        return self.by(use) if self.method in methods else self

    def single(self, count: int) -> IntervalRequest:
        """One of `count` intervals; where all must hold at once, at the level of Bonferroni."""
        level = 1 - (1 - self.level) / max(1, count) if self.simultaneous else self.level
        return replace(self, level=level, simultaneous=False)
