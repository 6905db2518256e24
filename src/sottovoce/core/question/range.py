"""The share of a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.params import reject
from sottovoce.core.question.distribution_domain import Ends, IntervalQuestion, check_distributed, in_order, values_of


@dataclass(frozen=True, slots=True)
class Range(IntervalQuestion):
    """Ask for the share of answers from `low` to `high`, both included.

    On a circle this is the arc from `low` to `high`, which may pass 0.

    Args:
        domain: The range of all answers: `Interval`, `Integers`, `Circle` or ordered `Categories`.
        low: The first value of the range.
        high: The last value of the range.

    Examples:
        >>> hours = sv.Interval(0, 12)
        >>> m = sv.mechanism("square-wave-discrete", hours, epsilon=2, buckets=24)
        >>> sleep = m.estimate(m.tally(m.privatize([6.3, 7.2, 8.1] * 5000, seed=1)))
        >>> sleep.answer(sv.Range(hours, 7, 12)).values.round(1)
        array([0.7])

    See also:
        `Cdf` for the share up to a point, `Distribution`.
    """

    kind: ClassVar[str] = "range"
    noun: ClassVar[str] = "share of a range"
    parameters: ClassVar[tuple[str, ...]] = ("low", "high")
    domain: Domain
    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        check_distributed(self.kind, self.domain)
        low, high = values_of("low, high", self.kind, self.domain, (self.low, self.high))
        if not in_order(self.domain, low, high):
            raise reject("high", self.kind, "a value that is not before low", high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def intervals(self) -> tuple[Ends, ...]:
        return ((self.low, self.high),)
