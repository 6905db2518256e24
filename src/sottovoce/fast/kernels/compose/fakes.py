"""Kernels of `Fakes`: every channel and every fake is drawn for everyone, and the choice takes one of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Fakes
from sottovoce.fast.kernels.base import Codes, Draws, Reports, Sample, empty_reports, sampler
from sottovoce.fast.kernels.compose.each import pack


def _below(draws: Draws, at: int, outcomes: int) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Uniform numbers from one column of words, and where `below` would draw again."""
    size = 1 << draws.bits
    drawn = draws.words[:, at] >> np.uint64(64 - draws.bits)
    return drawn % np.uint64(outcomes), drawn >= np.uint64(size - size % outcomes)


@sampler.register
def _(channel: Fakes) -> Sample:
    samplers = [sampler(part) for part in channel.channels]

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        out[:] = 0
        chosen, again = _below(draws, at, len(channel.channels))
        column = at + 1
        for number, (part, shift) in enumerate(zip(channel.channels, channel.shifts(), strict=False)):
            own = np.ascontiguousarray(codes[:, number], np.uint32)
            reports = empty_reports(part, len(codes))
            inner = Draws(draws.words, None, np.zeros(len(codes), np.uint8), draws.bits)
            samplers[number](own, inner, column, reports)
            fakes, refused = _below(draws, column + part.words, part.inputs)
            mine = chosen == number
            pack(np.where(mine, reports.astype(np.uint64), fakes).reshape(-1, 1), shift, out)
            again |= np.where(mine, inner.redo.astype(bool), refused)
            column += part.words + 1
        draws.redo[:] |= again.astype(np.uint8)

    return draw
