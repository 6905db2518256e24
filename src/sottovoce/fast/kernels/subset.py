"""Kernels of `Subset`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.channel import Subset
from sottovoce.fast.kernels import Draws, Reports, counter, lanes, sampler
from sottovoce.fast.kernels.masks import add_masks, count_indices


@njit(nogil=True, cache=True)
def _draw_index(codes, words, at, k, keep, bits, out, redo):
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    others = np.uint64(k - 1)
    size = np.uint64(1) << np.uint64(bits)
    limit = size - size % others
    kept = np.uint64(keep)
    for i in range(codes.shape[0]):
        code = np.uint64(codes[i])
        if (words[i, at] >> shift) << scale < kept:
            out[i] = code
        else:
            drawn = words[i, at + 1] >> shift
            if drawn >= limit:
                redo[i] = 1
            other = drawn % others
            if other >= code:
                other += np.uint64(1)
            out[i] = other


@njit(nogil=True, cache=True)
def _draw_mask(codes, words, at, k, w, keep, bits, out, redo):
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    size = np.uint64(1) << np.uint64(bits)
    one = np.uint64(1)
    kept = np.uint64(keep)
    for i in range(codes.shape[0]):
        code = np.int64(codes[i])
        for lane in range(out.shape[1]):
            out[i, lane] = 0
        wanted = w
        if (words[i, at] >> shift) << scale < kept:
            out[i, code >> 6] |= one << np.uint64(code & 63)
            wanted = w - 1
        column = at + 1
        for bound in range(k - 1 - wanted, k - 1):
            outcomes = np.uint64(bound + 1)
            drawn = words[i, column] >> shift
            column += 1
            if drawn >= size - size % outcomes:
                redo[i] = 1
            place = np.int64(drawn % outcomes)
            if place >= code:
                place += 1
            bit = one << np.uint64(place & 63)
            if out[i, place >> 6] & bit:
                place = bound
                if place >= code:
                    place += 1
                bit = one << np.uint64(place & 63)
            out[i, place >> 6] |= bit


@sampler.register
def _(channel: Subset) -> Callable[[NDArray[Any], Draws, int], Reports]:
    def draw(codes: NDArray[Any], draws: Draws, at: int) -> Reports:
        if channel.w == 1:
            out = np.empty(len(codes), np.uint32)
            _draw_index(codes, draws.words, at, channel.k, channel.keep, draws.bits, out, draws.redo)
            return out
        mask = np.empty((len(codes), lanes(channel.k)), np.uint64)
        _draw_mask(codes, draws.words, at, channel.k, channel.w, channel.keep, draws.bits, mask, draws.redo)
        return mask

    return draw


@counter.register
def _(channel: Subset) -> Callable[[Reports, NDArray[np.uint64] | None, NDArray[np.int64]], None]:
    def count(reports: Reports, public: NDArray[np.uint64] | None, cells: NDArray[np.int64]) -> None:
        if channel.w == 1:
            count_indices(reports, cells)
        else:
            add_masks(reports, cells)

    return count
