"""`Sets`: some of a list of items, such as the boxes that a person ticks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import field
from typing import Any, ClassVar

from sottovoce.core.declared import declared, integer, of_form
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import VALUES, Categories
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.params import check_integer

MAX_ITEMS = 1 << 16
SEPARATOR = ";"  # between the items of an answer in a cell of a file


@declared
class Sets(Domain):
    """Describe an answer as some of a list of items: none, one or several, at most `most` of them.

    The code of a set is a number with one bit for each item. The order of an answer does not count.

    Args:
        items: The items, as texts or as integers; at least two, without repetition.
        most: The largest number of items in one answer. Default: all of them.

    Raises:
        ParameterError: The list is too short, repeats an item, or `most` exceeds it.

    Examples:
        >>> ways = sv.Sets(["bus", "car", "bike", "train"], most=2)
        >>> ways.encode(["bike", "bus"]), ways.encode([])
        (5, 0)

    See also:
        `Categories` where a person gives exactly one answer, `SetShares` for the share of each item.
    """

    kind: ClassVar[str] = "sets"
    items: tuple[str, ...] | tuple[int, ...] = of_form(VALUES)
    most: int = integer()
    _each: Categories = field(init=False, repr=False, compare=False)

    def __init__(self, items: Iterable[str] | Iterable[int], most: int | None = None) -> None:
        listed = tuple(items) if isinstance(items, Iterable) and not isinstance(items, (str, bytes)) else items
        self.hold(listed, len(listed) if most is None and isinstance(listed, tuple) else most)

    def check_fields(self) -> None:
        if len(self.items) > MAX_ITEMS:
            raise ParameterError(f"The 'items' parameter of sets must be at most {MAX_ITEMS:,} items.")
        check_integer("most", self.kind, self.most, 1, len(self.items))
        texts = [item for item in self.items if isinstance(item, str)]
        if any(SEPARATOR in text or text != text.strip() or not text for text in texts):
            raise ParameterError(
                "The 'items' parameter of sets must be texts without semicolons, and without spaces at their ends."
            )
        object.__setattr__(self, "_each", Categories(self.items))

    def __repr__(self) -> str:
        shown = ", ".join(repr(item) for item in self.items[:4])
        return f"Sets([{shown}{', ...' if len(self.items) > 4 else ''}], most={self.most})"

    def __reduce__(self) -> tuple[type[Sets], tuple[Any, int]]:
        return Sets, (self.items, self.most)

    @property
    def listed(self) -> Categories:
        """The items as a domain of their own."""
        return self._each

    def encode(self, value: object) -> int:
        items = list(value) if isinstance(value, (list, tuple, Set)) else None
        if items is None or len(items) > self.most:
            raise self._outside(value)
        code, padding = 0, [self.items[0]] * (self.most - len(items))  # the time does not depend on their number
        try:
            bits = [1 << self._each.encode(item) for item in (*items, *padding)]
        except DomainError:
            raise self._outside(value) from None
        for bit in bits[: len(items)]:
            code |= bit
        if code.bit_count() < len(items):
            raise self._outside(value)
        return code

    def _outside(self, value: object) -> DomainError:
        return self.refuse(
            value, f"a list of at most {self.most} different items among the {len(self.items)} of the question"
        )

    def typed(self, value: object) -> object:
        """A text holds items with semicolons between them; an empty one holds none."""
        if not isinstance(value, str):
            return value
        return [self._each.typed(item.strip()) for item in value.split(SEPARATOR) if item.strip()]

    def labels(self) -> Sequence[object]:
        """The items, each of which has a share."""
        return self.items

    def foreign(self) -> list[object]:
        first = self.items[0]
        crowded = list(self.items[: self.most + 1]) if self.most < len(self.items) else [*self.items, first]
        others = [[one] for one in self._each.foreign() if one is not None]
        return [
            *(value for value in Domain.foreign(self) if not isinstance(value, (list, tuple))),
            first,
            [first, first],
            crowded,
            [None],
            *others,
        ]
