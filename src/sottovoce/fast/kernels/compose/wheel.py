"""Kernels of `Wheel`. A code is a row of words with one bit for each item."""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.core.arithmetic.hashing import WORD
from sottovoce.core.channel.compose.wheel import Wheel
from sottovoce.core.errors import NoBatchError
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import last_start
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, sampler
from sottovoce.fast.kernels.compose.public import Public64
from sottovoce.fast.kernels.compose.spread import cell_of


@compiled
def _draw(codes, words, public, at, items, most, positions, arc, weight, bits, out, redo):
    one = np.uint64(1)
    shift, scale = np.uint64(64 - bits), np.uint64(53 - bits)
    size = one << np.uint64(bits)
    starts = np.empty(most + 1, np.int64)
    for i in range(codes.shape[0]):
        a, b = public[i, 0], public[i, 1]
        held = 0
        for lane in range(codes.shape[1]):
            left = codes[i, lane]
            item = 64 * lane
            while left:
                if left & one:
                    starts[held] = cell_of(a, b, item, np.uint64(positions))
                    held += 1
                left >>= one
                item += 1
        for filler in range(most - held):
            starts[held + filler] = cell_of(a, b, items + filler, np.uint64(positions))
        starts[:most].sort()
        starts[most] = starts[0] + positions
        inside = 0
        for k in range(most):
            inside += min(arc, starts[k + 1] - starts[k])
        hit = (words[i, at] >> shift) << scale < weight * np.uint64(inside)
        count = np.uint64(inside if hit else positions - inside)
        drawn = words[i, at + 1] >> shift
        if drawn >= size - size % count:
            redo[i] = 1
        index = np.int64(drawn % count)
        for k in range(most):
            own = min(arc, starts[k + 1] - starts[k])
            begin = starts[k] if hit else starts[k] + own
            length = own if hit else starts[k + 1] - starts[k] - own
            if 0 <= index < length:
                out[i] = (begin + index) % positions
            index -= length


@compiled
def _count(reports, public, positions, arc, totals):
    for i in range(reports.shape[0]):
        a, b, sent = public[i, 0], public[i, 1], np.int64(reports[i])
        for element in range(totals.shape[0]):
            distance = sent - np.int64(cell_of(a, b, element, np.uint64(positions)))
            totals[element] += (distance if distance >= 0 else distance + positions) < arc


def _public(channel: Wheel, public: Public64 | None) -> Public64:
    if channel.bits != WORD:
        raise NoBatchError("Arcs are placed in batches by words of 64 bits only.")
    if public is None:
        raise ValueError("Arcs are placed by the public words of a report.")
    return public


@sampler.register
def _(channel: Wheel) -> Sample:
    shape: Any = (channel.items, channel.most, channel.positions, channel.arc, np.uint64(channel.weight))

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(channel.positions, draws.bits)  # refuses a draw from more outcomes than a coin has
        _draw(codes, draws.words, _public(channel, draws.public), at, *shape, draws.bits, out, draws.redo)

    return draw


@counter.register
def _(channel: Wheel) -> Count:
    return lambda reports, public, cells: _count(
        reports, _public(channel, public), channel.positions, channel.arc, cells
    )
