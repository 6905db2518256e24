"""Kernels of `Window`."""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel import Window
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Sample, sampler
from sottovoce.fast.kernels.two_sets import draw_index, two_set_sampler


@compiled
def _draw(codes, words, at, inside, choices, bits, stride, out, redo):
    width = choices[0, 0]
    for i in range(codes.shape[0]):
        start = stride * np.uint64(codes[i])
        beyond, index, rejected = draw_index(words, i, at, inside, choices, bits)
        redo[i] |= rejected
        skipped = width if index >= start else np.uint64(0)
        out[i] = index + (skipped if beyond else start)


@sampler.register
def _(channel: Window) -> Sample:
    return two_set_sampler(_draw, channel.width, channel.outputs, channel.inside, np.uint64(channel.stride))
