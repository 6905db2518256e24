"""Many numbers of a wide domain, sorted by a narrow range: below it, inside it, above it.

A float stands for the shortest decimal that prints it. Decimals rise with their floats, so the
values below an end are the floats before the first one whose decimal is not below it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Rounding
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.domain import Clamp, Integers, Interval
from sottovoce.fast.digits import first_float
from sottovoce.fast.encode import encode, refuse

Positions = NDArray[np.uint64]
Mask = NDArray[np.bool_]


def clamped_positions(
    domain: Clamp,
    rounding: Rounding,
    array: NDArray[Any],
    inside: Callable[[Interval, Rounding, NDArray[Any]], Positions],
) -> Positions | None:
    """The position of each number after clamping; None for arrays of anything but floats and integers.

    `inside` gives the positions of those that need no clamping.
    """
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "iu" and not (kind == "f" and size <= 8):  # longer floats are not Python floats
        return None
    integers = domain.of.whole
    if integers is not None:  # with its own rule of what is a whole number
        array = encode(integers, array).astype(np.int64) + integers.low
    else:
        array = array if kind in "iu" else array.astype(np.float64)  # the ends would be rounded to a shorter type
        below, above = _sides(array, domain.of)
        refuse(domain.of, array, below | above | (array != array))  # NaN is on neither side
    below, above = _sides(array, domain)
    places = np.where(above, np.uint64(rounding.steps << PLACES), np.uint64(0))
    between = ~(below | above)
    places[between] = inside(Interval(domain.low, domain.high), rounding, array[between])
    return places


def _sides(array: NDArray[Any], ends: Clamp | Integers | Interval) -> tuple[Mask, Mask]:
    """Which numbers lie below and which above a range."""
    low, high = Fraction(ends.low), Fraction(ends.high)
    if array.dtype.kind == "f":
        return array < first_float(low), array > -first_float(-high)
    # NumPy refuses to compare with ends beyond the type of the array, so they are clipped to it.
    kind = np.iinfo(array.dtype)
    first, last = -(-low // 1), high // 1
    below = np.ones(len(array), bool) if first > kind.max else array < max(first, kind.min)
    above = np.ones(len(array), bool) if last < kind.min else array > min(last, kind.max)
    return below, above
