"""Shares, medians and other numbers within groups, in a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.asked import Asked
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.html import Html
from sottovoce.core.question import Frequency, Question, WithinGroups
from sottovoce.core.round import Estimates
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.within_groups.evidence import WithinEstimate
from sottovoce.study.display import findings
from sottovoce.study.display.findings import Finding, Verdict
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.documents.elements import listed, paragraph
from sottovoce.study.population import ExpectedAnswers, number_domain, plain_number
from sottovoce.study.question_tables import QuestionTable
from sottovoce.study.questions import base, study_question
from sottovoce.study.questions.base import StudyQuestion, Truth, number_field
from sottovoce.study.questions.pairs import LESS, PairColumns, difference_lines
from sottovoce.study.questions.result_lines import ResultLine, estimate_lines, level_of_each
from sottovoce.study.words import measure_name, plain

OF_GROUP = "share of a group"


@dataclass(frozen=True, slots=True)
class StudyWithinGroups(PairColumns, StudyQuestion):
    """A question that is asked within each group. A file of answers has the groups in a column NAME/by."""

    keys: ClassVar[tuple[str, ...]] = ("by",)
    compares_groups: ClassVar[bool] = True
    is_form: ClassVar[bool] = True

    @classmethod
    def read(cls, table: QuestionTable) -> WithinGroups | None:
        """The question of the table, within the groups of `by`."""
        groups, inner = table.listed("by"), table.inner
        return None if groups is None or inner is None else WithinGroups(groups, inner)

    @property
    def inner(self) -> StudyQuestion:
        """The question within a group, in a study."""
        own: Question = self.question.question
        return study_question(Asked(self.asked.name, own, self.asked.texts, unit=self.asked.unit))

    @property
    def compared_values(self) -> int | None:
        inside = self.inner.compared_values if self.inner.compares_margins else None
        return None if inside is None else inside * (self.question.by.size or 1)

    # --- the plan and the population -------------------------------------------------------------
    def default_prior(self) -> Any:
        """With reasons, one person in ten is expected to give one."""
        groups, reasons = self.groups, len(self.asked.missing)
        if not reasons:
            return None
        silent = base.SILENT
        return [*[(1 - silent) / groups] * groups, *[silent / reasons] * reasons], None

    @property
    def number_domain(self) -> Domain | None:
        return number_domain(self.question.question.domain)

    @property
    def groups(self) -> int:
        return len(self.question.groups)

    @property
    def _values(self) -> list[str]:
        """The listed answers within a group; none where they are numbers."""
        domain = self.question.question.domain
        return [] if domain.choices is None else [str(one) for one in domain.labels()]

    def _sizes(self, expected: ExpectedAnswers) -> Sequence[float]:
        return expected.shares or (1 / self.groups,) * self.groups

    def check_population(self, expected: ExpectedAnswers) -> None:
        name, values = self.asked.name, len(self._values)
        if len(expected.missing) not in (0, len(self.asked.missing)):
            raise ParameterError(f"The population of {name} needs one share for each reason of giving none.")
        if expected.shares is not None and len(expected.shares) != self.groups:
            raise ParameterError(f"The population of {name} needs {self.groups} shares, one for each group.")
        if values and (expected.laws or len(expected.within) not in (0, 1, self.groups)):
            raise ParameterError(f"The population of {name} needs the shares of its answers within each group.")
        if any(len(row) != values for row in expected.within):
            raise ParameterError(f"The population of {name} needs {values} shares within each group.")
        if not values and (expected.within or len(expected.laws) not in (1, self.groups)):
            raise ParameterError(f"The population of {name} needs one law of numbers, or one for each group.")
        for law in expected.laws:
            law.check(self.number_domain)  # type: ignore[arg-type]

    def prior(self, expected: ExpectedAnswers) -> Any:
        reasons = len(self.asked.missing)
        return expected.with_reasons(self._sizes(expected), reasons), self._expected_within(expected)

    def _expected_within(self, expected: ExpectedAnswers) -> list[Any]:
        """What is expected within each group: shares of answers, or a law of numbers."""
        if expected.laws and self.number_domain is not None:
            return [law.prior(self.number_domain) for law in expected.laws_of(self.groups)]
        rows = expected.within or ((1 / max(1, len(self._values)),) * len(self._values),)
        return [np.array(row) for row in (rows if len(rows) == self.groups else rows * self.groups)]

    def draw_answers(self, expected: ExpectedAnswers, n: int, generator: np.random.Generator) -> dict[str, list[Any]]:
        groups = generator.choice(self.groups, n, p=self._sizes(expected))
        values: list[Any] = [None] * n
        inside = self._expected_within(expected)
        for place in range(self.groups):
            who = np.flatnonzero(groups == place)
            if expected.laws and self.number_domain is not None:
                drawn = expected.laws_of(self.groups)[place].draw(self.number_domain, len(who), generator)
                answers: list[Any] = [plain_number(value, self.number_domain) for value in drawn]
            else:
                labels = list(self.question.question.domain.labels())
                answers = [labels[one] for one in generator.choice(len(labels), len(who), p=inside[place])]
            for person, answer in zip(who.tolist(), answers, strict=True):
                values[person] = answer
        return dict(zip(self.columns, (values, [self.question.groups[place] for place in groups]), strict=True))

    # --- the truth -------------------------------------------------------------------------------
    def truth(self, column: Sequence[Any], estimates: Estimates) -> Truth:
        estimate = base.first_estimate(estimates)
        groups = [str(group) for group in self.question.groups]
        members: dict[str, list[Any]] = {group: [] for group in groups}
        reasons = dict.fromkeys(self.asked.missing, 0)
        for group, value in column:
            if str(group) in reasons:
                reasons[str(group)] += 1
            else:
                members[str(group)].append(value)
        noun, known = self.question.noun, {}
        for place, group in enumerate(groups):
            known[OF_GROUP, group] = len(members[group]) / len(column)
            if not members[group] or not isinstance(estimate, WithinEstimate):
                continue
            inner: Any = self.question.question
            part = estimate.among(place, inner) if not self.question.counts_answers else estimate
            for (measure, label), value in self.inner.truth(members[group], {self.asked.name: part}).items():
                if measure == inner.noun:
                    known[noun, group if self._is_single(estimate) else f"{group}: {label}"] = value
        known |= {(Frequency.noun, reason): count / len(column) for reason, count in reasons.items()}
        for line in self._differences(estimates, 0.95):
            one, other = (known.get((noun, part)) for part in line.label.split(LESS))
            if one is not None and other is not None:
                known[line.measure, line.label] = one - other
        return known

    # --- results ---------------------------------------------------------------------------------
    def estimate_lines(self, estimate: Estimate, level: float, measure: str) -> Iterator[ResultLine]:
        assert isinstance(estimate, WithinEstimate)
        lines = estimate_lines(estimate, level)
        if self._is_single(estimate):
            lines = [replace(line, label=str(group)) for line, group in zip(lines, estimate.table.groups, strict=True)]
        yield from self._if_all_had_answered(estimate, lines, level)
        yield from estimate_lines(estimate.sizes, level, OF_GROUP)
        if self.asked.missing:
            yield from estimate_lines(estimate.reasons, level, Frequency.noun, named=True)
        yield from self._differences({"": estimate}, level)

    @staticmethod
    def _is_single(estimate: Estimate) -> bool:
        """Whether each group has one number, which needs no label beside that of the group."""
        return len(estimate.axes.each[1].labels) == 1

    def _if_all_had_answered(
        self, estimate: WithinEstimate, lines: list[ResultLine], level: float
    ) -> Iterator[ResultLine]:
        """Shares if all who gave no answer were in the group and gave the answer, or another one."""
        if not self.asked.missing or not self.question.is_share:
            yield from lines
            return
        apart = level_of_each(level, 3)
        silent = float(np.clip(sum(np.maximum(0, estimate.reasons.quiet_ci(apart)[1])), 0, 1))
        sizes = np.repeat(np.maximum(0, estimate.sizes.quiet_ci(apart)[0]), len(lines) // self.groups)
        for line, wide, size in zip(lines, estimate_lines(estimate, apart), sizes.tolist(), strict=True):
            whole = size + silent
            bounds = (wide.low * size / whole, (wide.high * size + silent) / whole) if whole > 0 else (0.0, 1.0)
            yield replace(line, could_be=bounds)

    def _differences(self, estimates: Estimates, level: float) -> list[ResultLine]:
        return difference_lines(base.first_estimate(estimates), level, self.question.question.noun)

    # --- words and pictures ----------------------------------------------------------------------
    def row_label(self, line: ResultLine, language: str) -> str:
        return self._spoken(line.label, language)

    def _spoken(self, label: str, language: str) -> str:
        """The labels of a group and of an answer in a language."""
        group = next((str(one) for one in self.question.groups if label.startswith(f"{one}: ")), None)
        if group is None:
            return self.asked.label(label, language)
        return f"{self.asked.label(group, language)}: {self.asked.label(label[len(group) + 2 :], language)}"

    def measured(self, shown: ShownResult) -> str:
        if self.question.is_share:
            return str(shown.words["share_within"])
        name = measure_name(self.question.question.noun, shown.language)
        return shown.with_unit(plain(shown.words["of_groups"], what=name))

    def finding(self, shown: ShownResult) -> Finding:
        """The two groups that differ most surely."""
        differences = self._differences(shown.result.estimates, shown.level)
        if not differences:
            said = "The groups are too small to be compared."
            return Finding("Too few reports to compare the groups", said, Verdict.RARE, "too small")
        best = min(differences, key=lambda line: (line.p_value, -abs(line.value)))
        names, (value, low, high) = best.label.split(LESS), (best.value, best.low, best.high)
        if value < 0:
            names, value, low, high = names[::-1], -value, -high, -low
        first, other = (self._spoken(name, shown.language) for name in names)
        size = shown.scale.difference(value, low, high)
        if low > 0:
            key = f"higher for {findings.quoted(first)} than for {findings.quoted(other)}"
            noun = "share" if self.question.is_share else self.question.question.noun
            return Finding(f"The {noun} is {key}", f"The {noun} is {key}: {size}.", Verdict.CLEAR, key)
        said = (
            "No two groups clearly differ. Closest to a difference:"
            f" {findings.quoted(first)} above {findings.quoted(other)} by {size}."
        )
        return Finding("No two groups clearly differ", said, Verdict.CHANCE, "No two groups clearly differ")

    def field(self, language: str) -> dict[str, Any]:
        groups = [(str(one), self.asked.label(one, language)) for one in self.question.groups]
        domain = self.question.question.domain.root
        about: dict[str, Any] = {"kind": "pair", "choices": groups, "group_text": self.asked.group_text(language)}
        if self._values:
            return {**about, "value_choices": [(one, self.asked.label(one, language)) for one in self._values]}
        return {**about, **number_field(domain)}

    def labels(self, language: str) -> list[str]:
        return [self.asked.label(one, language) for one in (*self.question.groups, *self._values)]

    def possible_answers(self, language: str, say: Mapping[str, str]) -> str:
        groups = listed([self.asked.label(one, language) for one in self.question.groups])
        if self._values:
            return Html(groups + listed([self.asked.label(one, language) for one in self._values]))
        domain = self.question.question.domain
        ends = {end: str(getattr(domain, end, "")) for end in ("low", "high")}
        return Html(groups + paragraph(say["and_number"].format(**ends)))
