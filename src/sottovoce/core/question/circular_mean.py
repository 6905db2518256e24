"""The mean direction on a circle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.distribution_domain import DistributionQuestion, check_circle


@dataclass(frozen=True, slots=True)
class CircularMean(DistributionQuestion):
    """The direction of the mean of all answers as points of a circle."""

    kind: ClassVar[str] = "circular-mean"
    noun: ClassVar[str] = "circular mean"
    unit_power: ClassVar[int] = 1
    read_from_curve: ClassVar[bool] = True
    needs_prior: ClassVar[bool] = True
    domain: Domain

    def __post_init__(self) -> None:
        check_circle(self.kind, self.domain)
