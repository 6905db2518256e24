"""One vectorised sampler and one tally kernel per channel node, found by the node's kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel
from sottovoce.core.rational import FINE

Reports = NDArray[Any]  # uint32 indices, or uint64 masks of 64 lanes in rows


@dataclass(frozen=True, slots=True)
class Draws:
    """What the samplers of one chunk read and mark.

    Attributes:
        words: one row per report.
        public: the two public words of each report, or None.
        redo: marks reports whose draw was rejected; the scalar sampler draws them again.
        bits: leading bits that a coin reads; fewer than 53 only in tests.
    """

    words: NDArray[np.uint64]
    public: NDArray[np.uint64] | None
    redo: NDArray[np.uint8]
    bits: int = FINE


@singledispatch
def sampler(channel: Channel) -> Callable[[NDArray[Any], Draws, int], Reports]:
    """The vectorised sampler: (codes, draws, first word column) -> reports."""
    raise NotImplementedError(f"There is no vectorised sampler for the node {channel.kind}.")


@singledispatch
def counter(channel: Channel) -> Callable[[Reports, NDArray[np.uint64] | None, NDArray[np.int64]], None]:
    """The tally kernel: adds reports, with their public words, to support cells."""
    raise NotImplementedError(f"There is no tally kernel for the node {channel.kind}.")


def lanes(bits: int) -> int:
    """How many 64-bit words hold a mask."""
    return -(-bits // 64)


from sottovoce.fast.kernels import bits, block, compose, public, subset, table  # noqa: E402

__all__ = [
    "Draws",
    "Reports",
    "bits",
    "block",
    "compose",
    "counter",
    "lanes",
    "public",
    "sampler",
    "subset",
    "table",
]
