"""Kernels of `HalfSpace`. Codes are rows of positions: numbers in units of 2**-32 of their range."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import HalfSpace
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.vector.half_space import TRIES
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import ones
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, lanes, sampler
from sottovoce.fast.kernels.masks import add_masks

_PLACES = np.uint64(PLACES)
_REST = np.uint64((1 << PLACES) - 1)
_TO_UNITS = np.uint64(FINE - PLACES)


@compiled
def _draw(positions, words, at, inside, tries, bits, out, redo):
    """Corners first, then where the report differs from its corner; the last lanes beyond the vector stay zero."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    zero = np.uint64(0)
    width = positions.shape[1]
    blocks = out.shape[1]
    present = ~zero >> np.uint64(64 * blocks - width)
    for i in range(positions.shape[0]):
        for b in range(blocks):
            corner = zero
            for lane in range(min(64, width - 64 * b)):
                position = positions[i, 64 * b + lane]
                fine = (words[i, at + 64 * b + lane] >> shift) << scale
                upper = (position >> _PLACES) + np.uint64(fine < (position & _REST) << _TO_UNITS)
                corner |= upper << np.uint64(lane)
            out[i, b] = corner
        column = at + width + 1
        turn = zero  # all ones where the signs are inverted
        if (words[i, at + width] >> shift) << scale < inside:
            for attempt in range(tries + 1):
                if attempt == tries:
                    redo[i] = 1
                    column = at + width + 1  # of the words in the span; the report is drawn again
                    break
                differing = zero
                for b in range(blocks):
                    signs = ~words[i, column + b]
                    differing += ones(signs & present if b == blocks - 1 else signs)
                if 2 * np.int64(differing) != width:
                    turn = ~zero if 2 * np.int64(differing) > width else zero
                    break
                column += blocks
        for b in range(blocks):
            out[i, b] ^= ~words[i, column + b] ^ turn
        out[i, blocks - 1] &= present


@sampler.register
def _(channel: HalfSpace) -> Sample:
    inside = np.uint64(channel.inside)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        _draw(codes, draws.words, at, inside, TRIES, draws.bits, out, draws.redo)

    return draw


@counter.register
def _(channel: HalfSpace) -> Count:
    def count(reports: Reports, public: NDArray[np.uint64] | None, cells: NDArray[np.int64]) -> None:
        upper = np.zeros(64 * lanes(channel.dimensions), np.int64)
        add_masks(reports, upper)
        upper = upper[: channel.dimensions]
        cells[1::2] += upper
        cells[::2] += len(reports) - upper

    return count
