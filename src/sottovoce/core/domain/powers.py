"""`Powers`: a number and the square of its distance from a centre, two views of one answer side by side."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.domain.plain import Integers, Interval, Number
from sottovoce.core.domain.views import Square
from sottovoce.core.params import decimal_text
from sottovoce.core.specs import Spec, take, text


@dataclass(frozen=True, slots=True)
class Powers(Domain):
    """The code is a tuple: that of the number itself, and the square of its distance from the centre."""

    kind: ClassVar[str] = "powers"
    of: Integers | Interval
    centre: Decimal

    def __init__(self, of: Integers | Interval, centre: Number = 0) -> None:
        square = Square(of, centre)  # checks both
        object.__setattr__(self, "of", square.of)
        object.__setattr__(self, "centre", square.centre)

    @property
    def square(self) -> Square:
        """The second of the two views."""
        return Square(self.of, self.centre)

    @property
    def parts(self) -> tuple[Domain, Domain]:
        """Both views, in the order of the code."""
        return self.of, self.square

    def encode(self, value: object) -> tuple[Any, Fraction]:
        return self.of.encode(value), self.square.encode(value)

    def foreign(self) -> list[object]:
        return self.of.foreign()

    def spec(self) -> Spec:
        return {"kind": self.kind, "of": self.of.spec(), "centre": decimal_text(self.centre)}

    @classmethod
    def from_spec(cls, spec: Spec) -> Powers:
        of, centre = take(spec, cls.kind, ("of", "centre"))
        return cls(domain_from_spec(of), text(centre, cls.kind, "centre"))  # type: ignore[arg-type]
