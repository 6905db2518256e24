"""Kernels of `Sparing`."""

from __future__ import annotations

import numpy as np

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Sparing
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import last_start
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, of_reports, sampler
from sottovoce.fast.kernels.masks import count_indices


@compiled
def _draw(codes, words, at, sensitive, places, keeps, bits, out, redo):
    """`places` has each code's place among the sensitive ones, or their number; `keeps` the two ways to be kept."""
    shift, scale = np.uint64(64 - bits), np.uint64(53 - bits)
    size = np.uint64(1) << np.uint64(bits)
    for i in range(codes.shape[0]):
        place = places[codes[i]]
        own = place < sensitive.shape[0]
        kept = (words[i, at] >> shift) << scale < keeps[np.int64(own)]
        outcomes = np.uint64(max(sensitive.shape[0] - np.int64(own), 1))
        drawn = words[i, at + 1] >> shift
        index = np.int64(drawn % outcomes)
        if not kept and drawn - np.uint64(index) > size - outcomes:
            redo[i] = 1
        index = min(index + np.int64(own and index >= place), sensitive.shape[0] - 1)
        out[i] = codes[i] if kept else sensitive[index]


@sampler.register
def _(channel: Sparing) -> Sample:
    sensitive = np.array(channel.sensitive, np.int64)
    places = np.full(channel.k, len(sensitive), np.int64)
    places[sensitive] = np.arange(len(sensitive))
    keeps = np.array([UNIT - (len(sensitive) - own) * channel.other for own in (0, 1)], np.uint64)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(len(sensitive), draws.bits)  # refuses a draw from more outcomes than a coin has
        _draw(codes, draws.words, at, sensitive, places, keeps, draws.bits, out, draws.redo)

    return draw


@counter.register
def _(channel: Sparing) -> Count:
    return of_reports(count_indices)
