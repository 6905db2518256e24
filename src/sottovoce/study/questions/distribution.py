"""A distribution in a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Cdf, Distribution, Mean, Quantile
from sottovoce.core.round import Estimates
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.expected import ExpectedDistribution, cumulative
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import most_excess
from sottovoce.estimate.metrics import histogram
from sottovoce.estimate.request import IntervalRequest
from sottovoce.study import charts
from sottovoce.study.charts import Point
from sottovoce.study.display import findings, pictures
from sottovoce.study.display.findings import Finding
from sottovoce.study.display.numbers import SPACE, NumberScale
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.plan import Plan
from sottovoce.study.planners.distribution import expected_of
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import WITHIN, StudyQuestion, Truth, first_estimate
from sottovoce.study.questions.result_lines import ResultLine, evidence_lines
from sottovoce.study.words import local, measure_name, plain, quantile_name

QUARTILES = (Decimal("0.25"), Decimal("0.5"), Decimal("0.75"))


@dataclass(frozen=True, slots=True)
class StudyDistribution(StudyQuestion):
    """The share of each bucket, and the share of all answers up to its end where answers have an order."""

    keys: ClassVar[tuple[str, ...]] = ("categories", "period", "buckets", *RANGE)
    by_group: ClassVar[str] = WITHIN
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

    @property
    def compared_values(self) -> int | None:
        """Numbers are compared by their mean and quartiles."""
        domain = self.question.domain
        return 1 + len(QUARTILES) if domain.choices is None else domain.size

    @property
    def compares_margins(self) -> bool:
        """The margin of a plan for numbers is that of cumulative shares, not of the mean."""
        return self.question.domain.choices is not None

    def compared_width(self, plan: Plan, prior: Any, level: float) -> float | None:
        """The width of the mean, for numbers; unknown where some give a reason for no answer."""
        if self.compares_margins:
            return self.half_width(plan, level)
        procedure, domain = plan.best.procedure, self.question.domain
        if self.asked.missing or domain.circular or not isinstance(procedure, Mechanism):
            return None
        try:
            expected = ExpectedDistribution.of(procedure, expected_of(domain, prior))
        except ParameterError:  # reports that are not counted
            return None
        return expected.half_width(Mean(domain), plan.participants, level)

    def difference_text(self, size: float) -> str:
        if self.compares_margins:
            return self.asked.margin(size)
        return f"{size:.3g} {self.asked.unit}".rstrip() + " in the mean"

    def compared(self, estimates: Estimates) -> dict[str, Estimate]:
        estimate = first_estimate(estimates)
        if estimate is None or not _is_curve(estimate):
            return StudyQuestion.compared(self, estimates)
        quartiles = Quantile(self.question.domain, QUARTILES)
        return {"mean": estimate.mean(), "quantile": estimate.answer(quartiles)}

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

    def measured(self, shown: ShownResult) -> str:
        return str(shown.words["share_of_all"])

    def finding(self, shown: ShownResult) -> Finding:
        """The median of numbers, else the largest share."""
        if not self.draws_curve(shown):
            return shown.shares_finding()
        line, scale = self._reading(shown, "0.5")
        return findings.plain("Half of the answers are at most", scale, line)

    def _reading(self, shown: ShownResult, share: str) -> tuple[ResultLine, NumberScale]:
        """A quantile of the curve with its interval, and how it is written."""
        assert shown.estimate is not None
        line, scale = self._single(shown, shown.estimate.quantile(share))
        return line, replace(scale, places=min(0, scale.places)) if self.is_whole else scale

    def _single(self, shown: ShownResult, estimate: Estimate) -> tuple[ResultLine, NumberScale]:
        """A number of the distribution, bounded to the range of the answers, and how it is written."""
        low, high = estimate.quiet_ci(shown.level)
        numbers = (float(estimate.values[0]), float(estimate.std_errors[0]), float(low[0]), float(high[0]))
        line = ResultLine(estimate.evidence.noun, "", *numbers)
        scale = NumberScale.of([line], shown.unit, self._ends, whole=self.is_whole, language=shown.language)
        return scale.bounded(line), scale

    @property
    def _ends(self) -> tuple[float, float]:
        domain: Any = self.number_domain
        return float(domain.low), float(domain.high)

    def picture(self, shown: ShownResult) -> str:
        """A curve in its band for numbers, else dots with intervals."""
        if not self.draws_curve(shown):
            return shown.dots()
        assert shown.estimate is not None
        places, points = self._band(shown.estimate, shown.level)
        line, scale = self._reading(shown, "0.5")
        values, low, high = ([getattr(one, name) for one in points] for name in ("value", "low", "high"))
        mark = (line.value, 0.5, plain(shown.words["half"], value=scale.value(line.value)))
        count = local(str(shown.n), shown.language)
        what = plain(shown.words["band"], level=f"{100 * shown.level:g}{SPACE}%", count=count)
        frame = pictures.curve_frame(
            pictures.BandCurve(places, values, low, high, self._ends, mark, shown.language),
            title=f"{what}. {mark[2]}",
            y_title=what,
            x_title=shown.unit or shown.words["answer"],
        )
        return f'<div class="grid wide-left">{frame}{self._marks(shown)}</div>'

    def published(self, shown: ShownResult) -> Iterator[tuple[str, ResultLine, NumberScale]]:
        """The mean and the quartiles of a curve: documents do not list every bucket."""
        if not self.draws_curve(shown):
            yield from StudyQuestion.published(self, shown)
            return
        assert shown.estimate is not None
        yield measure_name(Mean.noun, shown.language), *self._single(shown, shown.estimate.mean())
        for share in ("0.25", "0.5", "0.75"):
            yield quantile_name(share, shown.language), *self._reading(shown, share)

    def _marks(self, shown: ShownResult) -> str:
        """The mean and the quartiles beside the curve."""
        return pictures.marks(list(self.published(shown)), look_at=2)

    def draws_curve(self, shown: ShownResult) -> bool:
        return shown.estimate is not None and _is_curve(shown.estimate)

    def _curve(self, estimate: Estimate, level: float) -> str:
        """The curve and the band of `Estimate.plot`: it never falls, and the band holds the curve and the truth."""
        places, points = self._band(estimate, level)
        title = f"Cumulative shares of {self.asked.name} with a {100 * level:g} % band of the whole curve"
        return charts.curve(title, places, points, unit=self.asked.unit)

    def _band(self, estimate: Estimate, level: float) -> tuple[list[float], list[Point]]:
        """Places of the curve, and its value and band at each."""
        band = estimate.curve().quiet_band(level)
        values = np.clip(band.values, 0, 1)
        ends = np.clip(np.minimum(band.low, values), 0, 1), np.clip(np.maximum(band.high, values), 0, 1)
        points = [Point("", *map(float, one)) for one in zip(values, *ends, strict=True)]
        return [float(place) for place in band.points], points


def _is_curve(estimate: Estimate) -> bool:
    evidence = estimate.evidence
    if not isinstance(evidence, DistributionEvidence) or evidence.circular:
        return False
    return evidence.buckets.domain.choices is None
