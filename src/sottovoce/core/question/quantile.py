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
    """The value below which each of some shares of the answers lie."""

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
