"""`Fields`: some fields of a record, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.domain.plain import Record
from sottovoce.core.params import reject
from sottovoce.core.specs import Spec, take


@dataclass(frozen=True, slots=True)
class Fields(Domain):
    """The code is the tuple of the codes of these fields, in the order of `names`."""

    kind: ClassVar[str] = "fields"
    of: Record
    names: tuple[str, ...]

    def __init__(self, of: Record, names: Iterable[str]) -> None:
        listed = tuple(names)
        if not isinstance(of, Record):
            raise reject("of", self.kind, "a record", of)
        known = dict(of.fields)
        if not listed or len(set(listed)) != len(listed) or any(name not in known for name in listed):
            raise reject("names", self.kind, f"distinct names among {', '.join(known)}", listed)
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "names", listed)

    @property
    def fields(self) -> tuple[tuple[str, Domain], ...]:
        """The chosen fields, like those of a record."""
        known = dict(self.of.fields)
        return tuple((name, known[name]) for name in self.names)

    @property
    def coordinates(self) -> Sequence[Domain]:
        return [domain for _, domain in self.fields]

    def encode(self, value: object) -> tuple[Any, ...]:
        codes = dict(zip((name for name, _ in self.of.fields), self.of.encode(value), strict=True))
        return tuple(codes[name] for name in self.names)

    def labels(self) -> Sequence[object]:
        """The names of the fields."""
        return list(self.names)

    def foreign(self) -> list[object]:
        return self.of.foreign()

    def spec(self) -> Spec:
        return {"kind": self.kind, "of": self.of.spec(), "names": list(self.names)}

    @classmethod
    def from_spec(cls, spec: Spec) -> Fields:
        of, names = take(spec, cls.kind, ("of", "names"))
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise reject("names", cls.kind, "a list of texts", names)
        return cls(domain_from_spec(of), names)  # type: ignore[arg-type]
