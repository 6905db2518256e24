"""Many numbers to bins, exactly as `Bins` encodes each of them.

A float stands for the shortest decimal that prints it, and these decimals rise with the floats. So each edge has a
first float whose decimal is not below it, and a float lies in as many bins' starts as such floats are not above it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Bins
from sottovoce.fast.digits import first_float

_WHOLE = 1 << 53  # integers up to here are floats


def reads_bins(domain: Bins, values: NDArray[Any]) -> bool:
    """Whether these are numbers whose bins are found at once; longer floats are not Python floats."""
    if values.dtype.kind == "f":
        return values.dtype.itemsize <= 8
    return values.dtype.kind in "iu" and (not len(values) or max(-int(values.min()), int(values.max())) <= _WHOLE)


def bins(domain: Bins, values: NDArray[Any]) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    """The bin of each number, and which of them lie outside the domain."""
    wide, of = values.astype(np.float64), domain.of
    first, last = first_float(Fraction(of.low)), -first_float(-Fraction(of.high))
    outside = ~((wide >= first) & (wide <= last))  # also NaN
    if of.whole is not None:
        outside |= np.floor(wide) != wide
    starts = np.array([first_float(Fraction(edge)) for edge in domain.edges])
    codes = np.searchsorted(starts, wide, side="right").astype(np.uint32)
    if of.circular and Fraction(repr(last)) == Fraction(of.high):
        codes[wide == last] = 0  # the end of a circle is its start
    return codes, outside
