"""Kernels of `Cap`: the scalar sampler's own functions, compiled.

Numba's cache of a kernel looks at the kernel's own file only: after a change in `core.channel.vector.cap_law` or
`sphere`, clear the caches (`*.nbi`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Cap
from sottovoce.core.channel.vector import cap_law
from sottovoce.core.channel.vector import sphere as sphere_node
from sottovoce.core.channel.vector.sphere import facts
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, sampler

_cap, _tail, _signed_share = (compiled(each) for each in (cap_law.cap, cap_law.tail, cap_law.signed_share))
_draw_levels = compiled(sphere_node.draw_levels)


@compiled
def _draw(codes, words, at, keep, sphere, size, norm, above, below, reach, out):
    """One row of bytes for each report, of the words of its row."""
    span = 3 + size + size % 2
    numbers = np.empty(span)
    dithers = np.empty(span)
    pole = np.empty(size)
    for i in range(codes.shape[0]):
        for j in range(span):
            word = words[i, at + j]
            numbers[j] = (np.float64(word >> np.uint64(12)) + 0.5) / 4503599627370496.0
            dithers[j] = (np.float64(word & np.uint64(4095)) + 0.5) / 4096.0
        for j in range(size):
            pole[j] = codes[i, j]
        inside = (words[i, at + 1] >> np.uint64(11)) < keep
        share = _signed_share(inside, numbers[2], above, below)
        along = math.cos(_cap(abs(share), size, norm, True)) if sphere else _tail(abs(share))
        _draw_levels(pole, math.copysign(along, share), numbers, dithers, sphere, reach, out[i, :size])
        out[i, size:] = 0


@compiled
def _add_levels(levels, size, cells):
    for i in range(levels.shape[0]):
        for j in range(size):
            level = np.int64(levels[i, j])
            cells[j] += level
            cells[size + j] += level * level


def as_bytes(reports: Reports) -> NDArray[np.uint8]:
    """Rows of 64-bit words as bytes, in the order of the coordinates, in the same memory."""
    return reports.view(np.uint8)


@sampler.register
def _(channel: Cap) -> Sample:
    known = facts(channel)
    law = (channel.law == "sphere", channel.size, known.norm, known.above, known.below, known.reach)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        # Words are read whole, here and in the scalar sampler: there are no proofs with short ones.
        _draw(np.ascontiguousarray(codes), draws.words, at, np.uint64(channel.keep), *law, as_bytes(out))

    return draw


@counter.register
def _(channel: Cap) -> Count:
    def count(reports: Reports, public: Any, cells: NDArray[np.int64]) -> None:
        _add_levels(as_bytes(np.ascontiguousarray(reports)), channel.size, cells)

    return count
