"""The place of a number in a list of weights is found as a plain search finds it."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import numpy as np

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.fast.kernels.pick import find, weights
from tests.each import for_each

LISTS = {
    "two": [UNIT // 3, UNIT - UNIT // 3],
    "tiny at the end": [UNIT - 3, 1, 1, 1],
    "tiny at the beginning": [1, 1, 1, UNIT - 3],
    "many": [UNIT // 4096] * 4096,
    "several in one part of the guide": [UNIT // 2, *[UNIT // (1 << 14)] * 16, UNIT // 2 - UNIT // (1 << 10)],
    "one holds all but one": [UNIT - 1, 1],
}


@for_each("name", LISTS)
def test_the_place_of_a_number_is_that_of_a_plain_search(name: str) -> None:
    listed = LISTS[name]
    sums = list(accumulate(listed))
    assert sums[-1] == UNIT
    cumulative, guide = weights(listed)
    for border in (0, *sums[:: max(1, len(sums) // 60)], *sums[-4:]):
        for number in (border - 1, border, border + 1):
            if 0 <= number < UNIT:
                assert find.py_func(np.uint64(number), cumulative, guide) == bisect_right(sums, number)
