"""Shares of boxes: ranges of several numbers or ordered categories at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer, decimal_text, reject
from sottovoce.core.question.base import Question
from sottovoce.core.question.distribution_domain import in_order, values_of
from sottovoce.core.specs import Spec, take

MOST_BUCKETS = 1 << 12  # of one field
MOST_BOXES = 64  # that are named

Side = tuple[str, Any, Any]  # a field with the first and the last value of a box
Box = tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Boxes(Question):
    """Ask which shares of the participants lie in boxes, such as age 30 to 39 and income up to 20,000.

    All boxes, their unions and their complements can be read from one result.

    Args:
        domain: The fields, as a `Record` of `Integers`, `Interval` or `Categories` in their order.
        buckets: Into how many parts the range of each field is divided, where it has more values. Default: as many as
            the method allows.
        boxes: Boxes that results list, each as a mapping from fields to their first and last value, or to one value.

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
    boxes: Any = ()  # tuple[Box, ...]

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
        if not isinstance(self.boxes, (list, tuple)) or len(self.boxes) > MOST_BOXES:
            raise reject(
                "boxes", self.kind, f"a list of at most {MOST_BOXES} mappings from fields to limits", self.boxes
            )
        object.__setattr__(self, "boxes", tuple(self._sides(box) for box in self.boxes))

    def _sides(self, box: Any) -> Box:
        """The limits of a box in the order of the fields, checked."""
        limits = dict(box) if isinstance(box, Mapping) else {name: (low, high) for name, low, high in box}
        fields = dict(self.domain.fields)
        if not limits or not {*limits} <= {*fields}:
            raise ParameterError(f"A box has limits for one or more of the fields {', '.join(fields)}.")
        return tuple((name, *box_ends(name, fields[name], limits[name])) for name in fields if name in limits)

    def fields(self) -> Spec:
        """The number of buckets, and the named boxes if there are any."""
        named = [[[name, _text(low), _text(high)] for name, low, high in box] for box in self.boxes]
        return {"buckets": self.buckets, **({"boxes": named} if named else {})}

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Boxes:
        known = (*cls.parameters, "boxes") if "boxes" in fields else cls.parameters
        buckets, *boxes = take(fields, f"the question {cls.kind}", known)
        named = boxes[0] if boxes else []
        if not isinstance(named, list) or not all(map(_is_box, named)):
            raise ParameterError("The boxes of a question are lists of a field, its first and its last value.")
        record: Any = cls.answered(domain)
        question = cls(record, buckets, named)
        if question.fields() != fields:
            raise ParameterError("The boxes of a question are written in the order of its fields.")
        return question

    @classmethod
    def answered(cls, domain: Domain) -> Domain:
        """The record of the answers themselves, whose fields a device may see in bins or in levels of a tree."""
        record = domain.root
        return Record({name: field.root for name, field in record.fields}) if record.fields else record

    @property
    def answer_lists(self) -> tuple[Domain, ...]:
        """The fields whose answers are listed."""
        return tuple(field for _, field in self.domain.fields if field.choices is not None)


def box_ends(name: str, field: Domain, limits: Any) -> tuple[Any, Any]:
    """The ends of a field in a box: a pair of values, both included, or one value; without limits its own ends."""
    if limits is None:
        ends: Any = field.line
        return (field.choices[0], field.choices[-1]) if field.choices is not None else (ends.low, ends.high)
    pair = limits if isinstance(limits, (tuple, list)) else (limits, limits)
    if len(pair) != 2:
        raise ParameterError(f"The limits of {name!r} are a pair of its first and its last value, or one value.")
    low, high = values_of(name, "a box", field, pair)
    if not in_order(field, low, high):
        raise ParameterError(f"The last value of {name!r} in a box must not be before the first one.")
    return low, high


def _text(value: Any) -> Any:
    return value if isinstance(value, (str, int)) else decimal_text(value)


def _is_box(box: object) -> bool:
    return isinstance(box, list) and all(isinstance(one, list) and len(one) == 3 for one in box)
