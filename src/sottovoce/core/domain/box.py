"""`Box`: a vector of numbers that all have the same range."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from sottovoce.core.declared import decimal, declared, integer
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import Interval, Number
from sottovoce.core.errors import DomainError
from sottovoce.core.params import decimal_text

MAX_DIMENSIONS = 1 << 16


@declared
class Box(Domain):
    """Describe an answer as a list of numbers, each from `low` to `high`.

    The code is the tuple of these numbers, exactly.

    Args:
        low: The smallest value of each number.
        high: The largest value of each number, above `low`.
        dimensions: How many numbers an answer has.

    Examples:
        >>> sv.Box(-1, 1, dimensions=2).encode([0.5, -1])
        (Fraction(1, 2), Fraction(-1, 1))

    See also:
        `Ball` for vectors of bounded length, `Sparse` for vectors that are mostly zero, `VectorMean`.
    """

    kind: ClassVar[str] = "box"
    low: Decimal = decimal()
    high: Decimal = decimal()
    dimensions: int = integer(1, MAX_DIMENSIONS)

    def __init__(self, low: Number, high: Number, dimensions: int) -> None:
        self.hold(low, high, dimensions)

    def check_fields(self) -> None:
        self.side  # noqa: B018 - refuses ends that make no interval

    @property
    def side(self) -> Interval:
        """The range of each number."""
        return Interval(self.low, self.high)

    @property
    def coordinates(self) -> Sequence[Domain]:
        return [self.side] * self.dimensions

    def encode(self, value: object) -> tuple[Fraction, ...]:
        numbers = listed(value)
        side = self.side
        try:
            if numbers is None or len(numbers) != self.dimensions:
                raise self._outside(value)
            return tuple(side.encode(number) for number in numbers)
        except DomainError:
            raise self._outside(value) from None

    def _outside(self, value: object) -> DomainError:
        ends = f"[{decimal_text(self.low)}, {decimal_text(self.high)}]"
        return self.refuse(value, f"a list of {self.dimensions} numbers in {ends}")

    def labels(self) -> Sequence[object]:
        """The places of the numbers."""
        return range(self.dimensions)

    def foreign(self) -> list[object]:
        inside = [self.low] * self.dimensions
        wrong = [[*inside[:-1], number] for number in self.side.foreign()]
        usual = [value for value in Domain.foreign(self) if value != (0,)]  # (0,) may be a vector of one number
        return [*usual, *wrong, inside[:-1], [*inside, self.low], {*inside}]


def listed(value: object) -> Sequence[Any] | None:
    """The numbers of a list, a tuple or a one-dimensional array; None for anything else."""
    if isinstance(value, (list, tuple)):
        return value
    tolist = getattr(value, "tolist", None)
    if tolist is None or getattr(value, "ndim", None) != 1 or isinstance(value, memoryview):
        return None
    numbers = tolist()
    return numbers if isinstance(numbers, list) else None
