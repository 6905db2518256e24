"""Shares of answers up to some points in a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.question import Cdf
from sottovoce.study.display import findings
from sottovoce.study.display.findings import Finding
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import WITHIN
from sottovoce.study.questions.interval_shares import StudyIntervalShares
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.words import local, plain, words


@dataclass(frozen=True, slots=True)
class StudyCdf(StudyIntervalShares):
    """The share of the answers up to each point."""

    keys: ClassVar[tuple[str, ...]] = ("points", *RANGE)
    by_group: ClassVar[str] = WITHIN

    @classmethod
    def read(cls, table: QuestionTable) -> Cdf | None:
        domain = table.numbers()
        if domain is None:
            return None
        remedy = "Write numbers inside the range, such as points = [2, 5]."
        return table.built("points", lambda: Cdf(domain, table.table.get("points", ())), remedy)

    @property
    def compared_values(self) -> int:
        return len(self.question.points)

    def row_label(self, line: ResultLine, language: str) -> str:
        value = f"{local(line.label, language)} {self.asked.unit_in(language)}".strip()
        return plain(words(language)["results"]["up_to"], value=value)

    def measured(self, shown: ShownResult) -> str:
        return str(shown.words["up_to_each"])

    def finding(self, shown: ShownResult) -> Finding:
        """The share up to the first point."""
        line = shown.main[0]
        return findings.plain(
            f"The share of answers up to {f'{line.label} {shown.unit}'.strip()} is", shown.scale, line
        )
