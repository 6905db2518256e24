"""`Digit`: the index of the cell in which a number lies, modulo a base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.domain.plain import Integers, Interval
from sottovoce.core.params import check_decimal, check_integer, decimal_text, reject
from sottovoce.core.specs import Spec, integer, take, text

MAX_BASE = 1 << 20


@dataclass(frozen=True, slots=True)
class Digit(Domain):
    """floor((x - origin) / width) modulo `base`: in which of `base` repeating cells a number lies.

    No centre has to be known beforehand: numbers that lie close together fill the same few cells anywhere. With two
    cells it says whether a number lies above or below the nearest of the thresholds origin + width + 2 b width.
    """

    kind: ClassVar[str] = "digit"
    of: Integers | Interval
    width: Decimal
    base: int
    origin: Decimal

    def __init__(
        self,
        of: Integers | Interval,
        width: int | float | str | Decimal,
        base: int,
        origin: int | float | str | Decimal = 0,
    ) -> None:
        if not isinstance(of, (Integers, Interval)):
            raise reject("of", self.kind, "a domain of numbers (Integers or Interval)", of)
        cell = check_decimal("width", self.kind, width)
        if not cell > 0:
            raise reject("width", self.kind, "a number above 0", width)
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "width", cell)
        object.__setattr__(self, "base", check_integer("base", self.kind, base, 2, MAX_BASE))
        object.__setattr__(self, "origin", check_decimal("origin", self.kind, origin))

    @property
    def size(self) -> int:
        return self.base

    def encode(self, value: object) -> int:
        code = self.of.encode(value)
        number = Fraction(self.of.low + code if isinstance(self.of, Integers) else code)
        return int((number - Fraction(self.origin)) // Fraction(self.width)) % self.base

    def labels(self) -> Sequence[object]:
        return range(self.base)

    def foreign(self) -> list[object]:
        return self.of.foreign()

    def spec(self) -> Spec:
        return {
            "kind": self.kind,
            "of": self.of.spec(),
            "width": decimal_text(self.width),
            "base": self.base,
            "origin": decimal_text(self.origin),
        }

    @classmethod
    def from_spec(cls, spec: Spec) -> Digit:
        of, width, base, origin = take(spec, cls.kind, ("of", "width", "base", "origin"))
        return cls(
            domain_from_spec(of),  # type: ignore[arg-type]
            text(width, cls.kind, "width"),
            integer(base, cls.kind, "base"),
            text(origin, cls.kind, "origin"),
        )
