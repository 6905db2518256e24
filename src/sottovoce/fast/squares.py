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
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.channel import Rounding
from sottovoce.core.channel.rounding import PLACES
from sottovoce.core.domain import Integers, Square
from sottovoce.fast.clamped import first_float
from sottovoce.fast.encode import encode, refuse
from sottovoce.fast.threads import run

Positions = NDArray[np.uint64]

LISTED = 1 << 12  # whole numbers of a domain whose squares are all computed, whoever holds them
_CHUNK = 1 << 17
_HALF_ULP = 2.0**-53
_WHOLE = 2.0**53  # whole floats up to here are printed as they are
_SPLIT = float((1 << 27) + 1)


def square_positions(domain: Square, rounding: Rounding, array: Any, threads: int | None = None) -> Positions | None:
    """The position of each square; None where values are neither floats nor whole numbers, to be read one by one."""
    if isinstance(domain.of, Integers):
        return _of_codes(domain, domain.of, rounding, encode(domain.of, array, threads=threads))
    if not isinstance(array, np.ndarray):
        return None
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8:  # a longer float is no Python number
        return _floats(domain, rounding, array, threads)
    if array.dtype.kind in "iu" and (not len(array) or max(-int(array.min()), int(array.max())) <= _WHOLE):
        return _floats(domain, rounding, array, threads)  # as floats these are the same numbers
    return None


def _of_codes(domain: Square, of: Integers, rounding: Rounding, codes: NDArray[np.uint32]) -> Positions:
    """Each different whole number is squared once."""
    different, places = (np.arange(of.size), codes) if of.size <= LISTED else np.unique(codes, return_inverse=True)
    squares = (domain.encode(of.low + code) for code in different.tolist())
    return np.array([rounding.position(square) for square in squares], np.uint64)[places]


@dataclass(frozen=True, slots=True)
class _Filter:
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
def _filter(domain: Square, rounding: Rounding) -> _Filter:
    low, high, centre = (Fraction(end) for end in (domain.of.low, domain.of.high, domain.centre))
    least = Fraction(rounding.low)
    scale = (1 << PLACES) / rounding.step
    # All operations together err by far less than 2**-95 of the largest terms, and by the last place of a number below
    # one. Where that is too much, or positions exceed the floats that become integers, nothing is certain.
    size = ((abs(low) + abs(high) + abs(centre)) ** 2 + least) * scale
    fixed = float(size) * 2.0**-90 + 2.0**-50 if size < 1 << 80 and rounding.steps < 1 << 30 else 1.0
    return _Filter(first_float(low), -first_float(-high), _two(centre), _two(least), _two(scale), fixed)


def _two(number: Fraction) -> tuple[float, float]:
    """The nearest float, and the one nearest to what it leaves."""
    near = float(number)
    return near, float(number - Fraction(near))


@njit(nogil=True, inline="always")
def _halves(a):
    """A float as a sum of two with 26 bits each (Veltkamp)."""
    wide = _SPLIT * a
    high = wide - (wide - a)
    return high, a - high


@njit(nogil=True, inline="always")
def _product(a, b):
    """A product, and what it leaves (Dekker)."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit(nogil=True, inline="always")
def _difference(a, b):
    """A difference, and what it leaves (Knuth)."""
    difference = a - b
    back = difference - a
    return difference, (a - (difference - back)) - (b + back)


@njit(nogil=True, cache=True)
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
        away, away_rest = _difference(x, centre)
        away_rest -= centre_rest
        square, square_rest = _product(away, away)
        square_rest += 2 * away * away_rest
        above, above_rest = _difference(square, low)
        above_rest += square_rest - low_rest
        place, rest = _product(above, scale)
        rest += above * scale_rest + above_rest * scale
        whole = np.rint(place)
        rest += place - whole
        more = np.rint(rest)
        bound = fixed
        if not (np.rint(x) == x and abs(x) <= _WHOLE):
            bound += 2.000001 * abs(away) * _HALF_ULP * abs(x) * scale
        doubt = not abs(rest - more) < 0.5 - bound
        doubtful[i] = doubt
        count += doubt
        out[i] = np.uint64(np.int64(whole) + np.int64(more))
    return outside, count


def _floats(domain: Square, rounding: Rounding, array: NDArray[Any], threads: int | None) -> Positions:
    known = _filter(domain, rounding)
    found, doubtful = np.empty(len(array), np.uint64), np.empty(len(array), np.bool_)
    numbers = known.numbers()

    def work(start: int, stop: int) -> tuple[int, int]:
        values = np.ascontiguousarray(array[start:stop], np.float64)
        counts: tuple[int, int] = _locate(values, *numbers, found[start:stop], doubtful[start:stop])
        return counts

    counts = run(work, len(array), _CHUNK, threads)
    if sum(outside for outside, _ in counts):
        wide = array.astype(np.float64)  # the ends would be rounded to a shorter type
        refuse(domain, array, ~((wide >= known.first) & (wide <= known.last)))
    if sum(doubts for _, doubts in counts):
        found[doubtful] = _each_once(array[doubtful].astype(np.float64), lambda x: rounding.position(domain.encode(x)))
    return found


def _each_once(values: NDArray[np.float64], position: Callable[[float], int]) -> Positions:
    different, places = np.unique(values, return_inverse=True)
    return np.array([position(value) for value in different.tolist()], np.uint64)[places]
