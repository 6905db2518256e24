"""The share of a range in a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.question import Range
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.interval_shares import StudyIntervalShares


@dataclass(frozen=True, slots=True)
class StudyRange(StudyIntervalShares):
    """The share of the answers in a range."""

    keys: ClassVar[tuple[str, ...]] = ("from", "to", *RANGE)

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
