"""A distribution in a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.question import Cdf, Distribution
from sottovoce.core.round import Estimates
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.expected import cumulative
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import most_excess
from sottovoce.estimate.metrics import histogram
from sottovoce.estimate.request import IntervalRequest
from sottovoce.study import charts
from sottovoce.study.charts import Point
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth, first_estimate
from sottovoce.study.questions.result_lines import ResultLine, evidence_lines


@dataclass(frozen=True, slots=True)
class StudyDistribution(StudyQuestion):
    """The share of each bucket, and the share of all answers up to its end where answers have an order."""

    keys: ClassVar[tuple[str, ...]] = ("categories", "period", "buckets", *RANGE)
    shares_report: ClassVar[bool] = True

    @classmethod
    def read(cls, table: QuestionTable) -> Distribution | None:
        domain = table.ordered()
        if domain is None:
            return None
        remedy = "Write how many parts of the range are told apart, such as buckets = 20."
        return table.built("buckets", lambda: Distribution(domain, "cdf", table.table.get("buckets")), remedy)

    @property
    def distribution(self) -> Distribution:
        asked: Distribution = self.question
        return asked

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        estimate = first_estimate(estimates)
        if estimate is None or not isinstance(estimate.evidence, DistributionEvidence):
            return {}
        evidence, shares = estimate.evidence, histogram(estimate, column)
        known = {
            (Distribution.noun, str(label)): float(share) for label, share in zip(estimate.labels, shares, strict=True)
        }
        if evidence.circular:
            return known
        at = np.array([evidence.buckets.place(value) for value in column])
        heights = [(at <= edge).mean() for edge in evidence.edges[1:-1]]
        labels = cumulative(evidence).labels
        return known | {(Cdf.noun, str(label)): float(one) for label, one in zip(labels, heights, strict=True)}

    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        evidence = estimate.evidence
        yield from evidence_lines(evidence, level, evidence.noun)
        if isinstance(evidence, DistributionEvidence) and not evidence.circular:
            curve = cumulative(evidence)
            yield from evidence_lines(curve, level, Cdf.noun)

    def doubt(self, estimate: Estimate, level: float) -> str | None:
        """What speaks against the intervals of the evidence, which the results have."""
        evidence = estimate.evidence
        return evidence.doubt(IntervalRequest(level, evidence.default), most_excess(level))

    def said_of(self, line: ResultLine) -> str:
        """Labels of shares are numbers of the answers, so that they have their unit."""
        return f"{line.measure} {line.label} {self.asked.unit}".strip()

    def chart(self, estimates: Estimates, level: float) -> str:
        """A curve in its band for numbers, else dots with intervals."""
        for estimate in estimates.values():
            if isinstance(estimate, Estimate) and _is_curve(estimate):
                return self._curve(estimate, level)
        return StudyQuestion.chart(self, estimates, level)

    def _curve(self, estimate: Estimate, level: float) -> str:
        """The curve and the band of `Estimate.plot`: it never falls, and the band holds the curve and the truth."""
        band = estimate.curve().quiet_band(level)
        values = np.clip(band.values, 0, 1)
        ends = np.minimum(band.low, values), np.maximum(band.high, values)
        points = [Point("", *map(float, one)) for one in zip(values, *ends, strict=True)]
        title = f"Cumulative shares of {self.asked.name} with a {100 * level:g} % band of the whole curve"
        return charts.curve(title, [float(place) for place in band.points], points, unit=self.asked.unit)


def _is_curve(estimate: Estimate) -> bool:
    evidence = estimate.evidence
    if not isinstance(evidence, DistributionEvidence) or evidence.circular:
        return False
    return evidence.buckets.domain.choices is None
