"""Prometheus metrics: sums over all senders, without labels that name one."""

from __future__ import annotations

from collections import Counter as Count
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

if TYPE_CHECKING:
    from sottovoce.service.intake import Submission

disable_created_metrics()  # type: ignore[no-untyped-call]
SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """A registry with the collector's own metrics, without those of the process or host."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._outcomes = Counter("sottovoce_reports", "Reports by outcome.", ["outcome"], registry=self.registry)
        self._problems = Counter("sottovoce_problems", "Refused requests by code.", ["code"], registry=self.registry)
        self._commits = Histogram(
            "sottovoce_commit_seconds", "Duration of commits.", buckets=SECONDS, registry=self.registry
        )
        self._group = Histogram(
            "sottovoce_commit_batches",
            "Batches of one commit.",
            buckets=[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
            registry=self.registry,
        )
        self._waiting = Gauge("sottovoce_waiting_reports", "Reports that wait for a commit.", registry=self.registry)
        self._studies = Gauge(
            "sottovoce_study_reports", "Counted reports of a study.", ["study", "round"], registry=self.registry
        )

    def commit(self, group: Sequence[Submission], seconds: float) -> None:
        """Record a commit, or a failed one."""
        self._commits.observe(seconds)
        self._group.observe(len(group))
        counts: Count[str] = Count()
        for one in group:
            counts["accepted"] += one.accepted
            counts["duplicate"] += one.duplicates
            counts.update(code for _, code in one.failed)
            if one.problem is not None:
                self._problems.labels(one.problem).inc()
        for outcome, count in counts.items():
            if count:
                self._outcomes.labels(outcome).inc(count)

    def problem(self, code: str) -> None:
        """Count a request that was refused before it was queued."""
        self._problems.labels(code).inc()

    def watch(self, waiting: Callable[[], int]) -> None:
        """Register the function that reads the length of the queue."""
        self._waiting.set_function(waiting)

    def study(self, name: str, number: int, reports: int) -> None:
        """Record the round and the reports of a study."""
        self._studies.labels(name, str(number)).set(reports)

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return bytes(generate_latest(self.registry))
