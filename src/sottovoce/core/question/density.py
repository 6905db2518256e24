"""The density of a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.distribution_domain import DistributionQuestion, check_distributed


@dataclass(frozen=True, slots=True)
class Density(DistributionQuestion):
    """The share of answers for each unit of the domain."""

    kind: ClassVar[str] = "density"
    noun: ClassVar[str] = "density"
    domain: Domain

    def __post_init__(self) -> None:
        check_distributed(self.kind, self.domain)
