"""`Rounding`: a number to one of the two grid points beside it, so that its mean is the number itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, overload

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Numbered, Rounded
from sottovoce.core.coins import Coins
from sottovoce.core.declared import decimal, declared, integer
from sottovoce.core.errors import PrivacyError
from sottovoce.core.params import reject

PLACES = 32  # binary places to which a number is read, in steps of the grid
MAX_STEPS = 1 << 31  # so that a position fits into 64 bits
_STEP = 1 << PLACES


class _Grid(Sequence[Fraction]):
    """The points of a grid, computed when asked for."""

    def __init__(self, low: Fraction, step: Fraction, points: int) -> None:
        self._low, self._step, self._points = low, step, points

    def __len__(self) -> int:
        return self._points

    @overload
    def __getitem__(self, place: int) -> Fraction: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Fraction]: ...
    def __getitem__(self, place: int | slice) -> Fraction | Sequence[Fraction]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(self._points))]
        return self._low + self._step * range(self._points)[place]


@declared
class Rounding(Channel, Numbered, Rounded):
    """A number in [low, high] becomes j or j + 1, where it lies between the grid points j and j + 1 of 0, ..., steps.

    A number is first read to 2**-32 of a step (to the nearest, ties to even), which costs a bias of at most 2**-33 of a
    step; from there on the probability of going up is exactly its distance from the lower point.
    """

    kind: ClassVar[str] = "rounding"
    codes_are_indices: ClassVar[bool] = False  # codes are numbers of a range
    words: ClassVar[int] = 1
    low: Decimal = decimal()
    high: Decimal = decimal()
    steps: int = integer(1, MAX_STEPS)

    def __init__(self, low: Any, high: Any, steps: int) -> None:
        self.hold(low, high, steps)

    def check_fields(self) -> None:
        if not self.low < self.high:
            raise reject("high", self.kind, f"a number above low = {self.low}", self.high)

    @property
    def rounding(self) -> Rounding:
        return self

    @property
    def step(self) -> Fraction:
        """The distance of two grid points."""
        return (Fraction(self.high) - Fraction(self.low)) / self.steps

    @property
    def inputs(self) -> int:
        return self.steps + 1

    def codes(self) -> Iterable[Any]:
        """The grid points: every other number is a mixture of two of them."""
        return _Grid(Fraction(self.low), self.step, self.steps + 1)

    def position(self, number: Fraction | int) -> int:
        """The position of a number in units of 2**-32 steps, to the nearest, ties to even.

        In whole numbers: fractions are reduced to lowest terms at each step, in a time that depends on the number.
        """
        low, scale = _scale(self)
        top = (number.numerator * low.denominator - low.numerator * number.denominator) * scale.numerator
        below, rest = divmod(top, bottom := number.denominator * low.denominator * scale.denominator)
        return below + (2 * rest + (below & 1) > bottom)

    def number(self, position: int) -> Fraction:
        """The number at a position."""
        return Fraction(self.low) + self.step * Fraction(position, _STEP)

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        point, rest = divmod(self.position(code), _STEP)
        if not 0 <= point <= self.steps - (rest > 0):
            raise ValueError("A number outside the range of a rounding has no grid point.")
        return point + coins.flip(rest << (FINE - PLACES))

    @property
    def payload_bits(self) -> int:
        return self.steps.bit_length()

    @property
    def outputs(self) -> int:
        return self.steps + 1

    def contains(self, report: int) -> bool:
        return 0 <= report <= self.steps

    def ratio(self) -> Fraction:
        raise PrivacyError("Rounding alone gives no privacy: the ratio is infinite.")

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        return Fraction(max(0, _STEP - abs(self.position(code) - report * _STEP)), _STEP)

    def miniatures(self) -> tuple[Channel, ...]:
        return tuple(type(self)(self.low, self.high, steps) for steps in (1, 2, 3, 4, 6) if steps <= self.steps)


@lru_cache(maxsize=256)
def _scale(grid: Rounding) -> tuple[Fraction, Fraction]:
    """The lower end of a grid, and the number of positions per unit: public, and computed once."""
    return Fraction(grid.low), _STEP / grid.step
