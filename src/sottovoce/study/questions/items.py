"""What questions about some of a list of items share: the limit of a population, and empty cells of files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sottovoce.core.errors import ParameterError
from sottovoce.study.population import ExpectedAnswers
from sottovoce.study.questions.base import StudyQuestion

MOST = "Write the largest number of items in one answer, such as most = 3. Fewer items give smaller margins."


@dataclass(frozen=True, slots=True)
class StudyItems(StudyQuestion):
    """A person holds at most `most` of the items."""

    def check_population(self, expected: ExpectedAnswers) -> None:
        StudyQuestion.check_population(self, expected)
        most = self.question.domain.most
        if sum(expected.shares or ()) > most + 1e-9:
            raise ParameterError(f"The shares of {self.asked.name} must sum to at most {most}, the items of a person.")

    def raw_answers(self, cells: Callable[[str], list[Any]], is_empty: Callable[[object], bool]) -> list[Any]:
        """A cell holds items with semicolons between them; an empty one is the answer of those who hold none."""
        typed = self.question.domain.typed
        return [[] if is_empty(value) else typed(value) for value in cells(self.asked.key)]
