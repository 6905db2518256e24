"""Kernels of `Cap` and `Projected`: the scalar sampler's own functions, compiled.

Numba's cache of a kernel looks at the kernel's own file only: after a change in `core.channel.cap_law`, `sphere` or
`projected`, clear the caches (`*.nbi`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.channel import Cap, Projected
from sottovoce.core.channel.vector import cap_law
from sottovoce.core.channel.vector import projected as projected_node
from sottovoce.core.channel.vector import sphere as sphere_node
from sottovoce.core.channel.vector.projected import GOLDEN, MIXERS, ROUNDS, unfolded_scale
from sottovoce.core.channel.vector.sphere import facts
from sottovoce.fast.kernels import Codes, Count, Draws, Reports, Sample, counter, sampler

_compiled = njit(nogil=True, cache=True)
_cap, _tail, _signed_share = (_compiled(each) for each in (cap_law.cap, cap_law.tail, cap_law.signed_share))
_draw_levels = _compiled(sphere_node.draw_levels)
_walsh, _turn, _fold = (_compiled(each) for each in (projected_node.walsh, projected_node.turn, projected_node.fold))
_unfold, _round_off = _compiled(projected_node.unfold), _compiled(projected_node.round_off)

_GOLDEN = np.uint64(GOLDEN)
_FIRST, _SECOND = (np.uint64(mixer) for mixer in MIXERS)


@njit(nogil=True, cache=True)
def _draw(codes, words, at, keep, sphere, size, norm, above, below, reach, out):
    """One row of bytes for each report, of the words of its row."""
    span = 3 + size + size % 2
    numbers = np.empty(span)
    dithers = np.empty(span)
    pole = np.empty(size)
    for i in range(codes.shape[0]):
        for j in range(span):
            word = words[i, at + j]
            numbers[j] = (np.float64(word >> np.uint64(12)) + 0.5) / 4503599627370496.0
            dithers[j] = (np.float64(word & np.uint64(4095)) + 0.5) / 4096.0
        pole[:] = codes[i]
        inside = (words[i, at + 1] >> np.uint64(11)) < keep
        share = _signed_share(inside, numbers[2], above, below)
        along = math.cos(_cap(abs(share), size, norm, True)) if sphere else _tail(abs(share))
        _draw_levels(pole, math.copysign(along, share), numbers, dithers, sphere, reach, out[i, :size])
        out[i, size:] = 0


@njit(nogil=True, inline="always")
def _mixed(word):
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


@njit(nogil=True, cache=True)
def _public_draws(first, second, signs, dithers):
    place = first
    for i in range(signs.shape[0]):
        place += _GOLDEN
        word = _mixed(_mixed(place) ^ second)
        signs[i] = np.int64(word & np.uint64(15))
        dithers[i] = (np.float64(word >> np.uint64(12)) + 0.5) / 4503599627370496.0


@njit(nogil=True, cache=True)
def _project(codes, public, padded, out):
    signs = np.empty(padded, np.int64)
    dithers = np.empty(padded)
    values = np.empty(padded)
    size = codes.shape[1]
    for i in range(codes.shape[0]):
        _public_draws(public[i, 0], public[i, 1], signs, dithers)
        values[:size] = codes[i]
        values[size:] = 0.0
        out[i] = 0.0
        square = 0.0
        for j in range(size):
            square += codes[i, j] * codes[i, j]
        for sign in ROUNDS:
            _turn(values, signs, sign)
            _walsh(values)
        _fold(values, signs, math.sqrt(square), out[i])


@njit(nogil=True, cache=True)
def _add_levels(levels, size, cells):
    for i in range(levels.shape[0]):
        for j in range(size):
            level = np.int64(levels[i, j])
            cells[j] += level
            cells[size + j] += level * level


@njit(nogil=True, cache=True)
def _add_unfolded(levels, public, k, padded, scale, cells):
    size = cells.shape[0] // 2
    signs = np.empty(padded, np.int64)
    dithers = np.empty(padded)
    values = np.empty(padded)
    found = np.empty(size, np.int64)
    for i in range(levels.shape[0]):
        _public_draws(public[i, 0], public[i, 1], signs, dithers)
        _unfold(levels[i, :k], signs, values)
        for sign in ROUNDS[::-1]:
            _walsh(values)
            _turn(values, signs, sign)
        _round_off(values, dithers, scale, found)
        for j in range(size):
            cells[j] += found[j]
            cells[size + j] += found[j] * found[j]


def _bytes(reports: Reports) -> NDArray[np.uint8]:
    """Rows of 64-bit words as bytes, in the order of the coordinates, in the same memory."""
    return reports.view(np.uint8)


@sampler.register
def _(channel: Cap) -> Sample:
    known = facts(channel)
    law = (channel.law == "sphere", channel.size, known.norm, known.above, known.below, known.reach)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        # Words are read whole, here and in the scalar sampler: there are no proofs with short ones.
        _draw(np.ascontiguousarray(codes), draws.words, at, np.uint64(channel.keep), *law, _bytes(out))

    return draw


@sampler.register
def _(channel: Projected) -> Sample:
    inner = sampler(channel.inner)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        projected = np.empty((len(codes), channel.inner.size))
        _project(np.ascontiguousarray(codes), _words(draws.public), channel.padded, projected)
        inner(projected, draws, at, out)

    return draw


@counter.register
def _(channel: Cap) -> Count:
    def count(reports: Reports, public: Any, cells: NDArray[np.int64]) -> None:
        _add_levels(_bytes(np.ascontiguousarray(reports)), channel.size, cells)

    return count


@counter.register
def _(channel: Projected) -> Count:
    scale = unfolded_scale(channel)

    def count(reports: Reports, public: Any, cells: NDArray[np.int64]) -> None:
        levels = _bytes(np.ascontiguousarray(reports))
        _add_unfolded(levels, _words(public), channel.inner.size, channel.padded, scale, cells)

    return count


def _words(public: NDArray[np.uint64] | None) -> NDArray[np.uint64]:
    if public is None:
        raise ValueError("Projected reports are drawn and counted together with their public words.")
    return np.ascontiguousarray(public)
