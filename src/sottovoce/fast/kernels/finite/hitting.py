"""Kernels of `Hitting`. A code is a row of words with one bit for each item."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Hitting
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import last_start, lowest
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


@compiled
def _draw(codes, words, at, items, row, picked, bits, out, redo):
    """`out` has a row of mask words for each report; `row` is the cumulative law of the first hit."""
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    shift, scale = np.uint64(64 - bits), np.uint64(53 - bits)
    size = one << np.uint64(bits)
    most = row.shape[0] - 1
    elements = items + most
    barred = np.empty(most, np.uint64)
    for i in range(codes.shape[0]):
        held = 0
        for item in range(items):
            if codes[i, item >> 6] >> (np.uint64(item) & low) & one:
                barred[held] = item
                held += 1
        for filler in range(most - held):
            barred[held + filler] = items + filler
        fine = (words[i, at] >> shift) << scale
        first = 0
        while row[first] <= fine:
            first += 1
        last = min(first, most - 1)
        wanted = picked - (first < most)
        free = elements - 1 - last
        out[i] = 0
        if first < most:
            out[i, barred[last] >> six] |= one << (barred[last] & low)
        for turn in range(wanted):
            newest = np.uint64(free - wanted + turn)
            outcomes = newest + one
            drawn = words[i, at + 1 + turn] >> shift
            if drawn >= size - size % outcomes:
                redo[i] = 1
            place = drawn % outcomes
            for k in range(last + 1):
                place += np.uint64(place >= barred[k])
                newest += np.uint64(newest >= barred[k])
            taken = out[i, place >> six] >> (place & low) & one
            place = newest if taken else place
            out[i, place >> six] |= one << (place & low)


@compiled
def _places(masks, out):
    """The place of the only bit of each mask."""
    for i in range(masks.shape[0]):
        for lane in range(masks.shape[1]):
            if masks[i, lane]:
                out[i] = np.uint64(64 * lane) + lowest(masks[i, lane])


@sampler.register
def _(channel: Hitting) -> Sample:
    row = np.array(channel.row, np.uint64)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(channel.elements, draws.bits)  # refuses a draw from more outcomes than a coin has
        masks = out if channel.picked > 1 else np.empty((len(codes), -(-channel.elements // 64)), np.uint64)
        _draw(codes, draws.words, at, channel.items, row, channel.picked, draws.bits, masks, draws.redo)
        if channel.picked == 1:
            _places(masks, out)

    return draw


@counter.register
def _(channel: Hitting) -> Count:
    return of_reports(count_indices if channel.picked == 1 else add_masks)


@impossible_masks.register
def _(channel: Hitting, masks: Reports) -> NDArray[np.bool_]:
    return np.asarray(popcounts(masks) != channel.picked)
