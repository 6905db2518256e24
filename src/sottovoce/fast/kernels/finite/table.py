"""Kernels of `Table`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Table
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes, Draws, Reports, Sample, possible_outputs, sampler


@compiled
def _draw(codes, words, at, cumulative, bits, out):
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    for i in range(codes.shape[0]):
        fine = (words[i, at] >> shift) << scale
        low = 0
        high = cumulative.shape[1]
        code = codes[i]
        while low < high:
            middle = (low + high) // 2
            if fine < cumulative[code, middle]:
                high = middle
            else:
                low = middle + 1
        out[i] = low


@sampler.register
def _(channel: Table) -> Sample:
    cumulative = np.array([channel.cumulative(code) for code in channel.codes()], np.uint64)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        _draw(codes, draws.words, at, cumulative, draws.bits, out)

    return draw


@possible_outputs.register
def _(channel: Table) -> NDArray[np.bool_] | None:
    possible = np.any(np.array(channel.rows, np.uint64), axis=0)
    return None if possible.all() else possible
