"""`Ranking`: all of a list of items, in the order in which a person prefers them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from itertools import combinations
from typing import Any, ClassVar

from sottovoce.core.declared import declared, of_form
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import VALUES, Categories
from sottovoce.core.errors import DomainError, ParameterError

MAX_RANKED = 90  # 4,005 pairs, whose covariances are given
SEPARATOR = ">"  # between the items of an answer in a cell of a file


@declared
class Ranking(Domain):
    """Describe an answer as all of a list of items in order, the best one first.

    An answer is read as a set of pairs: which of each two items comes first. The code has one bit for each pair, which
    is 1 if the item that is listed earlier comes first.

    Args:
        items: The items, as texts or as integers; at least three, without repetition.

    Raises:
        ParameterError: The list is too short or too long, repeats an item, or has a text with `>`.

    Examples:
        >>> ways = sv.Ranking(["bus", "car", "bike"])
        >>> list(ways.labels())
        ['bus before car', 'bus before bike', 'car before bike']
        >>> ways.encode(["bike", "bus", "car"])
        1

    See also:
        `Sets` where people tick items without an order, `SetShares` for the share of each pair.
    """

    kind: ClassVar[str] = "ranking"
    items: tuple[str, ...] | tuple[int, ...] = of_form(VALUES)
    _ranked: Categories = field(init=False, repr=False, compare=False)
    _pairs: Categories = field(init=False, repr=False, compare=False)

    def __init__(self, items: Iterable[str] | Iterable[int]) -> None:
        self.hold(tuple(items) if isinstance(items, Iterable) and not isinstance(items, (str, bytes)) else items)

    def check_fields(self) -> None:
        object.__setattr__(self, "_ranked", Categories(self.items))
        if not 3 <= len(self.items) <= MAX_RANKED:
            raise ParameterError(f"The 'items' parameter of ranking must be 3 to {MAX_RANKED} items.")
        texts = [item for item in self.items if isinstance(item, str)]
        if any(SEPARATOR in text or text != text.strip() or not text for text in texts):
            raise ParameterError(
                "The 'items' parameter of ranking must be texts without '>', and without spaces at their ends."
            )
        pairs = [f"{first} before {second}" for first, second in combinations(self.items, 2)]
        object.__setattr__(self, "_pairs", Categories(pairs))

    def __repr__(self) -> str:
        shown = ", ".join(repr(item) for item in self.items[:4])
        return f"Ranking([{shown}{', ...' if len(self.items) > 4 else ''}])"

    def __reduce__(self) -> tuple[type[Ranking], tuple[Any]]:
        return Ranking, (self.items,)

    @property
    def ranked(self) -> Categories:
        """The items that are ranked."""
        return self._ranked

    @property
    def listed(self) -> Categories:
        """The pairs of items as a domain of their own."""
        return self._pairs

    @property
    def most(self) -> int:
        """The largest number of pairs in which the item that is listed earlier comes first: all of them."""
        return len(self._pairs.values)

    def encode(self, value: object) -> int:
        items = list(value) if isinstance(value, (list, tuple)) else []
        try:
            order = [self._ranked.encode(item) for item in items]
        except DomainError:
            order = []
        count = len(self.items)
        if sorted(order) != list(range(count)):
            raise self.refuse(value, f"a list of all {count} items of the question in order, each of them once")
        places = [0] * count
        for place, item in enumerate(order):
            places[item] = place
        return sum((first < second) << pair for pair, (first, second) in enumerate(combinations(places, 2)))

    def typed(self, value: object) -> object:
        """A text holds items with `>` between them, the best one first."""
        if not isinstance(value, str):
            return value
        return [self._ranked.typed(item.strip()) for item in value.split(SEPARATOR)]

    def labels(self) -> Sequence[object]:
        """The pairs, each of which has a share."""
        return self._pairs.values

    def foreign(self) -> list[object]:
        first, *others = self.items
        return [*Domain.foreign(self), first, [first, *others[:-1]], [first, first, *others[1:]], [*self.items, first]]
