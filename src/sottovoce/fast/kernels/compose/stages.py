"""Kernels of `Then` and `Chain`: the reports of the first are the codes of the second."""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel import Bits, Chain, Channel, Place, Rounding, Then
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, empty_reports, sampler


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
        between = _codes(channel.second, between)
        second(between, draws, at + channel.first.words, out)

    return draw


def _codes(second: Channel, reports: Reports) -> Codes:
    """Reports as codes of another channel: indices, or masks if there are more codes than an index holds."""
    masks = (isinstance(second, Bits) and second.encoding == "mask") or second.inputs > 1 << 32
    if reports.ndim == 2 and masks:
        return reports
    return (reports[:, 0] if reports.ndim == 2 else reports).astype(np.uint32, copy=False)


@counter.register(Chain)
def _(channel: Chain) -> Count:
    return counter(channel.second)
