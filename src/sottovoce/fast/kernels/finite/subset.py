"""Kernels of `Subset`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Subset
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import divisor, last_start, remainder
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, impossible_masks, sampler
from sottovoce.fast.kernels.masks import add_masks, count_indices, popcounts


@compiled
def _draw_index(codes, words, at, keep, n, magic, extra, last, bits, out, redo):
    """Draw indices without a branch on the coin, which processors cannot predict."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    for i in range(codes.shape[0]):
        code = np.uint64(codes[i])
        kept = (words[i, at] >> shift) << scale < keep
        drawn = words[i, at + 1] >> shift
        other = remainder(drawn, n, magic, extra)
        rejected = drawn - other > last
        other += np.uint64(other >= code)
        out[i] = code if kept else other
        if rejected and not kept:
            redo[i] = 1


@compiled
def _draw_mask(codes, words, at, k, keep, numbers, bits, out, redo):
    """Floyd's algorithm; row t of the numbers is the divisor of the draw from k - w + t outcomes.

    All places are drawn first, because a loop that also sets bits would wait for memory at each step.
    """
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    size = np.uint64(1) << np.uint64(bits)
    one = np.uint64(1)
    six = np.uint64(6)
    low = np.uint64(63)
    w = numbers.shape[0]
    places = np.empty(w, np.uint32)
    for i in range(codes.shape[0]):
        code = np.uint64(codes[i])
        for lane in range(out.shape[1]):
            out[i, lane] = 0
        first = 0
        if (words[i, at] >> shift) << scale < keep:
            out[i, code >> six] = one << (code & low)
            first = 1  # one draw less, and the draws end with the same number of outcomes
        rejected = False
        for t in range(first, w):
            drawn = words[i, at + 1 - first + t] >> shift
            outcomes = numbers[t, 0]
            place = remainder(drawn, outcomes, numbers[t, 1], numbers[t, 2])
            rejected |= drawn - place > size - outcomes
            places[t] = place + np.uint64(place >= code)
        for t in range(first, w):
            place = np.uint64(places[t])
            if out[i, place >> six] & one << (place & low):
                place = np.uint64(k - 1 - w + t)
                place += np.uint64(place >= code)
                out[i, place >> six] |= one << (place & low)
            else:
                out[i, place >> six] |= one << (place & low)
        if rejected:
            redo[i] = 1


@sampler.register
def _(channel: Subset) -> Sample:
    return _index_sampler(channel) if channel.w == 1 else _mask_sampler(channel)


def _index_sampler(channel: Subset) -> Sample:
    keep, others = np.uint64(channel.keep), divisor(channel.k - 1)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last = last_start(channel.k - 1, draws.bits)
        _draw_index(codes, draws.words, at, keep, *others, last, draws.bits, out, draws.redo)

    return draw


def _mask_sampler(channel: Subset) -> Sample:
    keep = np.uint64(channel.keep)
    numbers = np.array([divisor(n) for n in range(channel.k - channel.w, channel.k)], np.uint64)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(channel.k - 1, draws.bits)  # refuses a draw from more outcomes than a coin has
        _draw_mask(codes, draws.words, at, channel.k, keep, numbers, draws.bits, out, draws.redo)

    return draw


@counter.register
def _(channel: Subset) -> Count:
    def count(reports: Reports, public: NDArray[np.uint64] | None, cells: NDArray[np.int64]) -> None:
        if channel.w == 1:
            count_indices(reports, cells)
        else:
            add_masks(reports, cells)

    return count


@impossible_masks.register
def _(channel: Subset, masks: Reports) -> NDArray[np.bool_]:
    return np.asarray(popcounts(masks) != channel.w)
