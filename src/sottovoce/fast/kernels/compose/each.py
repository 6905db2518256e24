"""Kernels of `Each`: one column of codes for each channel, the reports packed side by side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Each
from sottovoce.core.channel.facets import outputs_of, rounding_of
from sottovoce.core.errors import NoBatchError
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import (
    Codes,
    Draws,
    Reports,
    Sample,
    empty_reports,
    impossible_masks,
    invalid_reports,
    lanes,
    last_node,
    sampler,
)


@compiled
def pack(parts, shift, out):
    """Add reports of 64 lanes per word to rows that are zero from bit `shift` on."""
    lane = shift // 64
    up = np.uint64(shift % 64)
    down = np.uint64(63) - up  # and one more, since a shift by 64 is undefined
    for i in range(parts.shape[0]):
        for c in range(parts.shape[1]):
            word = parts[i, c]
            out[i, lane + c] |= word << up
            spill = (word >> down) >> np.uint64(1)
            if spill:  # the room ends with the last bit of the report, not of its last lane
                out[i, lane + c + 1] |= spill


def unpacked(channel: Each, masks: NDArray[np.uint64]) -> Iterator[tuple[Channel, Reports]]:
    """Each channel with its reports: indices as 64-bit numbers, or masks."""
    padded = np.pad(masks, ((0, 0), (0, 1)))
    for part, shift in zip(channel.channels, channel.shifts(), strict=False):
        width = lanes(part.payload_bits)
        lane, up = shift // 64, np.uint64(shift % 64)
        words = padded[:, lane : lane + width] >> up
        if up:
            words |= padded[:, lane + 1 : lane + width + 1] << (np.uint64(64) - up)
        spare = 64 * width - part.payload_bits
        words[:, -1] &= np.uint64((1 << 64 - spare) - 1)
        yield part, words if outputs_of(last_node(part)) is None else words[:, 0]


@sampler.register
def _(channel: Each) -> Sample:
    if any(part.inputs > 1 << 32 and rounding_of(part) is None for part in channel.channels):
        raise NoBatchError("There is no vectorised sampler for parts whose codes are long masks.")
    if any(not part.codes_are_indices and rounding_of(part) is None for part in channel.channels):
        raise NoBatchError("There is no vectorised sampler for parts whose codes are tuples.")
    samplers = [sampler(part) for part in channel.channels]

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        out[:] = 0
        for number, (part, shift) in enumerate(zip(channel.channels, channel.shifts(), strict=False)):
            own = np.ascontiguousarray(codes[:, number], np.uint32 if rounding_of(part) is None else np.uint64)
            reports = empty_reports(part, len(codes))
            samplers[number](own, draws, at, reports)
            wide = reports.astype(np.uint64, copy=False).reshape(len(codes), -1)
            pack(wide, shift, out)
            at += part.words

    return draw


@impossible_masks.register
def _(channel: Each, masks: Reports) -> NDArray[np.bool_]:
    parts = [invalid_reports(part, reports) for part, reports in unpacked(channel, masks)]
    return np.asarray(np.any(parts, axis=0))
