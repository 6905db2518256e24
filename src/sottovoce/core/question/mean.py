"""The mean of a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.base import Question, check_numbers
from sottovoce.core.question.group_mean import GroupMean
from sottovoce.core.question.reasons import ANSWERED, any_number, with_categories


@dataclass(frozen=True, slots=True)
class Mean(Question):
    """The mean of a number."""

    kind: ClassVar[str] = "mean"
    noun: ClassVar[str] = "mean"
    unit_power: ClassVar[int] = 1
    domain: Domain

    def __post_init__(self) -> None:
        check_numbers(self.kind, "domain", self.domain)

    @property
    def takes_reasons(self) -> bool:
        return True

    def with_reasons(self, reasons: tuple[str, ...]) -> GroupMean:
        return GroupMean(with_categories((ANSWERED,), reasons), self.domain)

    def answer(self, value: object, reason: str | None) -> Any:
        return (ANSWERED, value) if reason is None else (reason, any_number(self.domain))
