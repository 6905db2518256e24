"""Means by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.declared import delegated
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.pair import Pair
from sottovoce.core.domain.reasons import any_answer, listed_answers, with_categories
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import reject
from sottovoce.core.question.base import Question, check_numbers
from sottovoce.core.specs import take


@dataclass(frozen=True, slots=True)
class GroupMean(Question):
    """Ask for the mean of a number in each of several groups; group and number are both private.

    Args:
        by: The groups, such as `Categories(["north", "south"])`.
        value: The range of the number: `Interval` or `Integers`.

    Examples:
        >>> pain = sv.GroupMean(by=sv.Categories(["north", "south"]), value=sv.Integers(0, 10))
        >>> plan = sv.plan(pain, epsilon=2, participants=10_000)
        >>> plan.best.std_error < 0.2
        True

    See also:
        `Estimate.difference` compares groups, `Mean` for everyone together.
    """

    kind: ClassVar[str] = "group-mean"
    noun: ClassVar[str] = "mean"
    unit_power: ClassVar[int] = 1
    by: Domain
    value: Domain
    choices = delegated("by")

    def __post_init__(self) -> None:
        if not isinstance(self.by, Domain) or self.by.size is None or self.by.size < 2:
            raise reject("by", self.kind, "a domain with at least two and finitely many codes", self.by)
        check_numbers(self.kind, "value", self.value)

    @property
    def domain(self) -> Domain:
        return Pair(self.by, self.value)

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> GroupMean:
        take(fields, f"the question {cls.kind}", ())
        by, value = getattr(domain, "group", None), getattr(domain, "value", None)
        if by is None or value is None:
            raise ParameterError(f"Means by group need a domain of pairs. Got one of kind {domain.kind}.")
        return cls(by, value)

    @property
    def takes_reasons(self) -> bool:
        return listed_answers(self.by) is not None

    def with_reasons(self, reasons: tuple[str, ...]) -> GroupMean:
        return GroupMean(with_categories(listed_answers(self.by) or (), reasons), self.value)

    def answer(self, value: object, reason: str | None) -> Any:
        return value if reason is None else (reason, any_answer(self.value))
