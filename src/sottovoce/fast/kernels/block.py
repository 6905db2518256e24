"""Kernels of `Block`."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.channel import Block, HadamardSets
from sottovoce.fast.kernels import Draws, Reports, sampler


@njit(nogil=True, cache=True)
def _parity(value):
    for step in (32, 16, 8, 4, 2, 1):
        value ^= value >> np.uint64(step)
    return value & np.uint64(1)


@njit(nogil=True, cache=True)
def _draw_hadamard(codes, words, at, order, groups, inside, bits, out, redo):
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    one = np.uint64(1)
    wide = np.uint64(order)
    half = wide >> one
    beyond = wide * np.uint64(groups) - half
    size = np.uint64(1) << np.uint64(bits)
    for i in range(codes.shape[0]):
        code = np.uint64(codes[i])
        group = code % np.uint64(groups)
        row = code // np.uint64(groups) + one
        drawn = words[i, at + 1] >> shift
        if (words[i, at] >> shift) << scale < np.uint64(inside):
            outcomes = half
            parity = np.uint64(0)
        else:
            outcomes = beyond
            parity = one
        if drawn >= size - size % outcomes:
            redo[i] = 1
        index = drawn % outcomes
        if index < half:
            lowest = row & (~row + one)
            free = (index & ~(lowest - one)) << one | index & (lowest - one)
            if _parity(free & row) != parity:
                free |= lowest
            out[i] = group * wide + free
        else:
            rest = index - half
            if rest >= group * wide:
                rest += wide
            out[i] = rest


@singledispatch
def _sets_sampler(sets: Any, inside: int) -> Callable[[NDArray[Any], Draws, int], Reports]:
    raise NotImplementedError(f"There is no vectorised sampler for the sets {sets!r}.")


@_sets_sampler.register
def _(sets: HadamardSets, inside: int) -> Callable[[NDArray[Any], Draws, int], Reports]:
    def draw(codes: NDArray[Any], draws: Draws, at: int) -> Reports:
        out = np.empty(len(codes), np.uint32)
        _draw_hadamard(codes, draws.words, at, sets.order, sets.groups, inside, draws.bits, out, draws.redo)
        return out

    return draw


@sampler.register
def _(channel: Block) -> Callable[[NDArray[Any], Draws, int], Reports]:
    return _sets_sampler(channel.sets, channel.inside)
