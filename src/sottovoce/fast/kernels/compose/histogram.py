"""Kernels of `Histogram`: those of channels side by side, with a one in the bin of the code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Each, Histogram
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, impossible_masks, sampler
from sottovoce.fast.kernels.compose.each import unpacked


def bins(channel: Histogram) -> Each:
    """The channels of all bins."""
    return Each((channel.part,) * channel.k)


@sampler.register
def _(channel: Histogram) -> Sample:
    inner, last = sampler(bins(channel)), np.uint32(channel.part.inputs - 1)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        ones = np.zeros((len(codes), channel.k), np.uint32)
        ones[np.arange(len(codes)), codes] = last
        inner(ones, draws, at, out)

    return draw


@counter.register
def _(channel: Histogram) -> Count:
    side_by_side = bins(channel)

    def count(reports: Reports, public: NDArray[np.uint64] | None, cells: NDArray[np.int64]) -> None:
        for place, (_, values) in enumerate(unpacked(side_by_side, reports)):
            cells[place] += int(values.sum())

    return count


@impossible_masks.register
def _(channel: Histogram, masks: Reports) -> NDArray[np.bool_] | None:
    return impossible_masks(bins(channel), masks)
