"""Kernels of `Spread`. A code is a row of words with one bit for each item."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numba import njit

from sottovoce.core.arithmetic.hashing import WORD
from sottovoce.core.channel.compose.spread import Spread
from sottovoce.core.errors import NoBatchError
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, lanes, sampler
from sottovoce.fast.kernels.compose.public import Public64


@njit(nogil=True, inline="always")
def cell_of(a, b, element, cells):
    """`core.arithmetic.hashing.mixed_value`."""
    mixed = (np.uint64(element) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + a
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ b ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(32)) * cells >> np.uint64(32)


@compiled
def _spread(codes, public, items, most, cells, out):
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for i in range(codes.shape[0]):
        a, b = public[i, 0], public[i, 1]
        out[i] = 0
        held = 0
        for lane in range(codes.shape[1]):
            left = codes[i, lane]
            item = 64 * lane
            while left:
                if left & one:
                    cell = cell_of(a, b, item, cells)
                    out[i, cell >> six] |= one << (cell & low)
                    held += 1
                left >>= one
                item += 1
        for filler in range(most - held):
            cell = cell_of(a, b, items + filler, cells)
            out[i, cell >> six] |= one << (cell & low)


@compiled
def _count_masks(masks, public, cells, totals):
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for i in range(masks.shape[0]):
        a, b = public[i, 0], public[i, 1]
        for element in range(totals.shape[0]):
            cell = cell_of(a, b, element, cells)
            totals[element] += np.int64(masks[i, cell >> six] >> (cell & low) & one)


@compiled
def _count_indices(reports, public, cells, totals):
    for i in range(reports.shape[0]):
        a, b, sent = public[i, 0], public[i, 1], np.uint64(reports[i])
        for element in range(totals.shape[0]):
            totals[element] += cell_of(a, b, element, cells) == sent


def _checked(channel: Spread) -> np.uint64:
    if channel.bits != WORD:
        raise NoBatchError("Items are spread over cells in batches by words of 64 bits only.")
    return np.uint64(channel.cells)


@sampler.register
def _(channel: Spread) -> Sample:
    inner, cells = sampler(channel.hitting), _checked(channel)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        if draws.public is None:
            raise ValueError("Items are spread over cells by the public words of a report.")
        mapped = np.empty((len(codes), lanes(channel.cells)), np.uint64)
        _spread(codes, draws.public, channel.items, channel.most, cells, mapped)
        inner(mapped, draws, at, out)

    return draw


@counter.register
def _(channel: Spread) -> Count:
    kernel = _count_indices if channel.picked == 1 else _count_masks
    return partial(_count, kernel, _checked(channel))


def _count(kernel: Any, cells: np.uint64, reports: Reports, public: Public64 | None, totals: Codes) -> None:
    if public is None:
        raise ValueError("Reports of cells must be counted together with their public words.")
    kernel(reports, public, cells, totals)
