"""A question that is asked within each of several groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.declared import delegated
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.pair import Pair
from sottovoce.core.domain.reasons import any_answer, listed_answers, with_categories
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer, reject
from sottovoce.core.question.base import Question
from sottovoce.core.question.distribution_domain import DistributionQuestion
from sottovoce.core.question.frequency import Frequency
from sottovoce.core.question.read import question_from_brief
from sottovoce.core.specs import Spec, take


@dataclass(frozen=True, slots=True)
class WithinGroups(Question):
    """Shares, or what is read from a distribution, among the members of each group. Group and answer are private.

    Attributes:
        by: the groups, then the reasons for giving no answer.
        question: about the answers of the members of a group.
        reasons: how many of the last groups are reasons, whose answer does not count.
    """

    kind: ClassVar[str] = "within-groups"
    by: Domain
    question: Question
    reasons: int = 0
    choices = delegated("by")

    def __post_init__(self) -> None:
        if not isinstance(self.by, Domain) or self.by.size is None or self.by.size < 2:
            raise reject("by", self.kind, "a domain with at least two and finitely many codes", self.by)
        known = isinstance(self.question, (Frequency, DistributionQuestion))
        if not known or (isinstance(self.question, Frequency) and self.question.domain.size is None):
            raise reject("question", self.kind, "about shares, or one that a distribution answers", self.question)
        check_integer("reasons", self.kind, self.reasons, 0, self.by.size - 1)

    @property
    def domain(self) -> Domain:
        return Pair(self.by, self.question.domain)

    @property
    def groups(self) -> list[object]:
        """The groups, without the reasons for giving no answer."""
        labels = list(self.by.labels())
        return labels[: len(labels) - self.reasons]

    @property
    def counts_answers(self) -> bool:
        """Whether the share of each answer within a group is asked for, instead of what a distribution answers."""
        return isinstance(self.question, Frequency)

    @property
    def noun(self) -> str:  # type: ignore[override]
        """What one number of the answer is called, after the question within a group."""
        return f"{self.question.noun} within a group"

    @property
    def is_share(self) -> bool:  # type: ignore[override]
        """Whether estimates are shares of the members of a group."""
        return self.question.is_share

    @property
    def unit_power(self) -> int:  # type: ignore[override]
        """The power of the answers' unit that estimates have."""
        return self.question.unit_power

    def fields(self) -> Spec:
        return {"question": self.question.brief(), "reasons": self.reasons}

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> WithinGroups:
        inner, reasons = take(fields, f"the question {cls.kind}", ("question", "reasons"))
        pair = domain.root
        by, value = getattr(pair, "group", None), getattr(pair, "value", None)
        if by is None or value is None:
            raise ParameterError(f"A question within groups needs a domain of pairs. Got one of kind {domain.kind}.")
        return cls(by, question_from_brief(inner, value), reasons)

    @property
    def averages(self) -> bool:
        """Parts have other shares of each group, so that numbers within groups are no weighted means."""
        return self.is_share and self.by.size is None

    @property
    def answer_lists(self) -> tuple[Domain, ...]:
        return self.by, self.question.domain

    @property
    def takes_reasons(self) -> bool:
        return self.reasons == 0 and listed_answers(self.by) is not None

    def with_reasons(self, reasons: tuple[str, ...]) -> WithinGroups:
        return WithinGroups(with_categories(listed_answers(self.by) or (), reasons), self.question, len(reasons))

    def answer(self, value: object, reason: str | None) -> Any:
        return value if reason is None else (reason, any_answer(self.question.domain))
