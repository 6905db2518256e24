"""Kernels of `SampledCoordinates`: the chosen coordinates of every row, one after another, packed side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel import Each, SampledCoordinates
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import (
    Codes,
    Count,
    Draws,
    Reports,
    Sample,
    counter,
    empty_reports,
    impossible_masks,
    sampler,
)
from sottovoce.fast.kernels.compose.each import pack


def first_coordinates(channel: SampledCoordinates, public: NDArray[np.uint64] | None, rows: int) -> NDArray[np.int64]:
    """The first chosen coordinate of each row."""
    if not channel.publics:
        return np.zeros(rows, np.int64)
    if public is None:
        raise ValueError("Coordinates are chosen by public words.")
    return (_drawn(channel, public) % np.uint64(channel.dimensions)).astype(np.int64)


def refused_starts(channel: SampledCoordinates, public: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which ids no device may use."""
    if not channel.publics:
        return np.zeros(len(public), bool)
    size = 1 << min(channel.bits, FINE)
    return np.asarray(_drawn(channel, public) >= size - size % channel.dimensions)


def _drawn(channel: SampledCoordinates, public: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The number in the leading bits of the first word."""
    read = min(channel.bits, FINE)
    word = public[:, 0] if channel.bits == 64 else public[:, 0] & np.uint64((1 << channel.bits) - 1)
    return np.asarray(word >> np.uint64(channel.bits - read))


@compiled
def _gather(codes, first, place, out):
    width = codes.shape[1]
    for i in range(codes.shape[0]):
        out[i] = codes[i, (first[i] + place) % width]


@compiled
def _count(reports, first, chosen, bits, width, outputs, cells):
    low = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for i in range(reports.shape[0]):
        for place in range(chosen):
            at = place * bits
            lane = at >> 6
            up = np.uint64(at & 63)
            part = reports[i, lane] >> up
            if (at & 63) + bits > 64:
                part |= reports[i, lane + 1] << (np.uint64(64) - up)
            cells[(first[i] + place) % width * outputs + np.int64(part & low)] += 1


@sampler.register
def _(channel: SampledCoordinates) -> Sample:
    grid, inner = sampler(channel.grids[0]), sampler(channel.inner)  # positions are in steps, so one kernel fits all
    width = channel.inner.payload_bits

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        first = first_coordinates(channel, draws.public, len(codes))
        own, points = np.empty(len(codes), np.uint64), np.empty(len(codes), np.uint32)
        parts: NDArray[Any] = empty_reports(channel.inner, len(codes))
        out[:] = 0
        for place in range(channel.count):
            _gather(codes, first, place, own)
            grid(own, draws, at, points)
            inner(points, draws, at + channel.grids[0].words, parts)
            pack(parts.astype(np.uint64).reshape(-1, 1), place * width, out)
            at += channel.grids[0].words + channel.inner.words

    return draw


@counter.register
def _(channel: SampledCoordinates) -> Count:
    def count(reports: Reports, public: NDArray[np.uint64] | None, cells: NDArray[np.int64]) -> None:
        first = first_coordinates(channel, public, len(reports))
        bits, outputs = channel.inner.payload_bits, channel.part_outputs
        _count(reports, first, channel.count, bits, channel.dimensions, outputs, cells)

    return count


@impossible_masks.register
def _(channel: SampledCoordinates, masks: Reports) -> NDArray[np.bool_] | None:
    return impossible_masks(Each((channel.inner,) * channel.count), masks)
