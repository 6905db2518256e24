"""The mean of a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.reasons import ANSWERED, any_answer, with_answered
from sottovoce.core.question.base import Question, check_numbers
from sottovoce.core.question.group_mean import GroupMean


@dataclass(frozen=True, slots=True)
class Mean(Question):
    """Ask for the mean of a number.

    Args:
        domain: The range of the answers: `Interval` or `Integers`.

    Examples:
        >>> hours = sv.Interval(0, 14)
        >>> round(sv.plan(sv.Mean(hours), epsilon=1, participants=3000).best.std_error, 2)
        0.26

    See also:
        `AdaptiveMeanRounds` for less noise in two rounds, `RangeSearchMean` without a narrow range.
    """

    kind: ClassVar[str] = "mean"
    noun: ClassVar[str] = "mean"
    unit_power: ClassVar[int] = 1
    takes_reasons: ClassVar[bool] = True
    averages: ClassVar[bool] = True
    domain: Domain

    def __post_init__(self) -> None:
        check_numbers(self.kind, "domain", self.domain)

    def with_reasons(self, reasons: tuple[str, ...]) -> GroupMean:
        return GroupMean(with_answered(reasons), self.domain)

    def answer(self, value: object, reason: str | None) -> Any:
        return (ANSWERED, value) if reason is None else (reason, any_answer(self.domain))
