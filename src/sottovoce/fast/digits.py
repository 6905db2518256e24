"""Many floats to digits, or to the sides of a threshold, exactly as `Digit` and `Above` encode each of them.

A float stands for the shortest decimal that prints it, which lies within half a unit of its last place. So the cell is
computed beside a bound of its error, and only where a border lies within the bound the decimal itself is read.
"""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch
from math import inf, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain.digit import Digit
from sottovoce.core.domain.views import Above
from sottovoce.core.errors import DomainError

# Reading the decimal, the ends of the grid, one difference and one quotient: five errors of 2**-53 at most,
# each relative to at most |x| + |origin| + width; eight of them are allowed for.
_ERROR = 2.0**-50


def first_float(low: Fraction) -> float:
    """The least float whose shortest decimal is not below a number.

    The decimal of a float before the nearest one lies on the float's side of `low`.
    """
    nearest = float(low)
    return nearest if Fraction(repr(nearest)) >= low else nextafter(nearest, inf)


def reads_digits(domain: Above | Digit, values: NDArray[Any]) -> bool:
    """Whether these are floats that the domain takes; longer floats are not Python floats."""
    return (
        domain.of.line is not None
        and domain.of.whole is None
        and values.dtype.kind == "f"
        and values.dtype.itemsize <= 8
    )


def digits(domain: Above | Digit, values: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The code of each float, and which of them lie outside the domain."""
    wide = values.astype(np.float64)
    numbers: Any = domain.of  # a line, see `reads_digits`
    low, high = float(numbers.low), float(numbers.high)
    with np.errstate(over="ignore", invalid="ignore"):
        cells, certain = _places(domain, wide)
        certain &= (wide > nextafter(low, inf)) & (wide < nextafter(high, -inf))
    codes = np.zeros(len(wide), np.uint32)
    codes[certain] = np.mod(cells[certain], domain.size).astype(np.uint32)
    outside = np.zeros(len(wide), bool)
    different, places = np.unique(wide[~certain], return_inverse=True)
    exact_codes = np.array([_exactly(domain, value) for value in different.tolist()], np.int64)[places]
    codes[~certain], outside[~certain] = np.maximum(exact_codes, 0), exact_codes < 0
    return codes, outside


@singledispatch
def _places(domain: Above | Digit, wide: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """In which cell, or on which side, each number lies; and whether no border is too near."""
    raise TypeError(f"Numbers of kind {domain.kind} have no cells.")


@_places.register
def _(domain: Digit, wide: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    width, origin = float(domain.width), float(domain.origin)
    cells = (wide - origin) / width
    floors = np.floor(cells)
    bound = ((np.abs(wide) + abs(origin)) / width + 1) * _ERROR
    certain = (cells - floors > bound) & (cells - floors < 1 - bound) & (bound < 0.25)
    return floors, np.asarray(certain)


@_places.register
def _(domain: Above, wide: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    threshold = float(domain.threshold)
    above = wide - threshold
    return (above > 0).astype(np.float64), np.asarray(np.abs(above) > (np.abs(wide) + abs(threshold)) * _ERROR)


def _exactly(domain: Above | Digit, value: float) -> int:
    """The code of one float; -1 where it lies outside."""
    try:
        return domain.encode(value)
    except DomainError:
        return -1
