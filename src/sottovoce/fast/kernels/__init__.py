"""One vectorised sampler and one tally kernel per channel node, found by the node's kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Keyed, Some
from sottovoce.core.errors import NoBatchError
from sottovoce.core.rational import FINE

Codes = NDArray[Any]  # uint32 indices, masks, uint64 positions where a channel rounds; a column for each of several
Reports = NDArray[Any]  # unsigned indices, or uint64 masks of 64 lanes in rows


@dataclass(frozen=True, slots=True)
class Draws:
    """What the samplers of one chunk read and mark.

    Attributes:
        words: one row per report; the memory is used again for the next chunk.
        public: the two public words of each report, or None.
        redo: marks reports whose draw was rejected; the scalar sampler draws them again.
        bits: leading bits that a coin reads; fewer than 53 only in tests.
    """

    words: NDArray[np.uint64]
    public: NDArray[np.uint64] | None
    redo: NDArray[np.uint8]
    bits: int = FINE


Sample = Callable[[Codes, Draws, int, Reports], None]
Count = Callable[[Reports, NDArray[np.uint64] | None, NDArray[np.int64]], None]


@singledispatch
def sampler(channel: Channel) -> Sample:
    """The vectorised sampler: (codes, draws, first word column, reports), of which it fills the last."""
    raise NoBatchError(f"There is no vectorised sampler for the node {channel.kind}.")


@singledispatch
def counter(channel: Channel) -> Count:
    """The tally kernel: adds reports, with their public words, to support cells."""
    raise NoBatchError(f"There is no tally kernel for the node {channel.kind}.")


def lanes(bits: int) -> int:
    """How many 64-bit words hold a mask."""
    return -(-bits // 64)


def last_node(channel: Channel) -> Channel:
    """The node whose reports are sent: inside a public map, or the second of two stages."""
    while not isinstance(channel, (Keyed, Some)):
        inside = getattr(channel, "inner", None) or getattr(channel, "second", None)
        if inside is None:
            return channel
        channel = inside
    return channel


def empty_reports(channel: Channel, count: int) -> Reports:
    """Room for the reports of a channel: indices in the smallest unsigned type, or masks."""
    node = last_node(channel)
    if node.outputs is None:
        return np.empty((count, lanes(node.payload_bits)), np.uint64)
    return np.empty(count, index_type(node.outputs))


def index_type(outputs: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type for indices below a number of outputs."""
    if outputs <= 1 << 16:
        return np.uint8 if outputs <= 1 << 8 else np.uint16
    return np.uint32 if outputs <= 1 << 32 else np.uint64


from sottovoce.fast.kernels.compose import each, keyed, mix, public, stages  # noqa: E402
from sottovoce.fast.kernels.finite import bits, block, subset, table  # noqa: E402
from sottovoce.fast.kernels.numeric import noise, rounding, window  # noqa: E402
from sottovoce.fast.kernels.vector import half_space, hints, place, sampled, signs, sphere  # noqa: E402

__all__ = [
    "Codes",
    "Count",
    "Draws",
    "Reports",
    "Sample",
    "bits",
    "block",
    "counter",
    "each",
    "empty_reports",
    "half_space",
    "hints",
    "index_type",
    "keyed",
    "lanes",
    "last_node",
    "mix",
    "noise",
    "place",
    "public",
    "rounding",
    "sampler",
    "signs",
    "sampled",
    "sphere",
    "stages",
    "subset",
    "table",
    "window",
]
