"""What kernels share that draw uniformly from a set with a probability, else uniformly from what is beyond it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from sottovoce.fast.kernels.arithmetic import divisor, last_start, remainder
from sottovoce.fast.kernels.base import Codes, Draws, Reports, Sample


@njit(nogil=True, inline="always")
def draw_index(words, i, at, inside, choices, bits):
    """Whether report i lies beyond its set (0 or 1), its index there, and whether the draw was rejected.

    No branch depends on a coin; `choices` holds the divisors for indices inside the set and beyond it.
    """
    shift = np.uint64(64 - bits)
    beyond = np.uint64((words[i, at] >> shift) << np.uint64(53 - bits) >= inside)
    drawn = words[i, at + 1] >> shift
    outcomes = choices[beyond, 0]
    index = remainder(drawn, outcomes, choices[beyond, 1], choices[beyond, 2])
    return beyond, index, drawn - index > (np.uint64(1) << np.uint64(bits)) - outcomes


def two_set_sampler(kernel: Callable[..., None], size: int, outputs: int, inside: int, *numbers: Any) -> Sample:
    """The sampler of a kernel, for sets of this size among the outputs; further numbers come after the divisors."""
    sizes = (size, outputs - size)
    choices = np.array([divisor(one) for one in sizes], np.uint64)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(max(sizes), draws.bits)  # refuses a draw from more outcomes than a coin has
        kernel(codes, draws.words, at, np.uint64(inside), choices, draws.bits, *numbers, out, draws.redo)

    return draw
