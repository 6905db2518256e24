"""The share of a range in a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.question import Range
from sottovoce.core.round import Estimates
from sottovoce.study.question_tables import RANGE, REMEDIES, QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth, first_estimate
from sottovoce.study.questions.cdf import places_of


@dataclass(frozen=True, slots=True)
class StudyRange(StudyQuestion):
    """The share of the answers in a range."""

    keys: ClassVar[tuple[str, ...]] = ("from", "to", *RANGE)
    shares_report: ClassVar[bool] = True

    @classmethod
    def read(cls, table: QuestionTable) -> Range | None:
        domain: Any = table.numbers()
        if domain is None:
            return None
        if "from" not in table.table and "to" not in table.table:
            table.note("", "This question has no from and no to.", REMEDIES["from"])
            return None
        low, high = table.table.get("from", domain.low), table.table.get("to", domain.high)
        return table.built("from" if "from" in table.table else "to", lambda: Range(domain, low, high))

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        question, estimate = self.question, first_estimate(estimates)
        at = places_of(question.domain, column)
        low, high = places_of(question.domain, (question.low, question.high))
        inside = (low <= at) & (at <= high) if low <= high else (at >= low) | (at <= high)
        return {} if estimate is None else {(Range.noun, str(estimate.labels[0])): float(inside.mean())}
