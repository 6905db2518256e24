"""`Fields`: some fields of a record, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from sottovoce.core.declared import declared, part, texts
from sottovoce.core.domain.base import Domain, View, domain_from_spec
from sottovoce.core.domain.plain import Record
from sottovoce.core.domain.views import check_names


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
