"""Kernels of `Mix`: every channel draws for everyone from its own words, and the coin chooses among the reports."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Mix, Rounding
from sottovoce.core.channel.facets import outputs_of, rounding_of
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import (
    Codes,
    Draws,
    Reports,
    Sample,
    empty_reports,
    last_node,
    possible_outputs,
    sampler,
)
from sottovoce.fast.kernels.pick import find, weights

_PLACES = np.uint64(PLACES)


@compiled
def _choose(words, at, cumulative, guide, bits, chosen):
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    for i in range(chosen.shape[0]):
        chosen[i] = find((words[i, at] >> shift) << scale, cumulative, guide)


@compiled
def _take(chosen, channel, start, reports, rejected, out, redo):
    """Copy one channel's reports without a branch on the coin; rejections of the other channels do not count."""
    for i in range(chosen.shape[0]):
        mine = chosen[i] == channel
        out[i] = np.uint64(reports[i]) + start if mine else np.uint64(out[i])
        redo[i] |= rejected[i] & np.uint8(mine)


@compiled
def _positions(codes, steps, top, out):
    """code / top * steps * 2**32, rounded to the nearest: whole steps first, so that all fits 64 bits.

    There are no ties: a tie would need an odd multiple of top / 2, but 2**33 divides no top below 2**32.
    """
    one = np.uint64(1)
    for i in range(codes.shape[0]):
        total = np.uint64(codes[i]) * steps
        full_steps = total // top
        scaled = (total - full_steps * top) << _PLACES
        part = scaled // top
        up = (scaled - part * top) << one > top
        out[i] = (full_steps << _PLACES) + part + np.uint64(up)


def positions(rounding: Rounding, codes: Codes) -> NDArray[np.uint64]:
    """The positions of whole numbers from 0 to the end of a range that begins at 0, exactly."""
    if rounding.low != 0 or rounding.high != int(rounding.high) or rounding.high >= 1 << PLACES:
        raise ValueError("Exact positions of whole numbers need a range from 0 to a whole number below 2**32.")
    out = np.empty(len(codes), np.uint64)
    _positions(codes, np.uint64(rounding.steps), np.uint64(int(rounding.high)), out)
    return out


@sampler.register
def _(channel: Mix) -> Sample:
    either, starts = weights(channel.weights), [np.uint64(start) for start in channel.starts()]
    samplers = [sampler(branch) for branch in channel.channels]

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        chosen = np.empty(len(codes), np.uint32)
        _choose(draws.words, at, *either, draws.bits, chosen)
        column = at + 1
        for number, branch in enumerate(channel.channels):
            grid = rounding_of(branch)
            taken = codes if grid is None else positions(grid, codes)
            reports = empty_reports(branch, len(codes))
            inner = Draws(draws.words, None, np.zeros(len(codes), np.uint8), draws.bits)
            samplers[number](taken, inner, column, reports)
            _take(chosen, np.uint32(number), starts[number], reports, inner.redo, out, draws.redo)
            column += branch.words

    return draw


@possible_outputs.register
def _(channel: Mix) -> NDArray[np.bool_] | None:
    branches = [(possible_outputs(last_node(branch)), outputs_of(branch) or 0) for branch in channel.channels]
    if all(possible is None for possible, _ in branches):
        return None
    return np.concatenate([np.ones(size, bool) if possible is None else possible for possible, size in branches])
