"""Kernels of `Subset`."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.channel import Subset
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import divisor, last_start, remainder, remainder_by_float
from sottovoce.fast.kernels.base import (
    Codes,
    Count,
    Draws,
    Reports,
    Sample,
    counter,
    impossible_masks,
    of_reports,
    sampler,
)
from sottovoce.fast.kernels.masks import add_masks, count_indices, popcounts

_AT_ONCE = 128  # reports whose masks are drawn together: they stay in the cache
_NOWHERE = 128  # a place that sets no bit


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


@njit(nogil=True)
def _draw_places(words, at, keep, outcomes, reciprocals, last, bits, places, kept, redo):
    """The draws of Floyd's algorithm, one row of places a report, before repeats are replaced.

    Places number the categories other than the code. Where the code is kept there is one draw less: the draws then
    begin one word earlier and end with the same number of outcomes, and the first place means nothing. The inner loop
    has no branch, so that it becomes vector instructions.
    """
    shift, scale = np.uint64(64 - bits), np.uint64(53 - bits)
    for r in range(words.shape[0]):
        kept[r] = (words[r, at] >> shift) << scale < keep
        drawn_words = words[r, at + 1 - np.int64(kept[r]) :]
        rejected = False
        for t in range(outcomes.shape[0]):
            drawn = np.int64(drawn_words[t] >> shift)
            rejected |= drawn > last[t]
            places[r, t] = remainder_by_float(drawn, outcomes[t], reciprocals[t])
        redo[r] |= rejected


@compiled
def _draw_mask(codes, words, at, k, keep, outcomes, reciprocals, last, bits, out, redo):
    """Floyd's algorithm: draw t has k - w + t outcomes, and a place that is taken gives way to the next new one."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    w = outcomes.shape[0]
    places, kept = np.empty((1, w), np.int64), np.empty(1, np.bool_)
    for i in range(codes.shape[0]):
        report = slice(i, i + 1)
        _draw_places(words[report], at, keep, outcomes, reciprocals, last, bits, places, kept, redo[report])
        code = np.uint64(codes[i])
        out[i] = 0
        if kept[0]:
            out[i, code >> six] = one << (code & low)
        for t in range(np.int64(kept[0]), w):
            place, newest = np.uint64(places[0, t]), np.uint64(k - 1 - w + t)
            place += np.uint64(place >= code)
            newest += np.uint64(newest >= code)
            taken = out[i, place >> six] >> (place & low) & one
            place ^= (place ^ newest) & -taken  # without a branch, which processors cannot predict
            out[i, place >> six] |= one << (place & low)


@compiled
def _draw_short_mask(codes, words, at, k, keep, outcomes, reciprocals, last, bits, out, redo):
    """`_draw_mask` for at most 128 categories: each step is done for many reports at once, by vector instructions.

    The steps are functions of their own: compiled as one, they do not become vector instructions.
    """
    w = outcomes.shape[0]
    places, kept = np.zeros((_AT_ONCE, w), np.int64), np.empty(_AT_ONCE, np.bool_)
    places_by_step = np.empty((w, _AT_ONCE), np.int64)
    lower, upper = np.empty(_AT_ONCE, np.uint64), np.empty(_AT_ONCE, np.uint64)
    for start in range(0, codes.shape[0], _AT_ONCE):
        some = slice(start, min(start + _AT_ONCE, codes.shape[0]))
        _draw_places(words[some], at, keep, outcomes, reciprocals, last, bits, places, kept, redo[some])
        _transpose(places, places_by_step)
        # Without a branch. Of whole rows Numba would compile the error about their shapes too, which takes seconds.
        for r in range(_AT_ONCE):
            places_by_step[0, r] += (_NOWHERE - places_by_step[0, r]) * kept[r]
        _replace_repeats(places_by_step, k, lower, upper)
        _insert_codes(lower, upper, codes[some], kept, out[some])


@njit(nogil=True)
def _transpose(places, places_by_step):
    for t in range(places.shape[1]):
        for r in range(places.shape[0]):
            places_by_step[t, r] = places[r, t]


@njit(nogil=True)
def _replace_repeats(places_by_step, k, lower, upper):
    """Masks of two words of the places of many reports; a place that is taken gives way to the next new one."""
    zero, one, low, word = np.uint64(0), np.uint64(1), np.uint64(63), np.uint64(64)
    w = places_by_step.shape[0]
    lower[:], upper[:] = zero, zero
    for t in range(w):
        newest = np.uint64(k - 1 - w + t)
        newest_bit = one << (newest & low)
        newest_lower, newest_upper = (newest_bit, zero) if newest < word else (zero, newest_bit)
        drawn = places_by_step[t]
        for r in range(lower.shape[0]):
            place = np.uint64(drawn[r])
            bit = one << (place & low)
            bit_lower = bit if place < word else zero
            bit_upper = bit if place - word < word else zero
            taken = (lower[r] & bit_lower) | (upper[r] & bit_upper) != zero
            lower[r] |= newest_lower if taken else bit_lower
            upper[r] |= newest_upper if taken else bit_upper


@njit(nogil=True)
def _insert_codes(lower, upper, codes, kept, out):
    """The reports: masks of the categories other than the code, with a bit for the code inserted."""
    one, low, word = np.uint64(1), np.uint64(63), np.uint64(64)
    for r in range(codes.shape[0]):
        code = np.uint64(codes[r])
        bit, own = one << (code & low), np.uint64(kept[r]) << (code & low)
        is_upper = -np.uint64(code >= word)  # all bits set, or none: without a branch, which processors cannot predict
        moved_lower, moved_upper = lower[r] & -bit & ~is_upper, upper[r] & (-bit | ~is_upper)
        out[r, 0] = lower[r] + moved_lower | own & ~is_upper
        if out.shape[1] > 1:
            out[r, 1] = upper[r] + moved_upper | moved_lower >> low | own & is_upper


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
    outcomes = np.arange(channel.k - channel.w, channel.k)
    reciprocals = 1 / outcomes
    kernel = _draw_short_mask if channel.k <= 128 else _draw_mask

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(channel.k - 1, draws.bits)  # refuses a draw from more outcomes than a coin has
        last = (1 << draws.bits) - (1 << draws.bits) % outcomes - 1
        kernel(codes, draws.words, at, channel.k, keep, outcomes, reciprocals, last, draws.bits, out, draws.redo)

    return draw


@counter.register
def _(channel: Subset) -> Count:
    return of_reports(count_indices if channel.w == 1 else add_masks)


@impossible_masks.register
def _(channel: Subset, masks: Reports) -> NDArray[np.bool_]:
    return np.asarray(popcounts(masks) != channel.w)
