"""`Powers`: a number and the square of its distance from a centre, two views of one answer side by side."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from sottovoce.core.declared import decimal, declared, part
from sottovoce.core.domain.base import Domain, View, domain_from_spec
from sottovoce.core.domain.plain import Integers, Interval, Number
from sottovoce.core.domain.views import Square, check_numeric


@declared
class Powers(View):
    """The code is a tuple: that of the number itself, and the square of its distance from the centre."""

    kind: ClassVar[str] = "powers"
    of: Integers | Interval = part("domain", domain_from_spec, check_numeric)
    centre: Decimal = decimal()

    def __init__(self, of: Integers | Interval, centre: Number = 0) -> None:
        self.hold(of, centre)

    @property
    def square(self) -> Square:
        """The second of the two views."""
        return Square(self.of, self.centre)

    @property
    def parts(self) -> tuple[Domain, Domain]:
        """The number and its square as views, in the order of the code."""
        return self.of, self.square

    def encode(self, value: object) -> tuple[Any, Fraction]:
        return self.of.encode(value), self.square.encode(value)
