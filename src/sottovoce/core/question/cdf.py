"""The cumulative distribution function at some points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.distribution_domain import Ends, IntervalQuestion, check_ordered, values_of


@dataclass(frozen=True, slots=True)
class Cdf(IntervalQuestion):
    """Ask for the share of answers that are at most each of some points.

    Args:
        domain: The range of the answers: `Interval`, `Integers` or ordered `Categories`.
        points: The points, in the units of the answers.

    Examples:
        >>> hours = sv.Interval(0, 12)
        >>> m = sv.mechanism("square-wave-discrete", hours, epsilon=2, buckets=24)
        >>> sleep = m.estimate(m.tally(m.privatize([6.3, 7.2, 8.1] * 5000, seed=1)))
        >>> sleep.answer(sv.Cdf(hours, points=[7, 7.5])).values.round(1)
        array([0.3, 0.7])

    See also:
        `Range` for the share between two values, `Estimate.band` for all points at once.
    """

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
