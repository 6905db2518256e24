"""The share of a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.params import reject
from sottovoce.core.question.distribution_domain import Ends, IntervalQuestion, check_distributed, in_order, values_of


@dataclass(frozen=True, slots=True)
class Range(IntervalQuestion):
    """The share of answers from `low` to `high`, both included; on a circle the arc from one to the other."""

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
