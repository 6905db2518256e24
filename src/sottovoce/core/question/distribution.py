"""The distribution of a number, of ordered categories, or on a circle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.params import check_integer, reject
from sottovoce.core.question.distribution_domain import DistributionQuestion, check_distributed

WORKLOADS = ("cdf", "quantiles", "ranges", "mean", "histogram")
MAX_BUCKETS = 1 << 20


@dataclass(frozen=True, slots=True)
class Distribution(DistributionQuestion):
    """How answers are distributed over a domain of numbers, of categories in their order, or over a circle.

    `workload` says what the distribution is wanted for, which decides what a planner makes small; `buckets` how many
    parts of the domain are told apart, by default as many as the method and the number of reports allow.
    """

    kind: ClassVar[str] = "distribution"
    noun: ClassVar[str] = "share"
    is_share: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("workload", "buckets")
    domain: Domain
    workload: str = "cdf"
    buckets: int | None = None

    def __post_init__(self) -> None:
        check_distributed(self.kind, self.domain)
        if self.workload not in WORKLOADS:
            raise reject("workload", self.kind, f"one of {', '.join(WORKLOADS)}", self.workload)
        if self.buckets is not None:
            most = min(MAX_BUCKETS, self.domain.size or MAX_BUCKETS)
            object.__setattr__(self, "buckets", check_integer("buckets", self.kind, self.buckets, 2, most))
