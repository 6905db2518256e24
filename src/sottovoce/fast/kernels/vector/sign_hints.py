"""Kernels of `Hints`. A code is a row of slots (`sottovoce.fast.slots`)."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import FINE, UNIT
from sottovoce.core.channel import Hints
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.vector.sign_hints import TRIES
from sottovoce.core.coins import flip_levels, flips_span
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import divisor, last_start, remainder
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, impossible_masks, lanes, sampler
from sottovoce.fast.kernels.finite.bits import flip_lanes
from sottovoce.fast.kernels.masks import add_masks
from sottovoce.fast.kernels.vector.place import EMPTY, POSITION, SHIFT

_TO_UNITS = np.uint64(FINE - PLACES)


@compiled
def _draw(codes, words, at, signs_at, speak, cumulative, turns, bits, speaking, out, redo):
    """Random signs everywhere, then the entries; `speaking` marks the places with a random sign."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    one = np.uint64(1)
    size = one << np.uint64(bits)
    most = codes.shape[1]
    blocks = speaking.shape[1]
    for i in range(codes.shape[0]):
        for b in range(blocks):
            signs = ~words[i, signs_at + b]
            out[i, b] = speaking[i, b] & signs
            out[i, blocks + b] = speaking[i, b] & ~signs
        drawn = words[i, at] >> shift
        turn = remainder(drawn, turns[0], turns[1], turns[2])
        if drawn - turn > size - turns[0]:
            redo[i] = 1
        fine = (words[i, at + 1] >> shift) << scale
        first = 0
        while fine >= cumulative[first]:
            first += 1
        for number in range(most):
            entry = codes[i, number]
            if entry == EMPTY:
                break
            slot = (number + np.int64(turn)) % most
            column = at + 2 + TRIES * slot
            fine = (words[i, column] >> shift) << scale
            agrees = fine < speak
            if slot == first:
                agrees = True
            elif slot < first:
                tried = 1
                while agrees and tried < TRIES:
                    fine = (words[i, column + tried] >> shift) << scale
                    agrees = fine < speak
                    tried += 1
                if agrees:
                    redo[i] = 1
            spoken = agrees or fine < speak + speak
            place = entry >> SHIFT
            lane = one << (place & np.uint64(63))
            block = np.int64(place >> np.uint64(6))
            out[i, block] &= ~lane
            out[i, blocks + block] &= ~lane
            if spoken:
                fine = (words[i, at + 2 + TRIES * most + number] >> shift) << scale
                plus = fine < (entry & POSITION) << _TO_UNITS
                if plus == agrees:
                    out[i, block] |= lane
                else:
                    out[i, blocks + block] |= lane


@sampler.register
def _(channel: Hints) -> Sample:
    turns = np.array(divisor(channel.most), np.uint64)
    cumulative = np.array([*accumulate(channel.firsts), UNIT], np.uint64)
    size, spoken, blocks = channel.dimensions, 2 * channel.speak, lanes(channel.dimensions)
    span = flips_span(size, spoken)
    offset = channel.words - span - flips_span(size, UNIT // 2)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(channel.most, draws.bits)  # refuses a draw from more outcomes than a coin has
        speaking = np.empty((len(codes), blocks), np.uint64)
        start = at + offset
        levels = flip_levels(spoken)
        flip_lanes(draws.words, start, span, size, np.uint64(spoken), levels, speaking, draws.redo)
        numbers = (np.uint64(channel.speak), cumulative, turns)
        _draw(codes, draws.words, at, start + span, *numbers, draws.bits, speaking, out, draws.redo)

    return draw


@impossible_masks.register
def _(channel: Hints, masks: Reports) -> NDArray[np.bool_]:
    """Which payloads have a sign beyond the last place, or both signs of one place."""
    blocks = lanes(channel.dimensions)
    plus, minus = masks[:, :blocks], masks[:, blocks:]
    spare = np.uint64(64 * blocks - channel.dimensions)
    beyond = ~(~np.uint64(0) >> spare)
    return np.asarray((plus & minus).any(axis=1) | ((plus | minus)[:, -1] & beyond != 0))


@counter.register
def _(channel: Hints) -> Count:
    size, blocks = channel.dimensions, lanes(channel.dimensions)

    def count(reports: Reports, public: NDArray[np.uint64] | None, cells: NDArray[np.int64]) -> None:
        for half in range(2):
            masks = np.ascontiguousarray(reports[:, half * blocks : (half + 1) * blocks])
            add_masks(masks, cells[half * size : (half + 1) * size])

    return count
