"""Kernels of `Bits`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.channel import Bits
from sottovoce.core.coins import flip_levels, flips_span
from sottovoce.fast.kernels import Draws, Reports, counter, lanes, sampler
from sottovoce.fast.kernels.masks import add_masks

_ONE = np.uint64(1)


@njit(nogil=True, cache=True)
def _flip_lanes(words, at, span, k, num, levels, out, redo):
    """The bit-sliced `flips` of `sottovoce.core.coins` for all lanes of each report."""
    one = np.uint64(1)
    zero = np.uint64(0)
    blocks = out.shape[1]
    last = ~zero if k % 64 == 0 else (one << np.uint64(k % 64)) - one
    undecided = np.empty(blocks, np.uint64)
    rest = np.uint64(num) & ((one << np.uint64(45)) - one)
    for i in range(out.shape[0]):
        for b in range(blocks):
            out[i, b] = zero
            undecided[b] = ~zero
        undecided[blocks - 1] = last
        column = at
        for level in range(levels):
            if (num >> (52 - level)) & 1:
                for b in range(blocks):
                    drawn = words[i, column + b]
                    out[i, b] |= undecided[b] & ~drawn
                    undecided[b] &= drawn
            else:
                for b in range(blocks):
                    undecided[b] &= ~words[i, column + b]
            column += blocks
        if levels == 8 and rest != zero:
            for b in range(blocks):
                left = undecided[b]
                while left != zero:
                    lane = left & (~left + one)
                    left ^= lane
                    if column == at + span:
                        redo[i] = 1
                        break
                    if words[i, column] >> np.uint64(19) < rest:
                        out[i, b] |= lane
                    column += 1


@njit(nogil=True, cache=True)
def _flip_each(words, at, nums, bits, out):
    """One word per position, each with its own probability."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    one = np.uint64(1)
    for i in range(out.shape[0]):
        for b in range(out.shape[1]):
            out[i, b] = 0
        for j in range(nums.shape[0]):
            if (words[i, at + j] >> shift) << scale < nums[j]:
                out[i, j >> 6] |= one << np.uint64(j & 63)


@njit(nogil=True, cache=True)
def _flip_own(masks, words, at, nums, bits, out):
    """Draw the positions that hold a 1 again, in rising order, each from its own word."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    one = np.uint64(1)
    zero = np.uint64(0)
    for i in range(out.shape[0]):
        column = at
        for b in range(out.shape[1]):
            left = masks[i, b]
            out[i, b] &= ~left
            place = 64 * b
            while left != zero:
                if left & one:
                    if (words[i, column] >> shift) << scale < nums[place]:
                        out[i, b] |= one << np.uint64(place & 63)
                    column += 1
                left >>= one
                place += 1


@njit(nogil=True, cache=True)
def _flip_code(codes, words, at, nums, bits, out):
    """The same for encodings of at most one 1; a code beyond the positions sets none."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    one = np.uint64(1)
    for i in range(out.shape[0]):
        code = np.int64(codes[i])
        if code < nums.shape[0]:
            bit = one << np.uint64(code & 63)
            if (words[i, at] >> shift) << scale < nums[code]:
                out[i, code >> 6] |= bit
            else:
                out[i, code >> 6] &= ~bit


def _numbers(value: int | tuple[int, ...], k: int) -> NDArray[np.uint64]:
    return np.array(value if isinstance(value, tuple) else [value] * k, np.uint64)


@sampler.register
def _(channel: Bits) -> Callable[[NDArray[Any], Draws, int], Reports]:
    own = _numbers(channel.p, channel.k)

    def draw(codes: NDArray[Any], draws: Draws, at: int) -> Reports:
        out = np.empty((len(codes), lanes(channel.k)), np.uint64)
        if isinstance(channel.q, tuple):
            span = channel.k
            _flip_each(draws.words, at, _numbers(channel.q, channel.k), draws.bits, out)
        else:
            span = flips_span(channel.k, channel.q)
            _flip_lanes(draws.words, at, span, channel.k, channel.q, flip_levels(channel.q), out, draws.redo)
        if channel.encoding == "mask":
            _flip_own(codes, draws.words, at + span, own, draws.bits, out)
        else:
            _flip_code(codes, draws.words, at + span, own, draws.bits, out)
        return out

    return draw


@counter.register
def _(channel: Bits) -> Callable[[Reports, NDArray[np.uint64] | None, NDArray[np.int64]], None]:
    def count(reports: Reports, public: NDArray[np.uint64] | None, cells: NDArray[np.int64]) -> None:
        add_masks(reports, cells)

    return count
