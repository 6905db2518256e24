"""Workloads: the linear functions of a distribution that a question wants to know."""

from __future__ import annotations

from dataclasses import dataclass

from sottovoce.core.params import reject


@dataclass(frozen=True, slots=True)
class Workload:
    """What a distribution is wanted for. A question holds it; designs, planners and evidence compute with its queries.

    Attributes:
        name: the word in specifications and study files.
        on_line: the queries in words, of values on a line.
        on_circle: the queries in words, of values around a circle.
        is_cumulative: whether the queries are shares up to a point, which a circle does not have.
        of_numbers: whether the queries are means, so that categories have none.
    """

    name: str
    on_line: str
    on_circle: str
    is_cumulative: bool = False
    of_numbers: bool = False

    def __str__(self) -> str:
        return self.name

    def words(self, *, circular: bool) -> str:
        """The queries in words."""
        return self.on_circle if circular else self.on_line

    def ranked(self, *, circular: bool) -> Workload:
        """The workload that ranks methods: around a circle shares of buckets instead of cumulative shares."""
        return BY_NAME["histogram"] if circular and self.is_cumulative else self

    def measure(self, *, circular: bool) -> str:
        """What the standard error of the workload is that of."""
        if self.of_numbers:
            return "the mean cosine and sine, root mean square over both" if circular else "the mean"
        words = {"ranges": "an arc" if circular else "a range", "histogram": "a bucket"}
        one = f"the share of {words[self.name]}" if self.name in words else "a cumulative share"
        return f"{one}, root mean square over all of them"


BY_NAME = {
    one.name: one
    for one in (
        Workload("cdf", "cumulative shares", "shares of arcs", is_cumulative=True),
        Workload("quantiles", "cumulative shares", "shares of arcs", is_cumulative=True),
        Workload("ranges", "shares of ranges", "shares of arcs"),
        Workload("mean", "the mean", "the mean", of_numbers=True),
        Workload("histogram", "shares of buckets", "shares of buckets"),
    )
}


def check_workload(owner: str, value: object) -> Workload:
    """A workload, given as an object or by name."""
    workload = value if isinstance(value, Workload) else BY_NAME.get(value) if isinstance(value, str) else None
    if workload is None:
        raise reject("workload", owner, f"one of {', '.join(BY_NAME)}", value)
    return workload
