"""Kernels of `Window`."""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel import Window
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import divisor, last_start, remainder
from sottovoce.fast.kernels.base import Codes, Draws, Reports, Sample, sampler


@compiled
def _draw(codes, words, at, stride, inside, choices, bits, out, redo):
    """Draw without a branch on the coin; `choices` holds the divisors for outputs inside the window and beyond it."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    size = np.uint64(1) << np.uint64(bits)
    width = choices[0, 0]
    for i in range(codes.shape[0]):
        start = stride * np.uint64(codes[i])
        beyond = np.uint64((words[i, at] >> shift) << scale >= inside)
        drawn = words[i, at + 1] >> shift
        outcomes = choices[beyond, 0]
        index = remainder(drawn, outcomes, choices[beyond, 1], choices[beyond, 2])
        if drawn - index > size - outcomes:
            redo[i] = 1
        skipped = width if index >= start else np.uint64(0)
        out[i] = index + (skipped if beyond else start)


@sampler.register
def _(channel: Window) -> Sample:
    sizes = (channel.width, channel.outputs - channel.width)
    choices = np.array([divisor(size) for size in sizes], np.uint64)
    numbers = (np.uint64(channel.stride), np.uint64(channel.inside), choices)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(max(sizes), draws.bits)  # refuses a draw from more outcomes than a coin has
        _draw(codes, draws.words, at, *numbers, draws.bits, out, draws.redo)

    return draw
