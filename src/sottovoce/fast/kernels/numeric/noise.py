"""Kernels of `Noise`."""

from __future__ import annotations

import numpy as np

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Noise
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes, Draws, Reports, Sample, sampler
from sottovoce.fast.kernels.pick import find, weights

_HALF = np.uint64(UNIT // 2)


@compiled
def _draw(codes, words, at, steps, limit, bands, band_guide, first, first_guide, cycle, cycle_guide, bits, out):
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    centre = first.shape[0]
    for i in range(codes.shape[0]):
        band = find((words[i, at] >> shift) << scale, bands, band_guide)
        fine = (words[i, at + 1] >> shift) << scale
        if band:
            magnitude = centre + (band - 1) * steps + find(fine, cycle, cycle_guide)
        else:
            magnitude = find(fine, first, first_guide)
        up = (words[i, at + 2] >> shift) << scale < _HALF
        # The output of the code itself lies limit + 1 above the lower border, and upward noise begins there.
        here = np.int64(codes[i]) + limit + 1
        out[i] = min(here + magnitude, steps + 2 * limit + 1) if up else max(here - 1 - magnitude, 0)


@sampler.register
def _(channel: Noise) -> Sample:
    lists = (*weights(channel.bands), *weights(channel.first), *weights(channel.cycle))

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        _draw(codes, draws.words, at, channel.steps, channel.limit, *lists, draws.bits, out)

    return draw
