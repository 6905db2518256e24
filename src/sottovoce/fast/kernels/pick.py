"""`coins.pick` for kernels: an index by its cumulative weights, found through a table of where to begin.

Numba's cache of a kernel looks at the kernel's own file only: after a change here, clear the caches (`*.nbi`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import FINE

_GUIDE_BITS = 10
_DROPPED = FINE - _GUIDE_BITS


class Weights(NamedTuple):
    """A list of weights that sum to UNIT, in the form that `find` reads.

    A number whose leading bits are t has its index in [guide[t], guide[t + 1]]: few of the 1024 intervals hold more
    than one border, so that few unpredictable comparisons are left.
    """

    cumulative: NDArray[np.uint64]
    guide: NDArray[np.uint32]


def weights(listed: Sequence[int]) -> Weights:
    """The weights in the form that `find` reads."""
    sums = list(accumulate(listed))
    begins = [bisect_right(sums, t << _DROPPED) for t in range(1 << _GUIDE_BITS)]
    return Weights(np.array(sums, np.uint64), np.array([*begins, len(sums) - 1], np.uint32))


@njit(nogil=True, inline="always")
def find(fine, cumulative, guide):
    """How many cumulative weights a number below UNIT has reached."""
    interval = fine >> np.uint64(_DROPPED)
    low = np.int64(guide[interval])
    high = np.int64(guide[interval + np.uint64(1)])
    while low < high:
        middle = (low + high) >> 1
        if fine < cumulative[middle]:
            high = middle
        else:
            low = middle + 1
    return low
