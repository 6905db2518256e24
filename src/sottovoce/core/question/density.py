"""The density of a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.distribution_domain import DistributionQuestion, check_distributed


@dataclass(frozen=True, slots=True)
class Density(DistributionQuestion):
    """Ask for the density: the share of answers for each unit of the domain.

    Args:
        domain: The range of the answers: `Interval` or `Circle`.

    Examples:
        >>> hours = sv.Interval(0, 12)
        >>> m = sv.mechanism("square-wave-discrete", hours, epsilon=2, buckets=4)
        >>> sleep = m.estimate(m.tally(m.privatize([1.5, 4.5, 7.5, 10.5] * 5000, seed=1)))
        >>> sleep.density().values.round(2)
        array([0.08, 0.08, 0.08, 0.08])

    See also:
        `Distribution` for shares of buckets, which sum to one.
    """

    kind: ClassVar[str] = "density"
    noun: ClassVar[str] = "density"
    takes_reasons: ClassVar[bool] = False
    domain: Domain

    def __post_init__(self) -> None:
        check_distributed(self.kind, self.domain)
