"""`Circle`: a number that starts again after a period, such as a time of day or an angle."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import exact_number
from sottovoce.core.domain.written import written_number
from sottovoce.core.params import check_decimal, decimal_text, reject
from sottovoce.core.specs import Spec, take, text


@dataclass(frozen=True, slots=True)
class Circle(Domain):
    """A number in [0, period], whose two ends are the same point: 24 o'clock is 0 o'clock.

    Its code is that number, exactly, as a `Fraction` below the period. Numbers on a circle have no order, so they have
    neither quantiles nor a mean as other numbers have it.
    """

    kind: ClassVar[str] = "circle"
    period: Decimal

    def __init__(self, period: int | float | str | Decimal) -> None:
        number = check_decimal("period", self.kind, period)
        if number <= 0:
            raise reject("period", self.kind, "a number above 0", period)
        object.__setattr__(self, "period", number)

    @property
    def low(self) -> Decimal:
        """Where numbers start."""
        return Decimal(0)

    @property
    def high(self) -> Decimal:
        """Where they start again."""
        return self.period

    @property
    def circular(self) -> bool:
        return True

    def typed(self, value: object) -> object:
        return written_number(value)

    def encode(self, value: object) -> Fraction:
        number, period = exact_number(value), Fraction(self.period)
        if number is None or not 0 <= number <= period:
            raise self.refuse(value, f"a number in [0, {decimal_text(self.period)}]")
        return number % period

    def foreign(self) -> list[object]:
        return [*Domain.foreign(self), Fraction(self.period) * 2, -Fraction(self.period) / 2, True, str(self.period)]

    def spec(self) -> Spec:
        return {"kind": self.kind, "period": decimal_text(self.period)}

    @classmethod
    def from_spec(cls, spec: Spec) -> Circle:
        (period,) = take(spec, cls.kind, ("period",))
        return cls(text(period, cls.kind, "period"))
