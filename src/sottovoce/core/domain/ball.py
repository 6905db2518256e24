"""`Ball`: a vector of bounded length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar

from sottovoce.core.declared import decimal, declared, integer
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.box import listed
from sottovoce.core.domain.plain import Number, exact_number
from sottovoce.core.errors import DomainError
from sottovoce.core.params import decimal_text, reject

MAX_DIMENSIONS = 1 << 16
TOLERANCE = 1e-6  # of the radius: covers the error of vectors scaled to unit length in single precision
LEAST = 1e-100  # of the radius: squares of smaller numbers underflow, which would give a wrong length
_LARGEST = Decimal("1e100")  # of a radius: squares of coordinates must not overflow


@declared
class Ball(Domain):
    """Describe an answer as a vector whose Euclidean length is at most `radius`.

    A vector that is longer by less than a millionth counts as one on the surface; a longer one is refused. Numbers
    below 1e-100 of the radius count as zero. The code is the vector in units of the radius, as floats.

    Args:
        radius: The largest length of a vector, above 0.
        dimensions: How many numbers a vector has.

    Examples:
        >>> sv.Ball(2, dimensions=2).encode([0.6, 0.8])
        (0.3, 0.4)

    See also:
        `Box` for a bound on each coordinate, `VectorMean` for the mean of vectors.
    """

    kind: ClassVar[str] = "ball"
    radius: Decimal = decimal()
    dimensions: int = integer(2, MAX_DIMENSIONS)

    def __init__(self, radius: Number, dimensions: int) -> None:
        self.hold(radius, dimensions)

    def check_fields(self) -> None:
        if not 1 / _LARGEST <= self.radius <= _LARGEST:
            raise reject("radius", self.kind, "a number from 1e-100 to 1e100", self.radius)

    def encode(self, value: object) -> tuple[float, ...]:
        numbers = listed(value)
        if numbers is None or len(numbers) != self.dimensions:
            raise self._outside(value)
        radius = float(self.radius)
        code = tuple([self._float(number) / radius for number in numbers])
        if not math.hypot(*code) <= 1 + TOLERANCE:  # also refuses NaN
            raise self._outside(value)
        return tuple([number if abs(number) >= LEAST else 0.0 for number in code])

    def _float(self, number: object) -> float:
        """The nearest float of a number; NaN for anything else and for numbers far outside, which may overflow."""
        if type(number) is float:
            return number
        exact = exact_number(number)
        return math.nan if exact is None or abs(exact) > 2 * Fraction(self.radius) else float(exact)

    def _outside(self, value: object) -> DomainError:
        most = decimal_text(self.radius)
        return self.refuse(value, f"a list of {self.dimensions} numbers of Euclidean length at most {most}")

    def labels(self) -> Sequence[object]:
        """The places of the numbers."""
        return range(self.dimensions)

    def foreign(self) -> list[object]:
        rest: list[Any] = [0] * (self.dimensions - 1)
        radius = float(self.radius)
        wrong = [radius * 1.00001, float("nan"), float("inf"), None, "0", True, 1 << 400]
        lists = [*([one, *rest] for one in wrong), [radius, *rest[1:], radius], rest, [*rest, 0, 0], {*rest}]
        return [*Domain.foreign(self), *lists]
