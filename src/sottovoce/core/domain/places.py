<<<<<<< HEAD
"""`Places`: some numbers of a vector, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from sottovoce.core.declared import declared, delegated, integers, part
from sottovoce.core.domain.base import Domain, View, domain_from_spec
from sottovoce.core.domain.box import MAX_DIMENSIONS, Box
from sottovoce.core.params import reject


@declared
class Places(View):
    """The code is the tuple of the numbers at these places of a vector, in the order of `places`."""

    kind: ClassVar[str] = "places"
    of: Box = part("domain", domain_from_spec)
    places: tuple[int, ...] = integers(0, MAX_DIMENSIONS - 1)

    def __init__(self, of: Box, places: Iterable[int]) -> None:
        self.hold(of, places)

    def check_fields(self) -> None:
        if not isinstance(self.of, Box):
            raise reject("of", self.kind, "a Box", self.of)
        if not self.places or len(set(self.places)) < len(self.places) or max(self.places) >= self.of.dimensions:
            raise reject("places", self.kind, f"different places below {self.of.dimensions}", self.places)

    parts = delegated("coordinates")

    @property
    def coordinates(self) -> Sequence[Domain]:
        """The range of each of these numbers."""
        return [self.of.side] * len(self.places)

    def encode(self, value: object) -> tuple[Any, ...]:
        numbers = self.of.encode(value)
        return tuple(numbers[place] for place in self.places)

    def labels(self) -> Sequence[object]:
        """The places in the vector."""
        return list(self.places)
=======
"""Views that see codes in parts, levels or merged: the finest codes behind them, and the part of each of these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import Record
from sottovoce.core.domain.views import Level, Merged, Select


def base_of(view: Domain) -> Domain:
    """The domain behind levels and merged codes; of a view of several fields with the domain behind each."""
    if isinstance(view, (Level, Merged)):
        return base_of(view.of)
    if isinstance(view, Select):
        return Select(Record({name: base_of(field) for name, field in view.parts}), view.names)
    return view


def places_of(view: Domain) -> Sequence[int]:
    """The code in a view of each code of the domain behind it."""
    if isinstance(view, Level):
        width = view.branching ** (view.depth - view.level)
        return [code // width for code in places_of(view.of)]
    if isinstance(view, Merged):
        return [view.parts[code] for code in places_of(view.of)]
    if isinstance(view, Select):
        found: Sequence[int] = [0]
        for _, field in view.parts:
            own, size = places_of(field), field.size or 1
            found = [code * size + more for code in found for more in own]
        return found
    return range(view.size or 0)


def counts_of(view: Domain) -> tuple[int, ...]:
    """How many parts each field has; one number where the parts are those of all fields together."""
    parts: Sequence[tuple[str, Any]] = view.parts if isinstance(view, Select) else [("", view)]
    return tuple(field.size or 0 for _, field in parts)
>>>>>>> origin/main
