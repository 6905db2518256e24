"""The variance of a number in a study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.question import Variance
from sottovoce.core.round import Estimates
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth
from sottovoce.study.questions.mean import truth_of_numbers


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
        return {**truth, ("sd", ""): math.sqrt(truth[Variance.noun, ""])}
