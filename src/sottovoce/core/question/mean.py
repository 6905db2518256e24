"""The mean of a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.question.base import Question, check_numbers


@dataclass(frozen=True, slots=True)
class Mean(Question):
    """The mean of a number."""

    kind: ClassVar[str] = "mean"
    noun: ClassVar[str] = "mean"
    domain: Domain

    def __post_init__(self) -> None:
        check_numbers(self.kind, "domain", self.domain)
