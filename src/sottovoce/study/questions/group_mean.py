"""Means by group in a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain import Domain
from sottovoce.core.question import Frequency, GroupMean
from sottovoce.core.round import Estimates
from sottovoce.study.dossier.pages import Html, listed, paragraph
from sottovoce.study.population import ExpectedAnswers, plain_number
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth, number_field

SEPARATOR = "/"  # between the name of a question and "by", for the column of the groups


@dataclass(frozen=True, slots=True)
class StudyGroupMean(StudyQuestion):
    """The mean and the share of each group. A file of answers has the groups in a column NAME/by."""

    keys: ClassVar[tuple[str, ...]] = ("by", *RANGE)
    compares_groups: ClassVar[bool] = True

    @classmethod
    def read(cls, table: QuestionTable) -> GroupMean | None:
        groups, numbers = table.listed("by"), table.numbers()
        return None if groups is None or numbers is None else GroupMean(groups, numbers)

    # --- the population --------------------------------------------------------------------------
    @property
    def number_domain(self) -> Domain:
        value: Domain = self.question.value
        return value

    @property
    def groups(self) -> int:
        return self.question.by.size or 1

    def _shares(self, expected: ExpectedAnswers) -> Sequence[float]:
        return expected.shares or (1 / self.groups,) * self.groups

    def prior(self, expected: ExpectedAnswers) -> Any:
        reasons = len(self.asked.missing)
        priors = [law.prior(self.number_domain) for law in expected.laws_of(self.groups)]
        return expected.with_reasons(self._shares(expected), reasons), [*priors, *[priors[0]] * reasons]

    def draw_answers(self, expected: ExpectedAnswers, n: int, generator: np.random.Generator) -> dict[str, list[Any]]:
        groups = generator.choice(self.groups, n, p=self._shares(expected))
        values: list[Any] = [None] * n
        for place, law in enumerate(expected.laws_of(self.groups)):
            who = np.flatnonzero(groups == place)
            for person, value in zip(who.tolist(), law.draw(self.number_domain, len(who), generator), strict=True):
                values[person] = plain_number(value, self.number_domain)
        labels = list(self.question.by.labels())
        return dict(zip(self.columns, (values, [labels[place] for place in groups]), strict=True))

    # --- columns and truth -----------------------------------------------------------------------
    @property
    def columns(self) -> list[str]:
        return [self.asked.name, f"{self.asked.name}{SEPARATOR}by"]

    def raw_answers(self, cells: Callable[[str], list[Any]], is_empty: Callable[[object], bool]) -> list[Any]:
        """Pairs of a group and a value, or reasons for giving none."""
        missing = self.asked.missing

        def pair(group: Any, value: Any) -> Any:
            if missing and (is_empty(group) or is_empty(value)):
                return missing[0]
            return value if isinstance(value, str) and value in missing else (group, value)

        values, groups = cells(self.asked.key), cells(f"{self.asked.key}{SEPARATOR}by")
        return [pair(group, value) for group, value in zip(groups, values, strict=True)]

    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        return truth_by_group((*self.question.by.labels(), *self.asked.missing), column)

    # --- words and pictures ----------------------------------------------------------------------
    @property
    def has_order(self) -> bool:
        return self.question.by.choices is None

    def field(self, language: str) -> dict[str, Any]:
        groups = self.choices(self.question.by, language)
        return {"kind": "pair", "choices": groups, **number_field(self.question.value.root)}

    def possible_answers(self, language: str, say: Mapping[str, str]) -> str:
        ends = {end: str(getattr(self.question.value, end, "")) for end in ("low", "high")}
        return Html(listed(self.labels(language)) + paragraph(say["and_number"].format(**ends)))


def truth_by_group(groups: Iterable[object], column: Sequence[Any]) -> Truth:
    """The share and the mean of each group. A group that nobody is in has a share, and no mean."""
    numbers: dict[str, list[float]] = {str(group): [] for group in groups}
    for group, value in column:
        numbers.setdefault(str(group), []).append(float(value))
    shares = {(Frequency.noun, group): len(values) / len(column) for group, values in numbers.items()}
    means = {(GroupMean.noun, group): float(np.mean(values)) for group, values in numbers.items() if values}
    return {**shares, **means}
