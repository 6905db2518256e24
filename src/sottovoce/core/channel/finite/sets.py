"""Public sets of block channels: the hyperplanes of a projective space."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from sottovoce.core.arithmetic.field import is_prime
from sottovoce.core.channel.facets import Rates
from sottovoce.core.declared import Declared, declared, integer
from sottovoce.core.params import check_integer, reject

MAX_POINTS = 1 << 22


@lru_cache(maxsize=32)
def spaces(order: int, digits: int) -> tuple[int, ...]:
    """How many points the projective spaces of 0, 1, ... `digits` coordinates have: 1 + order + order**2 + ..."""
    points = [0]
    for _ in range(digits):
        points.append(points[-1] * order + 1)
    return tuple(points)


@declared
class ProjectiveSets(Declared):
    """Points and hyperplanes of the projective space over the integers modulo a prime.

    A point is a vector of `digits` coordinates whose first non-zero one is 1; points are numbered by how many
    coordinates follow that one, and then by these as a number in base `order`. An output is a point. A code is the
    point of the same number, read backwards, and its set is the hyperplane of all outputs whose inner product with it
    is 0. Any two hyperplanes meet in the same number of points, so all other codes are supported equally often.
    """

    kind: ClassVar[str] = "projective"
    codes: int = integer()
    order: int = integer(2, MAX_POINTS)
    digits: int = integer(2, 22)

    def check_fields(self) -> None:
        if not is_prime(self.order):
            raise reject("order", self.kind, "a prime", self.order)
        if self.outputs > MAX_POINTS:
            raise reject("digits", self.kind, f"so few that there are at most {MAX_POINTS} points", self.digits)
        check_integer("codes", self.kind, self.codes, 2, self.outputs)

    @property
    def outputs(self) -> int:
        return spaces(self.order, self.digits)[self.digits]

    @property
    def size(self) -> int:
        return spaces(self.order, self.digits)[self.digits - 1]

    @property
    def common(self) -> int:
        """How many points two hyperplanes have in common."""
        return spaces(self.order, self.digits)[self.digits - 2]

    def point(self, number: int, digits: int) -> list[int]:
        """The coordinates of a point of a space of this many coordinates, the first one first."""
        starts = spaces(self.order, digits)
        follow = sum(number >= starts[m] for m in range(1, digits))
        value = number - starts[follow] + self.order**follow
        return [value // self.order**place % self.order for place in range(digits - 1, -1, -1)]

    def number(self, coordinates: list[int]) -> int:
        """The number of the point on the line through a vector that is not zero."""
        value = self._value(coordinates)
        follow = sum(value >= self.order**m for m in range(1, self.digits))
        scale = pow(value // self.order**follow, max(self.order - 2, 0), self.order)  # the inverse, by Fermat
        value = self._value([scale * one % self.order for one in coordinates])
        return int(value - self.order**follow + spaces(self.order, self.digits)[follow])

    def _value(self, coordinates: list[int]) -> int:
        value = 0
        for one in coordinates:
            value = value * self.order + one
        return value

    def hyperplane(self, code: int) -> tuple[list[int], int]:
        """The vector of a code, and the place of its last non-zero coordinate, which is 1."""
        backwards = self.point(code, self.digits)
        follow = sum(code >= start for start in spaces(self.order, self.digits)[1 : self.digits])
        return backwards[::-1], follow

    def member(self, code: int, output: int) -> bool:
        vector, point = self.hyperplane(code)[0], self.point(output, self.digits)
        return sum(a * b for a, b in zip(vector, point, strict=True)) % self.order == 0

    def output(self, code: int, index: int, inside: bool) -> int:
        """The index-th output of the code's set, or outside it.

        All coordinates but the last one in which the code is not zero are free, and that one makes the inner product 0
        or 1. Inside, the free ones are a point of the smaller space; coordinates after the solved one do not count in
        the inner product, so the first non-zero coordinate is still 1. Outside, they are any vector.
        """
        vector, last = self.hyperplane(code)
        rest = self.digits - 1
        within = self.point(index % self.size, rest)
        beyond = [index // self.order**place % self.order for place in range(rest - 1, -1, -1)]
        free = (beyond, within)[inside]
        vector.pop(last)
        product = sum(a * b for a, b in zip(vector, free, strict=True))
        free.insert(last, ((not inside) - product) % self.order)
        return self.number(free)

    def rates(self, inside: Fraction) -> Rates:
        """Support rates of sets of which two share `common` outputs."""
        near = inside * self.common / self.size
        far = (1 - inside) * (self.size - self.common) / (self.outputs - self.size)
        return Rates(inside, near + far)

    def miniatures(self) -> tuple[ProjectiveSets, ...]:
        if self.digits == 2:
            return type(self)(3, 2, 2), type(self)(4, 3, 2)
        return type(self)(7, 2, 3), type(self)(9, 3, 3)
