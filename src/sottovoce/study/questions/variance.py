"""The variance of a number in a study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.question import Variance
from sottovoce.core.round import Estimates
from sottovoce.study.display import findings
from sottovoce.study.display.findings import Finding
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth
from sottovoce.study.questions.mean import truth_of_numbers

SPREAD = "sd"  # the measure of a standard deviation


@dataclass(frozen=True, slots=True)
class StudyVariance(StudyQuestion):
    """A variance, and the mean that is estimated with it."""

    keys: ClassVar[tuple[str, ...]] = RANGE
    shares_report: ClassVar[bool] = True

    @classmethod
    def read(cls, table: QuestionTable) -> Variance | None:
        domain = table.numbers()
        return None if domain is None else Variance(domain)

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        truth = truth_of_numbers(column)
        return {**truth, (SPREAD, ""): math.sqrt(truth[Variance.noun, ""])}

    def unit_of(self, measure: str) -> str:
        return self.asked.unit_of_numbers if measure == Variance.noun else self.asked.unit

    def finding(self, shown: ShownResult) -> Finding:
        """The standard deviation, which has the unit of the answers."""
        spread = next((line for line in shown.lines if line.measure == SPREAD), None)
        if spread is None:
            return StudyQuestion.finding(self, shown)
        return findings.plain("The standard deviation is", shown.scale_of(SPREAD), spread)
