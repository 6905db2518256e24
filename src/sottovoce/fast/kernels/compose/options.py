"""Kernels of `AskedOptions`. A code is a row of words with one bit for each item."""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel.compose.options import AskedOptions
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, sampler
from sottovoce.fast.kernels.compose.public import Public64, asked_numbers


@compiled
def _patterns(codes, firsts, items, asked, out):
    one = np.uint64(1)
    for i in range(codes.shape[0]):
        pattern = np.uint64(0)
        for place in range(asked):
            item = (firsts[i] + place) % items
            pattern |= (codes[i, item >> 6] >> np.uint64(item & 63) & one) << np.uint64(place)
        out[i] = pattern


@compiled
def _add_patterns(reports, firsts, items, asked, cells):
    for i in range(reports.shape[0]):
        for place in range(asked):
            cells[(firsts[i] + place) % items] += np.int64(reports[i]) >> place & 1


@sampler.register
def _(channel: AskedOptions) -> Sample:
    inner = sampler(channel.inner)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        patterns = np.empty(len(codes), np.uint32)
        _patterns(
            codes, asked_numbers(channel.window.choice, draws.public), channel.items, channel.window.asked, patterns
        )
        inner(patterns, draws, at, out)

    return draw


@counter.register
def _(channel: AskedOptions) -> Count:
    def count(reports: Reports, public: Public64 | None, cells: Codes) -> None:
        _add_patterns(reports, asked_numbers(channel.window.choice, public), channel.items, channel.window.asked, cells)

    return count
