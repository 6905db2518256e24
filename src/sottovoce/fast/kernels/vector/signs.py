"""Kernels of `Signs`. A code is a row of slots (`sottovoce.fast.slots`)."""

from __future__ import annotations

from math import comb

import numpy as np

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import Signs
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import divisor, last_start, remainder
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, of_reports, sampler
from sottovoce.fast.kernels.masks import add_masks
from sottovoce.fast.kernels.vector.place import EMPTY, POSITION, SHIFT

_TO_UNITS = np.uint64(FINE - PLACES)


@compiled
def _draw(codes, words, at, dimensions, least, inside, choices, subsets, bits, out, redo):
    """Fair signs, then the entries: `subsets[m, a]` is the number of subsets of a of m slots."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    one = np.uint64(1)
    zero = np.uint64(0)
    size = one << np.uint64(bits)
    most = codes.shape[1]
    blocks = out.shape[1]
    present = ~zero >> np.uint64(64 * blocks - dimensions)
    for i in range(codes.shape[0]):
        for b in range(blocks):
            out[i, b] = ~words[i, at + 2 + most + b]
        out[i, blocks - 1] &= present
        beyond = np.int64((words[i, at] >> shift) << scale >= inside)
        drawn = words[i, at + 1] >> shift
        index = remainder(drawn, choices[beyond, 0], choices[beyond, 1], choices[beyond, 2])
        if drawn - index > size - choices[beyond, 0]:
            redo[i] = 1
        agreeing = 0 if beyond else least
        while index >= subsets[most, agreeing]:
            index -= subsets[most, agreeing]
            agreeing += 1
        for back in range(most):
            slot = most - 1 - back
            agrees = index >= subsets[slot, agreeing]
            if agrees:
                index -= subsets[slot, agreeing]
                agreeing -= 1
            entry = codes[i, slot]
            if entry != EMPTY:
                place = entry >> SHIFT
                fine = (words[i, at + 2 + slot] >> shift) << scale
                plus = fine < (entry & POSITION) << _TO_UNITS
                lane = one << (place & np.uint64(63))
                block = np.int64(place >> np.uint64(6))
                if plus == agrees:
                    out[i, block] |= lane
                else:
                    out[i, block] &= ~lane


@sampler.register
def _(channel: Signs) -> Sample:
    slots = range(channel.most + 1)
    subsets = np.array([[comb(some, size) for size in slots] for some in slots], np.uint64)
    choices = np.array([divisor(number) for number in channel.patterns], np.uint64)
    numbers = (channel.dimensions, channel.least, np.uint64(channel.inside), choices, subsets)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(max(channel.patterns), draws.bits)  # refuses a draw from more outcomes than a coin has
        _draw(codes, draws.words, at, *numbers, draws.bits, out, draws.redo)

    return draw


@counter.register
def _(channel: Signs) -> Count:
    return of_reports(add_masks)
