"""The mean of a number in a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain.reasons import ANSWERED
from sottovoce.core.question import Frequency, Mean, Variance
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.plan import Plan
from sottovoce.study.planners.base import normal_quantile
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import SILENT, StudyQuestion, Truth
from sottovoce.study.questions.group_mean import truth_by_group
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines, level_of_each


@dataclass(frozen=True, slots=True)
class StudyMean(StudyQuestion):
    """A mean; where there are reasons for giving no answer, that of those who answered, and the reasons' shares."""

    keys: ClassVar[tuple[str, ...]] = RANGE
    shares_report: ClassVar[bool] = True
    by_group: ClassVar[str] = "group-mean"

    @classmethod
    def read(cls, table: QuestionTable) -> Mean | None:
        domain = table.numbers()
        return None if domain is None else Mean(domain)

    def default_prior(self) -> Any:
        """With reasons, one person in ten is expected to give one."""
        reasons = len(self.asked.missing)
        return ([1 - SILENT, *[SILENT / reasons] * reasons], None) if reasons else None

    def half_width(self, plan: Plan, level: float) -> float:
        if self.asked.missing and plan.best.expected:
            return normal_quantile(level) * plan.best.expected[0].std_error
        return plan.best.half_width(level)

    def prior(self, expected: ExpectedAnswers) -> Any:
        prior, reasons = expected.laws[0].prior(self.question.domain), len(self.asked.missing)
        return (expected.with_reasons((1.0,), reasons), [prior] * (1 + reasons)) if reasons else prior

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        if not self.asked.missing:
            return truth_of_numbers(column)
        groups = truth_by_group((ANSWERED, *self.asked.missing), column)
        answered = (Mean.noun, ANSWERED)
        return {**groups, **({(Mean.noun, ""): groups[answered]} if answered in groups else {})}

    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        if not self.asked.missing:
            yield from estimate_lines(estimate, level, measure)
            return
        shares = estimate.shares
        answered = list(estimate.labels).index(ANSWERED)
        mean = estimate_lines(estimate, level)[answered]
        domain = self.question.domain
        # Two intervals that hold together: of the mean of those who answered, and of how many they are.
        apart = level_of_each(level, 2)
        ends = np.clip([end[answered] for end in estimate.quiet_ci(apart)], float(domain.low), float(domain.high))
        silent = float(np.clip(1 - shares.quiet_ci(apart)[0][answered], 0, 1))
        low, high = (
            (1 - silent) * mine + silent * float(end) for mine, end in zip(ends, (domain.low, domain.high), strict=True)
        )
        yield replace(mean, measure=Mean.noun, label="", could_be=(low, high))
        yield from estimate_lines(shares, level, Frequency.noun)


def truth_of_numbers(column: Sequence[Any]) -> Truth:
    """The mean and the variance of numbers."""
    numbers = np.array([float(value) for value in column])
    return {(Mean.noun, ""): float(numbers.mean()), (Variance.noun, ""): float(numbers.var())}
