"""Shares of categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.params import reject
from sottovoce.core.question.base import Question


@dataclass(frozen=True, slots=True)
class Frequency(Question):
    """The share of each value."""

    kind: ClassVar[str] = "frequency"
    room: ClassVar[str] = "shares"
    noun: ClassVar[str] = "share"
    domain: Domain

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or (self.domain.size is None and self.domain.coordinates is None):
            raise reject("domain", self.kind, "a domain with finitely many codes", self.domain)
