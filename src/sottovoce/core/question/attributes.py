"""Each field of a record by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.views import Select
from sottovoce.core.params import reject
from sottovoce.core.question.base import Question
from sottovoce.core.question.frequency import Frequency
from sottovoce.core.question.mean import Mean


@dataclass(frozen=True, slots=True)
class Attributes(Question):
    """Ask for each field of a record by itself: shares of categories, and means of numbers.

    Args:
        domain: The `Record` with a name for each field.

    Examples:
        >>> person = sv.Record({"smokes": sv.Categories(["yes", "no"]), "drinks": sv.Categories(["yes", "no"])})
        >>> sv.plan(sv.Attributes(person), epsilon=2, participants=5000).best.method
        'sampled-attributes (1 of 2)'

    See also:
        `SampledAttributes` asks each person about some of the fields.
    """

    kind: ClassVar[str] = "attributes"
    noun: ClassVar[str] = "value of an attribute"
    domain: Domain

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or not self.domain.fields:
            raise reject("domain", self.kind, "a record, or some of its fields", self.domain)
        if any(part.size is None and part.numbers is None for _, part in self.domain.fields):
            raise reject("domain", self.kind, "a record whose fields are categories or numbers", self.domain)

    @property
    def fields_of(self) -> tuple[tuple[str, Domain], ...]:
        """The names of the attributes and their domains."""
        return self.domain.fields

    @property
    def parts(self) -> tuple[Question, ...]:
        """The question about each attribute, as a view of the record."""
        record: Any = self.domain.root
        kinds = (Mean if part.size is None else Frequency for _, part in self.fields_of)
        return tuple(kind(Select(record, (name,))) for kind, (name, _) in zip(kinds, self.fields_of, strict=True))
