"""Shares of categories, or of whole numbers, in a study."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sottovoce.core.question import Frequency
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import WITHIN, StudyQuestion, Truth
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines, level_of_each


@dataclass(frozen=True, slots=True)
class StudyFrequency(StudyQuestion):
    """The share of each category."""

    keys: ClassVar[tuple[str, ...]] = ("categories", *RANGE)
    by_group: ClassVar[str] = WITHIN

    @classmethod
    def read(cls, table: QuestionTable) -> Frequency | None:
        domain = table.listed_or_numbers()
        return None if domain is None else Frequency(domain)

    def prior(self, expected: ExpectedAnswers) -> Any:
        domain = self.question.domain
        shares = expected.laws[0].prior(domain).weights if expected.shares is None else expected.shares
        return expected.with_reasons(shares, len(self.asked.missing))

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        told = [str(value) for value in column]
        labels = [str(label) for label in self.asked.full_question.domain.labels()]
        return {(Frequency.noun, label): told.count(label) / len(told) for label in labels}

    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        """A share among all lies between the share that was given and that share plus all who gave none."""
        reasons = {*self.asked.missing}
        if not reasons:
            yield from estimate_lines(estimate, level, measure)
            return
        apart = estimate_lines(estimate, level_of_each(level, 1 + len(reasons)))
        silent = sum(max(0.0, line.high) for line in apart if line.label in reasons)
        for line, wide in zip(estimate_lines(estimate, level), apart, strict=True):
            could_be = (max(0.0, wide.low), min(1.0, wide.high + silent))
            yield line if line.label in reasons else replace(line, could_be=could_be)

    @property
    def compared_values(self) -> int:
        """Two shares sum to one, so that they are one comparison."""
        count = self.asked.full_question.domain.size or 1
        return 1 if count == 2 else count

    @property
    def has_order(self) -> bool:
        return self.question.domain.choices is None
