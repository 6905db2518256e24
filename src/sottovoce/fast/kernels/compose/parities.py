"""Kernels of blocks of yes/no attributes: values of many pairs of block and code."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import ParityMap
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes
from sottovoce.fast.kernels.compose.public import valuer


@lru_cache(maxsize=8)
def blocks_of(attributes: int, size: int) -> NDArray[np.int64]:
    """The attributes of all blocks, one row each, in the order of their numbers."""
    places = chain.from_iterable(combinations(range(attributes), size))
    return np.fromiter(places, np.int64).reshape(-1, size)


@compiled
def _parities(blocks, seeds, codes, attributes, form, out):
    one = np.int64(1)
    for i in range(codes.shape[0]):
        code = np.int64(codes[i])
        first = (code >> (attributes - 1 - blocks[seeds[i], 0])) & one
        value = np.int64(0) if form == 1 else first
        for place in range(1, blocks.shape[1]):
            bit = (code >> (attributes - 1 - blocks[seeds[i], place])) & one
            if form == 2:
                value ^= bit
            elif form == 1:
                value = (value << one) | (bit ^ first)
            else:
                value = (value << one) | bit
        out[i] = value


@valuer.register
def _(chosen: ParityMap) -> Callable[[NDArray[np.int64], Codes], NDArray[np.uint32]]:
    blocks = blocks_of(chosen.attributes, chosen.size)
    form = ("cells", "even", "parity").index(chosen.form)

    def values(seeds: NDArray[np.int64], codes: Codes) -> NDArray[np.uint32]:
        out = np.empty(len(codes), np.uint32)
        _parities(blocks, seeds, codes, chosen.attributes, form, out)
        return out

    return values
