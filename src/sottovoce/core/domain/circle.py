"""`Circle`: a number that starts again after a period, such as a time of day or an angle."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.declared import decimal, declared
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import Number, exact_number
from sottovoce.core.domain.written import written_number
from sottovoce.core.params import decimal_text, reject


@declared
class Circle(Domain):
    """Describe an answer as a number on a circle, such as a time of day: 24 o'clock is 0 o'clock.

    Numbers on a circle have no order, so they have neither quantiles nor an ordinary mean: use `CircularMean`. The code
    is the number, exactly, as a `Fraction` below the period.

    Args:
        period: The length of the circle, above 0; answers lie from 0 to `period`.

    Examples:
        >>> sv.Circle(24).encode(24)
        Fraction(0, 1)

    See also:
        `CircularMean`, `Distribution` and `Range` for what to estimate.
    """

    kind: ClassVar[str] = "circle"
    circular: ClassVar[bool] = True
    period: Decimal = decimal()

    def __init__(self, period: Number) -> None:
        self.hold(period)

    def check_fields(self) -> None:
        if self.period <= 0:
            raise reject("period", self.kind, "a number above 0", self.period)

    @property
    def low(self) -> Decimal:
        """The number at which the circle starts."""
        return Decimal(0)

    @property
    def high(self) -> Decimal:
        """The number at which the circle closes: the start again."""
        return self.period

    @property
    def scalar(self) -> Circle:
        return self

    def typed(self, value: object) -> object:
        return written_number(value)

    def encode(self, value: object) -> Fraction:
        number, period = exact_number(value), Fraction(self.period)
        if number is None or not 0 <= number <= period:
            raise self.refuse(value, f"a number in [0, {decimal_text(self.period)}]")
        return number % period

    def foreign(self) -> list[object]:
        return [*Domain.foreign(self), Fraction(self.period) * 2, -Fraction(self.period) / 2, True, str(self.period)]
