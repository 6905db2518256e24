"""Kernels of `Then` and `Chain`: the reports of the first are the codes of the second."""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel import Chain, Place, Rounding, Then
from sottovoce.fast.kernels import Codes, Count, Draws, Reports, Sample, counter, empty_reports, sampler


@sampler.register(Then)
@sampler.register(Chain)
def _(channel: Then | Chain) -> Sample:
    first, second = sampler(channel.first), sampler(channel.second)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        if isinstance(channel.first, (Place, Rounding)):
            between: Codes = np.empty(len(codes), np.uint32)
        else:
            between = empty_reports(channel.first, len(codes))
        first(codes, draws, at, between)
        if between.ndim == 1:
            between = between.astype(np.uint32, copy=False)  # the one type of codes
        second(between, draws, at + channel.first.words, out)

    return draw


@counter.register(Chain)
def _(channel: Chain) -> Count:
    return counter(channel.second)
