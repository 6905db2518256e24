"""Shares of answers up to some points in a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.question import Cdf
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.interval_shares import StudyIntervalShares


@dataclass(frozen=True, slots=True)
class StudyCdf(StudyIntervalShares):
    """The share of the answers up to each point."""

    keys: ClassVar[tuple[str, ...]] = ("points", *RANGE)

    @classmethod
    def read(cls, table: QuestionTable) -> Cdf | None:
        domain = table.numbers()
        if domain is None:
            return None
        remedy = "Write numbers inside the range, such as points = [2, 5]."
        return table.built("points", lambda: Cdf(domain, table.table.get("points", ())), remedy)
