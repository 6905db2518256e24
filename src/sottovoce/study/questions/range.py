"""The share of a range in a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.question import Range
from sottovoce.study.display import findings
from sottovoce.study.display.findings import Finding
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import WITHIN
from sottovoce.study.questions.interval_shares import StudyIntervalShares
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.words import local, plain, words


@dataclass(frozen=True, slots=True)
class StudyRange(StudyIntervalShares):
    """The share of the answers in a range."""

    keys: ClassVar[tuple[str, ...]] = ("from", "to", *RANGE)
    by_group: ClassVar[str] = WITHIN

    @classmethod
    def read(cls, table: QuestionTable) -> Range | None:
        domain: Any = table.numbers()
        if domain is None:
            return None
        remedy = "Write from, to, or both, inside the range, such as from = 8 or to = 5."
        if "from" not in table.table and "to" not in table.table:
            table.note("", "This question has no from and no to.", remedy)
            return None
        low, high = table.table.get("from", domain.low), table.table.get("to", domain.high)
        return table.built("from" if "from" in table.table else "to", lambda: Range(domain, low, high), remedy)

    def row_label(self, line: ResultLine, language: str) -> str:
        low, high = (local(str(end), language) for end in (self.question.low, self.question.high))
        return plain(words(language)["results"]["between"], low=low, high=high)

    def measured(self, shown: ShownResult) -> str:
        return str(shown.words["in_range"])

    def finding(self, shown: ShownResult) -> Finding:
        line = shown.main[0]
        return findings.plain(f"The share of answers from {f'{line.label} {shown.unit}'.strip()} is", shown.scale, line)
