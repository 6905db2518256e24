"""Quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.params import check_decimal, reject
from sottovoce.core.question.distribution_domain import DistributionQuestion, check_ordered, listed


@dataclass(frozen=True, slots=True)
class Quantile(DistributionQuestion):
    """Ask for quantiles: the values below which given shares of the answers lie.

    Intervals end at the borders of buckets, because nothing is known about answers inside a bucket.

    Args:
        domain: The range of the answers: `Interval`, `Integers` or ordered `Categories`.
        shares: The shares, each between 0 and 1; 0.5 is the median.

    Examples:
        >>> hours = sv.Interval(0, 12)
        >>> m = sv.mechanism("square-wave-discrete", hours, epsilon=2, buckets=24)
        >>> sleep = m.estimate(m.tally(m.privatize([6.3, 7.2, 8.1] * 5000, seed=1)))
        >>> sleep.answer(sv.Quantile(hours, shares=[0.5])).values.round(1)
        array([7.2])

    See also:
        `QuantileRounds` for less noise in several rounds, `Distribution` for the whole distribution,
        `Estimate.quantile`.
    """

    kind: ClassVar[str] = "quantile"
    noun: ClassVar[str] = "quantile"
    unit_power: ClassVar[int] = 1
    read_from_curve: ClassVar[bool] = True
    ends_at_buckets: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("shares",)
    domain: Domain
    shares: tuple[Decimal, ...] = ()

    def __post_init__(self) -> None:
        check_ordered(self.kind, self.domain)
        shares = tuple(check_decimal("shares", self.kind, share) for share in listed("shares", self.kind, self.shares))
        if not all(0 < share < 1 for share in shares):
            raise reject("shares", self.kind, "numbers in (0, 1)", self.shares)
        object.__setattr__(self, "shares", shares)
