"""Shares of boxes: ranges of several numbers or ordered categories at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer, reject
from sottovoce.core.question.base import Question

MOST_BUCKETS = 1 << 12  # of one field


@dataclass(frozen=True, slots=True)
class Boxes(Question):
    """Ask which shares of the participants lie in boxes, such as age 30 to 39 and income up to 20,000.

    All boxes, their unions and their complements can be read from one result.

    Args:
        domain: The fields, as a `Record` of `Integers`, `Interval` or `Categories` in their order.
        buckets: Into how many parts the range of each field is divided, where it has more values. Default: as many as
            the method allows.

    Examples:
        >>> person = sv.Record({"age": sv.Integers(0, 15), "income": sv.Interval(0, 80)})
        >>> m = sv.mechanism("torus-wave", person, epsilon=2, buckets=16)
        >>> people = [{"age": 3, "income": 20.5}, {"age": 12, "income": 70}] * 10000
        >>> estimate = m.estimate(m.tally(m.privatize(people, seed=1)))
        >>> estimate.range(age=(0, 7), income=(10, 40)).values.round(1)
        array([0.5])

    See also:
        `Distribution` for one field, `Joint` for cross tables of a few categories.
    """

    kind: ClassVar[str] = "boxes"
    noun: ClassVar[str] = "share of a box"
    is_share: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("buckets",)
    domain: Record
    buckets: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or not self.domain.fields or self.domain.root != self.domain:
            raise reject("domain", self.kind, "a Record", self.domain)
        for name, field in self.domain.fields:
            if field.root != field or (field.line is None and field.choices is None):
                raise ParameterError(
                    f"The field {name!r} of boxes must be an Interval, Integers, or Categories in their order."
                )
        if self.buckets is not None:
            check_integer("buckets", self.kind, self.buckets, 2, MOST_BUCKETS)

    @classmethod
    def answered(cls, domain: Domain) -> Domain:
        """The record of the answers themselves, whose fields a device may see in bins or in levels of a tree."""
        record = domain.root
        return Record({name: field.root for name, field in record.fields}) if record.fields else record

    @property
    def answer_lists(self) -> tuple[Domain, ...]:
        """The fields whose answers are listed."""
        return tuple(field for _, field in self.domain.fields if field.choices is not None)
