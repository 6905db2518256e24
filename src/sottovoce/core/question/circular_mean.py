"""The mean direction on a circle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.distribution_domain import DistributionQuestion, check_circle


@dataclass(frozen=True, slots=True)
class CircularMean(DistributionQuestion):
    """Ask for the mean direction of answers on a circle, such as a time of day.

    Answers all around the circle have no mean direction. A plan therefore needs a prior.

    Args:
        domain: The `Circle` of the answers.

    Examples:
        >>> m = sv.mechanism("square-wave-discrete", sv.Circle(24), epsilon=2, buckets=24)
        >>> bedtime = m.estimate(m.tally(m.privatize([23.5, 0.5, 22.5] * 5000, seed=1)))
        >>> bedtime.answer(sv.CircularMean(sv.Circle(24))).values.round(0)
        array([24.])

    See also:
        `Circle`, `Mean` for numbers in a range.
    """

    kind: ClassVar[str] = "circular-mean"
    noun: ClassVar[str] = "circular mean"
    unit_power: ClassVar[int] = 1
    read_from_curve: ClassVar[bool] = True
    has_differences: ClassVar[bool] = False
    needs_prior: ClassVar[bool] = True
    domain: Domain

    def __post_init__(self) -> None:
        check_circle(self.kind, self.domain)
