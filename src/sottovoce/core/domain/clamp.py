"""`Clamp`: a number of a wide range, moved to the nearest end of a narrow one."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.declared import decimal, declared, part
from sottovoce.core.domain.base import Numbers, View, domain_from_spec
from sottovoce.core.domain.plain import Integers, Interval, Number
from sottovoce.core.domain.views import check_numeric, raw_number
from sottovoce.core.params import reject


@declared
class Clamp(View):
    """A number of a wide domain as the nearest number in [low, high]; its code is that number, as a `Fraction`.

    Values outside the wide domain are refused. The mean of clamped numbers differs from the mean of the numbers
    themselves; `RangeSearchMean` estimates by how much.
    """

    kind: ClassVar[str] = "clamp"
    of: Integers | Interval = part("domain", domain_from_spec, check_numeric)
    low: Decimal = decimal()
    high: Decimal = decimal()

    def __init__(self, of: Integers | Interval, low: Number, high: Number) -> None:
        self.hold(of, low, high)

    def check_fields(self) -> None:
        if not self.of.low <= self.low:
            raise reject("low", self.kind, f"a number of the wide domain, from {self.of.low} on", self.low)
        if not self.low < self.high <= self.of.high:
            raise reject("high", self.kind, f"a number above low, up to {self.of.high}", self.high)

    @property
    def numbers(self) -> Numbers:
        return Numbers(Fraction(self.low), Fraction(self.high), Fraction(0))

    def encode(self, value: object) -> Fraction:
        number = raw_number(self.of, value)
        return min(max(number, Fraction(self.low)), Fraction(self.high))
