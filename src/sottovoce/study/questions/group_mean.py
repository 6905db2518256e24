"""Means by group in a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain import Domain
from sottovoce.core.language.html import Html
from sottovoce.core.question import Frequency, GroupMean
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.study.display import findings
from sottovoce.study.display.findings import Finding, Verdict
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.documents.elements import listed, paragraph
from sottovoce.study.population import ExpectedAnswers, plain_number
from sottovoce.study.question_tables import RANGE, QuestionTable
from sottovoce.study.questions.base import StudyQuestion, Truth, first_estimate, number_field
from sottovoce.study.questions.pairs import LESS, PairColumns, difference_lines
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines


@dataclass(frozen=True, slots=True)
class StudyGroupMean(PairColumns, StudyQuestion):
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

    @property
    def compared_values(self) -> int:
        return self.groups

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
    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        known = truth_by_group((*self.question.by.labels(), *self.asked.missing), column)
        for line in self._differences(first_estimate(estimates), 0.95):
            one, other = (known.get((GroupMean.noun, group)) for group in line.label.split(LESS))
            if one is not None and other is not None:
                known[line.measure, line.label] = one - other
        return known

    # --- results ---------------------------------------------------------------------------------
    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        """Means of the groups; with reasons for giving no answer, also the shares of groups and reasons."""
        reasons = {*self.asked.missing}  # each is a group of that name, whose mean says nothing
        yield from (line for line in estimate_lines(estimate, level, measure) if line.label not in reasons)
        if reasons:
            yield from estimate_lines(estimate.shares, level, Frequency.noun)
        yield from self._differences(estimate, level)

    def _differences(self, estimate: Estimate | None, level: float) -> list[ResultLine]:
        return difference_lines(estimate, level, GroupMean.noun, self.asked.missing)

    # --- words and pictures ----------------------------------------------------------------------
    def measured(self, shown: ShownResult) -> str:
        return shown.with_unit(shown.words["mean_of_groups"])

    def finding(self, shown: ShownResult) -> Finding:
        """The two groups that differ most surely."""
        difference = findings.strongest_difference(shown.lines, LESS)
        if difference is None and shown.estimate is not None and int(shown.estimate.estimable.sum()) > 1:
            return StudyQuestion.finding(self, shown)  # more groups than can be compared
        if difference is None:
            said = "The groups are too small to be compared."
            return Finding("Too few reports to compare the groups", said, Verdict.RARE, "too small")
        labels = [self.asked.label(one, shown.language) for one in (difference.group, difference.other)]
        return findings.of_groups(difference, labels, shown.scale)

    def field(self, language: str) -> dict[str, Any]:
        groups = self.choices(self.question.by, language)
        texts = {"group_text": self.asked.group_text(language)}
        return {"kind": "pair", "choices": groups, **texts, **number_field(self.question.value.root)}

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
