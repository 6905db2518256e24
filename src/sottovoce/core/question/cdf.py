"""The cumulative distribution function at some points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.distribution_domain import DistributionQuestion, check_ordered, values_of


@dataclass(frozen=True, slots=True)
class Cdf(DistributionQuestion):
    """The share of answers that are at most each of some points."""

    kind: ClassVar[str] = "cdf"
    noun: ClassVar[str] = "share up to a point"
    is_share: ClassVar[bool] = True
    read_from_curve: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("points",)
    domain: Domain
    points: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        check_ordered(self.kind, self.domain)
        object.__setattr__(self, "points", values_of("points", self.kind, self.domain, self.points))

    def bin_ends(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return (), self.points
