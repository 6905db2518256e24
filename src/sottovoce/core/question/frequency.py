"""Shares of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.reasons import listed_answers, with_categories
from sottovoce.core.params import reject
from sottovoce.core.question.base import Question


@dataclass(frozen=True, slots=True)
class Frequency(Question):
    """Ask for the share of each value of a finite or open domain.

    Args:
        domain: The possible answers: `Categories`, `Integers`, a `Record`, or `Text` with candidates.

    Examples:
        >>> smokers = sv.Frequency(sv.Categories(["yes", "no"]))
        >>> sv.plan(smokers, epsilon=1, std_error=0.02).participants
        2927

    See also:
        `Distribution` where values have an order, `plan` for the number of participants.
    """

    kind: ClassVar[str] = "frequency"
    noun: ClassVar[str] = "share"
    is_share: ClassVar[bool] = True
    has_overall_test: ClassVar[bool] = True
    domain: Domain

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or (self.domain.size is None and self.domain.coordinates is None):
            raise reject("domain", self.kind, "a domain with finitely many codes", self.domain)

    @property
    def takes_reasons(self) -> bool:
        return listed_answers(self.domain) is not None

    def with_reasons(self, reasons: tuple[str, ...]) -> Frequency:
        return Frequency(with_categories(listed_answers(self.domain) or (), reasons))

    def answer(self, value: object, reason: str | None) -> Any:
        if reason is not None:
            return reason
        self.domain.encode(value)  # refused before it becomes a text
        return str(int(value) if isinstance(value, float) else value)
