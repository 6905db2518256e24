"""Kernels of `DrawnItem`. A code is a row of words with one bit for each item."""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel.compose.drawn_item import DrawnItem
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import last_start
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, sampler


@compiled
def _draw(codes, words, at, items, slots, bits, out, redo):
    """The element that each person draws: the place of the drawn one of the set bits, or a filler."""
    one = np.uint64(1)
    shift = np.uint64(64 - bits)
    size = one << np.uint64(bits)
    for i in range(codes.shape[0]):
        held = 0
        for lane in range(codes.shape[1]):
            left = codes[i, lane]
            while left:
                left &= left - one
                held += 1
        count = np.uint64(max(slots, held))
        drawn = words[i, at] >> shift
        if drawn >= size - size % count:
            redo[i] = 1
        place = np.int64(drawn % count)
        if place >= held:
            out[i] = items + place - held
            continue
        seen = 0
        for lane in range(codes.shape[1]):
            left = codes[i, lane]
            item = 64 * lane
            while left and seen <= place:
                if left & one:
                    if seen == place:
                        out[i] = item
                    seen += 1
                left >>= one
                item += 1


@sampler.register
def _(channel: DrawnItem) -> Sample:
    inner = sampler(channel.inner)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(channel.most, draws.bits)  # refuses a draw from more outcomes than a coin has
        elements = np.empty(len(codes), np.uint32)
        _draw(codes, draws.words, at, channel.items, channel.padded, draws.bits, elements, draws.redo)
        inner(elements, draws, at + 1, out)

    return draw


@counter.register
def _(channel: DrawnItem) -> Count:
    return counter(channel.inner)
