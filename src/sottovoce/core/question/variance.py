"""The variance of a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.base import Question, check_numbers


@dataclass(frozen=True, slots=True)
class Variance(Question):
    """The variance of a number."""

    kind: ClassVar[str] = "variance"
    noun: ClassVar[str] = "variance"
    unit_power: ClassVar[int] = 2
    domain: Domain

    def __post_init__(self) -> None:
        check_numbers(self.kind, "domain", self.domain)

    @classmethod
    def answered(cls, domain: Domain) -> Domain:
        """A number, or the number that a view of it and of its square is a view of."""
        return domain.root if domain.numbers is None else domain
