"""`Fields` and `VectorPart`: some fields of a record, or some numbers of a vector, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from sottovoce.core.declared import declared, delegated, integers, part, texts
from sottovoce.core.domain.base import Domain, View, domain_from_spec
from sottovoce.core.domain.box import MAX_DIMENSIONS, Box
from sottovoce.core.domain.plain import Record
from sottovoce.core.domain.views import check_names
from sottovoce.core.params import reject


@declared
class Fields(View):
    """The code is the tuple of the codes of these fields, in the order of `names`; others may be left out."""

    kind: ClassVar[str] = "fields"
    of: Record = part("domain", domain_from_spec)
    names: tuple[str, ...] = texts()

    def __init__(self, of: Record, names: Iterable[str]) -> None:
        self.hold(of, names)

    def check_fields(self) -> None:
        check_names(self.kind, self.of, self.names)

    @property
    def fields(self) -> tuple[tuple[str, Domain], ...]:
        """The chosen fields, like those of a record."""
        known = dict(self.of.fields)
        return tuple((name, known[name]) for name in self.names)

    @property
    def coordinates(self) -> Sequence[Domain]:
        return [domain for _, domain in self.fields]

    def encode(self, value: object) -> tuple[Any, ...]:
        codes = self.of.held_codes(value, self.names)
        return tuple(codes[name] for name in self.names)

    def labels(self) -> Sequence[object]:
        """The names of the fields."""
        return list(self.names)


@declared
class VectorPart(View):
    """The code is the tuple of the numbers at these places of a vector, in the order of `places`."""

    kind: ClassVar[str] = "vector-part"
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
