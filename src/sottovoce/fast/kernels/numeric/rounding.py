"""Kernels of `Rounding`. Codes are positions: numbers in units of 2**-32 steps of the grid."""

from __future__ import annotations

import numpy as np

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import Rounding
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes, Draws, Reports, Sample, sampler

_PLACES = np.uint64(PLACES)
_REST = np.uint64((1 << PLACES) - 1)
_TO_UNITS = np.uint64(FINE - PLACES)


@compiled
def _draw(positions, words, at, bits, out):
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    for i in range(positions.shape[0]):
        position = positions[i]
        fine = (words[i, at] >> shift) << scale
        out[i] = (position >> _PLACES) + np.uint64(fine < (position & _REST) << _TO_UNITS)


@sampler.register
def _(channel: Rounding) -> Sample:
    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        _draw(codes, draws.words, at, draws.bits, out)

    return draw
