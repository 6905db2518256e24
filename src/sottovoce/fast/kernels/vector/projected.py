"""Kernels of `Projected`: the scalar sampler's own functions, compiled.

Numba's cache of a kernel looks at the kernel's own file only: after a change in `core.channel.vector.projected`, clear
the caches (`*.nbi`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.channel import Projected
from sottovoce.core.channel.vector import projected as node
from sottovoce.core.channel.vector.projected import GOLDEN, MIXERS, ROUNDS, unfolded_scale
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes, Count, Draws, Reports, Sample, counter, sampler
from sottovoce.fast.kernels.vector.sphere import as_bytes

_walsh, _turn, _fold = (compiled(each) for each in (node.walsh, node.turn, node.fold))
_unfold, _round_off = compiled(node.unfold), compiled(node.round_off)

_GOLDEN = np.uint64(GOLDEN)
_FIRST, _SECOND = (np.uint64(mixer) for mixer in MIXERS)


@njit(nogil=True, inline="always")
def _mixed(word):
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


@compiled
def _public_draws(first, second, signs, dithers):
    place = first
    for i in range(signs.shape[0]):
        place += _GOLDEN
        word = _mixed(_mixed(place) ^ second)
        signs[i] = np.int64(word & np.uint64(15))
        dithers[i] = (np.float64(word >> np.uint64(12)) + 0.5) / 4503599627370496.0


@compiled
def _project(codes, public, padded, out):
    signs = np.empty(padded, np.int64)
    dithers = np.empty(padded)
    values = np.empty(padded)
    size = codes.shape[1]
    for i in range(codes.shape[0]):
        _public_draws(public[i, 0], public[i, 1], signs, dithers)
        values[size:] = 0.0
        out[i] = 0.0
        square = 0.0
        for j in range(size):
            values[j] = codes[i, j]
            square += codes[i, j] * codes[i, j]
        for sign in ROUNDS:
            _turn(values, signs, sign)
            _walsh(values)
        _fold(values, signs, math.sqrt(square), out[i])


@compiled
def _add_unfolded(levels, public, k, padded, scale, cells):
    size = cells.shape[0] // 2
    signs = np.empty(padded, np.int64)
    dithers = np.empty(padded)
    values = np.empty(padded)
    summands = np.empty(size, np.int64)
    for i in range(levels.shape[0]):
        _public_draws(public[i, 0], public[i, 1], signs, dithers)
        _unfold(levels[i, :k], signs, values)
        for sign in ROUNDS[::-1]:
            _walsh(values)
            _turn(values, signs, sign)
        _round_off(values, dithers, scale, summands)
        for j in range(size):
            cells[j] += summands[j]
            cells[size + j] += summands[j] * summands[j]


@sampler.register
def _(channel: Projected) -> Sample:
    inner = sampler(channel.inner)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        projected = np.empty((len(codes), channel.inner.size))
        _project(np.ascontiguousarray(codes), _words(draws.public), channel.padded, projected)
        inner(projected, draws, at, out)

    return draw


@counter.register
def _(channel: Projected) -> Count:
    scale = unfolded_scale(channel)

    def count(reports: Reports, public: Any, cells: NDArray[np.int64]) -> None:
        levels = as_bytes(np.ascontiguousarray(reports))
        _add_unfolded(levels, _words(public), channel.inner.size, channel.padded, scale, cells)

    return count


def _words(public: NDArray[np.uint64] | None) -> NDArray[np.uint64]:
    if public is None:
        raise ValueError("Projected reports must be drawn and counted together with their public words.")
    return np.ascontiguousarray(public)
