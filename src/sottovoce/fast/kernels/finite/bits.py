"""Kernels of `Bits`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import FINE, UNIT
from sottovoce.core.channel import Bits
from sottovoce.core.coins import LEVELS, flip_levels, flips_span
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import lowest
from sottovoce.fast.kernels.base import (
    Codes,
    Count,
    Draws,
    Reports,
    Sample,
    counter,
    impossible_masks,
    lanes,
    of_reports,
    sampler,
)
from sottovoce.fast.kernels.masks import add_masks, popcounts

Background = Callable[[Draws, int, Reports], None]  # what a position without a 1 reports


@compiled
def flip_lanes(words, at, span, k, num, levels, out, redo):
    """The bit-sliced `flips` of `sottovoce.core.coins` for all lanes of each report.

    Seen from the last bit on, a lane is below `num` so far if its bit is smaller, or if it is equal and the lane
    was below before; so no mask of decided lanes is needed. The loop always has eight turns, so that the compiler
    unrolls it; if `num` has fewer bits the last is compared again, which changes nothing.
    """
    one = np.uint64(1)
    zero = np.uint64(0)
    blocks = out.shape[1]
    present = ~zero >> np.uint64(64 * blocks - k)
    undecided = np.empty(blocks, np.uint64)
    rest = num & ((one << np.uint64(FINE - LEVELS)) - one)
    for i in range(out.shape[0]):
        for b in range(blocks):
            below = zero
            same = ~zero
            for turn in range(LEVELS):
                level = min(LEVELS - 1 - turn, levels - 1)
                bit = zero - (num >> np.uint64(FINE - 1 - level) & one)  # in all lanes
                smaller = ~words[i, at + level * blocks + b]
                below = (below | bit) & smaller | below & bit
                same &= smaller ^ bit
            out[i, b] = below
            undecided[b] = same
        out[i, blocks - 1] &= present
        undecided[blocks - 1] &= present
        if rest == zero:
            continue
        column = at + levels * blocks
        for b in range(blocks):
            left = undecided[b]
            while left != zero:
                lane = left & (~left + one)
                left ^= lane
                if column == at + span:
                    redo[i] = 1
                    break
                if words[i, column] >> np.uint64(64 - FINE + LEVELS) < rest:
                    out[i, b] |= lane
                column += 1


@compiled
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


@compiled
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
            result = out[i, b] & ~left
            while left != zero:
                place = lowest(left)
                left &= left - one
                result |= np.uint64((words[i, column] >> shift) << scale < nums[np.uint64(64 * b) + place]) << place
                column += 1
            out[i, b] = result


@compiled
def _flip_code(codes, words, at, nums, bits, out):
    """Flip the bits of encodings with at most one 1; a code beyond the positions sets none."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    one = np.uint64(1)
    for i in range(out.shape[0]):
        code = np.int64(codes[i])
        if code < nums.shape[0]:
            place = np.uint64(code & 63)
            set_bit = np.uint64((words[i, at] >> shift) << scale < nums[code]) << place
            out[i, code >> 6] = out[i, code >> 6] & ~(one << place) | set_bit


@compiled
def _flip_signed(codes, words, at, nums, bits, out):
    """Flip the bits of a place with a sign: the lowest bit of the code chooses the probability."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    one = np.uint64(1)
    for i in range(codes.shape[0]):
        code = np.int64(codes[i])
        place = np.uint64(code >> 1 & 63)
        set_bit = np.uint64((words[i, at] >> shift) << scale < nums[code & 1]) << place
        out[i, code >> 7] = out[i, code >> 7] & ~(one << place) | set_bit


def _block_masks(channel: Bits, codes: Codes) -> NDArray[np.uint64]:
    """The masks of codes whose digits are positions in blocks."""
    masks = np.zeros((len(codes), lanes(channel.k)), np.uint64)
    rows, left = np.arange(len(codes)), codes.astype(np.int64)
    for block in range(channel.ones):
        left, digit = np.divmod(left, channel.length)
        places = block * channel.length + digit
        masks[rows, places >> 6] |= np.uint64(1) << (places & 63).astype(np.uint64)
    return masks


def _numbers(value: int | tuple[int, ...], k: int) -> NDArray[np.uint64]:
    return np.array(value if isinstance(value, tuple) else [value] * k, np.uint64)


@sampler.register
def _(channel: Bits) -> Sample:
    own = _numbers(channel.p, channel.k)
    flip_own = {"mask": _flip_own, "blocks": _flip_own, "signed": _flip_signed}.get(channel.encoding, _flip_code)
    if channel.encoding == "signed" and isinstance(channel.p, int):
        own = np.array([channel.p, UNIT - channel.p], np.uint64)
    background = _each_sampler(channel.q) if isinstance(channel.q, tuple) else _lanes_sampler(channel.k, channel.q)
    span = channel.k if isinstance(channel.q, tuple) else flips_span(channel.k, channel.q)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        if channel.encoding == "mask" and codes.ndim == 1:  # a mask of few bits is an index to other channels
            codes = codes.astype(np.uint64).reshape(-1, 1)
        if channel.encoding == "blocks":
            codes = _block_masks(channel, codes)
        background(draws, at, out)
        flip_own(codes, draws.words, at + span, own, draws.bits, out)

    return draw


def _each_sampler(q: tuple[int, ...]) -> Background:
    nums = _numbers(q, len(q))

    def draw(draws: Draws, at: int, out: Reports) -> None:
        _flip_each(draws.words, at, nums, draws.bits, out)

    return draw


def _lanes_sampler(k: int, q: int) -> Background:
    num, levels, span = np.uint64(q), flip_levels(q), flips_span(k, q)

    def draw(draws: Draws, at: int, out: Reports) -> None:
        flip_lanes(draws.words, at, span, k, num, levels, out, draws.redo)

    return draw


@counter.register
def _(channel: Bits) -> Count:
    return of_reports(add_masks)


@impossible_masks.register
def _(channel: Bits, masks: Reports) -> NDArray[np.bool_] | None:
    if not channel.shown:
        return None
    lanes = [channel.shown >> 64 * lane & (1 << 64) - 1 for lane in range(masks.shape[1])]
    shown: NDArray[np.uint64] = np.bitwise_and(masks, np.array(lanes, np.uint64))
    return np.asarray(popcounts(shown) > 1)
