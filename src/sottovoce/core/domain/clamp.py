"""`Clamp`: a number of a wide range, moved to the nearest end of a narrow one."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.domain.base import Domain, Numbers, domain_from_spec
from sottovoce.core.domain.plain import Integers, Interval
from sottovoce.core.params import check_decimal, decimal_text, reject
from sottovoce.core.specs import Spec, take, text


@dataclass(frozen=True, slots=True)
class Clamp(Domain):
    """A number of a wide domain as the nearest number in [low, high]; its code is that number, as a `Fraction`.

    Values outside the wide domain are refused. The mean of clamped numbers differs from the mean of the numbers
    themselves; `RangeSearchMean` estimates by how much.
    """

    kind: ClassVar[str] = "clamp"
    of: Integers | Interval
    low: Decimal
    high: Decimal

    def __init__(
        self, of: Integers | Interval, low: int | float | str | Decimal, high: int | float | str | Decimal
    ) -> None:
        if not isinstance(of, (Integers, Interval)):
            raise reject("of", self.kind, "a domain of numbers (Integers or Interval)", of)
        left, right = check_decimal("low", self.kind, low), check_decimal("high", self.kind, high)
        if not of.low <= left:
            raise reject("low", self.kind, f"a number of the wide domain, from {of.low} on", low)
        if not left < right <= of.high:
            raise reject("high", self.kind, f"a number above low, up to {of.high}", high)
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "low", left)
        object.__setattr__(self, "high", right)

    @property
    def numbers(self) -> Numbers:
        return Numbers(Fraction(self.low), Fraction(self.high), Fraction(0))

    def encode(self, value: object) -> Fraction:
        code = self.of.encode(value)
        number = Fraction(self.of.low + code) if isinstance(self.of, Integers) else Fraction(code)
        return min(max(number, Fraction(self.low)), Fraction(self.high))

    def foreign(self) -> list[object]:
        return self.of.foreign()

    def spec(self) -> Spec:
        ends = {"low": decimal_text(self.low), "high": decimal_text(self.high)}
        return {"kind": self.kind, "of": self.of.spec(), **ends}

    @classmethod
    def from_spec(cls, spec: Spec) -> Clamp:
        of, low, high = take(spec, cls.kind, ("of", "low", "high"))
        ends = text(low, cls.kind, "low"), text(high, cls.kind, "high")
        return cls(domain_from_spec(of), *ends)  # type: ignore[arg-type]
