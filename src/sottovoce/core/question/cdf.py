"""The cumulative distribution function at some points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.distribution_domain import Ends, IntervalQuestion, check_ordered, values_of


@dataclass(frozen=True, slots=True)
class Cdf(IntervalQuestion):
    """The share of answers that are at most each of some points."""

    kind: ClassVar[str] = "cdf"
    noun: ClassVar[str] = "share up to a point"
    parameters: ClassVar[tuple[str, ...]] = ("points",)
    domain: Domain
    points: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        check_ordered(self.kind, self.domain)
        object.__setattr__(self, "points", values_of("points", self.kind, self.domain, self.points))

    def intervals(self) -> tuple[Ends, ...]:
        return tuple((None, point) for point in self.points)
