"""Numbers as sums of two floats, and positions that even these leave in doubt.

Numba's cache of a kernel looks at the kernel's own file only: after a change here, clear the caches (`*.nbi`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.domain.base import Domain
from sottovoce.fast.encode import refuse
from sottovoce.fast.threads import run

Positions = NDArray[np.uint64]

HALF_ULP = 2.0**-53
WHOLE = 2.0**53  # whole floats up to here are printed as they are
_CHUNK = 1 << 17
_SPLIT = float((1 << 27) + 1)


def two(number: Fraction) -> tuple[float, float]:
    """The nearest float, and the float nearest to the remainder."""
    near = float(number)
    return near, float(number - Fraction(near))


@njit(nogil=True, inline="always")
def halves(a):
    """A float as a sum of two with 26 bits each (Veltkamp)."""
    wide = _SPLIT * a
    high = wide - (wide - a)
    return high, a - high


@njit(nogil=True, inline="always")
def product(a, b):
    """A product and its rounding error (Dekker)."""
    rounded = a * b
    a_high, a_low = halves(a)
    b_high, b_low = halves(b)
    return rounded, ((a_high * b_high - rounded) + a_high * b_low + a_low * b_high) + a_low * b_low


@njit(nogil=True, inline="always")
def difference(a, b):
    """A difference and its rounding error (Knuth)."""
    rounded = a - b
    back = rounded - a
    return rounded, (a - (rounded - back)) - (b + back)


def located(
    domain: Domain,
    array: NDArray[Any],
    ends: tuple[float, float],
    kernel: Callable[[Any, Any, Any], tuple[int, int]],
    exactly: Callable[[NDArray[np.float64]], Positions],
    threads: int | None,
) -> Positions:
    """Positions by a kernel that fills them and marks the doubtful ones, which are then computed exactly.

    The kernel returns how many values lie outside and how many are doubtful; if any lies outside, none is encoded.
    """
    places, doubtful = np.empty(len(array), np.uint64), np.empty(len(array), np.bool_)

    def work(start: int, stop: int) -> tuple[int, int]:
        values = np.ascontiguousarray(array[start:stop], np.float64)
        return kernel(values, places[start:stop], doubtful[start:stop])

    counts = run(work, len(array), _CHUNK, threads)
    if sum(outside for outside, _ in counts):
        wide = array.astype(np.float64)  # the ends would be rounded to a shorter type
        refuse(domain, array, ~((wide >= ends[0]) & (wide <= ends[1])))
    if sum(doubts for _, doubts in counts):
        places[doubtful] = exactly(array[doubtful].astype(np.float64))
    return places
