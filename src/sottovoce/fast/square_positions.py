"""Many numbers to the positions of their squared distances from a centre, exactly as the scalar sampler reads them.

As for numbers themselves, positions are computed twice as accurately as a float holds them, beside a bound of the
error; where the bound leaves more than one whole number, the decimal itself is read, in fractions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Rounding
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.domain import Integers, Square
from sottovoce.fast.compiled import compiled
from sottovoce.fast.digits import first_float
from sottovoce.fast.double_double import HALF_ULP, WHOLE, Positions, difference, located, product, two
from sottovoce.fast.encode import encode

LISTED = 1 << 12  # whole numbers of a domain for which all squares are computed in advance


def square_positions(domain: Square, rounding: Rounding, array: Any, threads: int | None = None) -> Positions | None:
    """The position of each square; None where values are neither floats nor whole numbers, to be read one by one."""
    integers = domain.of.whole
    if integers is not None:
        return _of_codes(domain, integers, rounding, encode(integers, array, threads=threads))
    if not isinstance(array, np.ndarray):
        return None
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:  # longer floats are not Python floats
        return _floats(domain, rounding, array, threads)
    if array.dtype.kind in "iu" and (not len(array) or max(-int(array.min()), int(array.max())) <= WHOLE):
        return _floats(domain, rounding, array, threads)  # as floats these are the same numbers
    return None


def _of_codes(domain: Square, of: Integers, rounding: Rounding, codes: NDArray[np.uint32]) -> Positions:
    """Each different whole number is squared once."""
    different, places = (np.arange(of.size), codes) if of.size <= LISTED else np.unique(codes, return_inverse=True)
    squares = (domain.encode(of.low + code) for code in different.tolist())
    return np.array([rounding.position(square) for square in squares], np.uint64)[places]


@dataclass(frozen=True, slots=True)
class _SquareFilter:
    """What the kernel knows: sums of two floats stand for the centre, the least square and the positions per unit."""

    first: float  # the least float whose decimal is not below the range
    last: float
    centre: tuple[float, float]
    low: tuple[float, float]
    scale: tuple[float, float]
    fixed: float  # error of a position, whatever the value is

    def numbers(self) -> tuple[float, ...]:
        return (self.first, self.last, *self.centre, *self.low, *self.scale, self.fixed)


@lru_cache(maxsize=16)
def _filter(domain: Square, rounding: Rounding) -> _SquareFilter:
    low, high, centre = (Fraction(end) for end in (domain.of.low, domain.of.high, domain.centre))
    least = Fraction(rounding.low)
    scale = (1 << PLACES) / rounding.step
    # All operations together err by far less than 2**-95 of the largest terms, and by the last place of a number below
    # one. Where that is too much, or positions exceed the floats that become integers, nothing is certain.
    size = ((abs(low) + abs(high) + abs(centre)) ** 2 + least) * scale
    fixed = float(size) * 2.0**-90 + 2.0**-50 if size < 1 << 80 and rounding.steps < 1 << 30 else 1.0
    return _SquareFilter(first_float(low), -first_float(-high), two(centre), two(least), two(scale), fixed)


@compiled
def _locate(values, first, last, centre, centre_rest, low, low_rest, scale, scale_rest, fixed, out, doubtful):
    """Positions of squares, and which are not certain; returns how many values lie outside and how many are doubtful.

    Differences and products are exact as sums of two floats, so that what remains uncertain is what the decimal of a
    value x leaves open: half a unit of its last place, which moves the square by 2 |x - centre| times that.
    """
    outside = 0
    count = 0
    for i in range(values.shape[0]):
        value = values[i]
        inside = value >= first and value <= last
        outside += not inside
        x = value if inside else first
        away, away_rest = difference(x, centre)
        away_rest -= centre_rest
        square, square_rest = product(away, away)
        square_rest += 2 * away * away_rest
        above, above_rest = difference(square, low)
        above_rest += square_rest - low_rest
        place, rest = product(above, scale)
        rest += above * scale_rest + above_rest * scale
        nearest = np.rint(place)
        rest += place - nearest
        more = np.rint(rest)
        bound = fixed
        if not (np.rint(x) == x and abs(x) <= WHOLE):
            bound += 2.000001 * abs(away) * HALF_ULP * abs(x) * scale
        doubt = not abs(rest - more) < 0.5 - bound
        doubtful[i] = doubt
        count += doubt
        out[i] = np.uint64(np.int64(nearest) + np.int64(more))
    return outside, count


def _floats(domain: Square, rounding: Rounding, array: NDArray[Any], threads: int | None) -> Positions:
    known = _filter(domain, rounding)
    numbers = known.numbers()

    def kernel(values: Any, out: Any, doubtful: Any) -> tuple[int, int]:
        counts: tuple[int, int] = _locate(values, *numbers, out, doubtful)
        return counts

    def exactly(values: NDArray[np.float64]) -> Positions:
        return _each_once(values, lambda x: rounding.position(domain.encode(x)))

    return located(domain, array, (known.first, known.last), kernel, exactly, threads)


def _each_once(values: NDArray[np.float64], position: Callable[[float], int]) -> Positions:
    different, places = np.unique(values, return_inverse=True)
    return np.array([position(value) for value in different.tolist()], np.uint64)[places]
