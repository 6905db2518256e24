"""The distribution of a number, of ordered categories, or on a circle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.params import check_integer
from sottovoce.core.question.distribution_domain import DistributionQuestion, check_distributed
from sottovoce.core.workload import BY_NAME, check_workload

MAX_BUCKETS = 1 << 20


@dataclass(frozen=True, slots=True)
class Distribution(DistributionQuestion):
    """Ask how answers are distributed: the share of each part of a range, of ordered categories, or of a circle.

    Means, quantiles and shares of ranges can be read from the result.

    Args:
        domain: The range of the answers: `Interval`, `Integers`, `Circle`, or `Categories` in their order.
        workload: What the distribution is wanted for: "cdf", "quantiles", "ranges", "mean" or "histogram". A planner
            makes the error of that small.
        buckets: How many parts of the domain are distinguished. Default: as many as the method and the number of
            reports allow.

    Examples:
        >>> m = sv.mechanism("square-wave-discrete", sv.Interval(0, 12), epsilon=2, buckets=24)
        >>> sleep = m.estimate(m.tally(m.privatize([6.3, 7.2, 8.1] * 5000, seed=1)))
        >>> round(float(sleep.mean().value), 1)
        7.2

    See also:
        `Quantile`, `Range` and `Cdf` for single numbers of a distribution.
    """

    kind: ClassVar[str] = "distribution"
    noun: ClassVar[str] = "share"
    is_share: ClassVar[bool] = True
    is_distribution: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("workload", "buckets")
    domain: Domain
    workload: Any = BY_NAME["cdf"]  # a `Workload`, which may be given by name
    buckets: int | None = None

    def __post_init__(self) -> None:
        check_distributed(self.kind, self.domain)
        object.__setattr__(self, "workload", check_workload(self.kind, self.workload))
        if self.buckets is not None:
            most = min(MAX_BUCKETS, self.domain.size or MAX_BUCKETS)
            object.__setattr__(self, "buckets", check_integer("buckets", self.kind, self.buckets, 2, most))
