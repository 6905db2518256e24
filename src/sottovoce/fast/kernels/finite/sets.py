"""Kernels of blocks whose sets are hyperplanes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.field import inverses
from sottovoce.core.channel import ProjectiveSets
from sottovoce.core.channel.finite.sets import spaces
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import last_start
from sottovoce.fast.kernels.base import Codes, Draws, Reports, Sample
from sottovoce.fast.kernels.finite.block import sets_sampler

Ints = NDArray[np.int64]


@compiled
def _index(words, at, inside, sizes, bits):
    """Whether a report lies inside, its index there, and whether the draw must be repeated."""
    shift, scale = np.uint64(64 - bits), np.uint64(53 - bits)
    near = (words[at] >> shift) << scale < inside
    outcomes = sizes[0] if near else sizes[1]
    drawn = words[at + 1] >> shift
    index = drawn % outcomes
    return near, np.int64(index), drawn - index > (np.uint64(1) << np.uint64(bits)) - outcomes


@compiled
def _point(number, order, powers, starts, digits, out):
    """The coordinates of a point, and how many follow its first non-zero one."""
    follow = 0
    while follow + 1 < digits and number >= starts[follow + 1]:
        follow += 1
    value = number - starts[follow] + powers[follow]
    for place in range(digits):
        out[place] = value // powers[digits - 1 - place] % order
    return follow


@compiled
def output(code, index, near, powers, starts, inverse, vector, free, point):
    """`ProjectiveSets.output`; the last three are room for coordinates."""
    order, digits = inverse.shape[0], powers.shape[0]
    last = _point(code, order, powers, starts, digits, vector)  # the code is read backwards
    if near:
        _point(index, order, powers, starts, digits - 1, free)
    else:
        for place in range(digits - 1):
            free[place] = index // powers[digits - 2 - place] % order
    product, taken = np.int64(0), 0
    for place in range(digits):
        if place != last:
            point[place] = free[taken]
            product += vector[digits - 1 - place] * free[taken]
            taken += 1
    point[last] = ((0 if near else 1) - product) % order
    scale, value, follow = np.int64(0), np.int64(0), 0
    for place in range(digits):
        if not scale and point[place]:
            scale, follow = inverse[point[place]], digits - 1 - place
        value = value * order + point[place] * scale % order
    return value - powers[follow] + starts[follow]


@compiled
def _draw_projective(codes, words, at, inside, sizes, powers, starts, inverse, bits, out, redo):
    digits = powers.shape[0]
    vector, free, point = np.empty(digits, np.int64), np.empty(digits, np.int64), np.empty(digits, np.int64)
    for i in range(codes.shape[0]):
        near, index, again = _index(words[i], at, inside, sizes, bits)
        if again:
            redo[i] = 1
        out[i] = output(np.int64(codes[i]), index, near, powers, starts, inverse, vector, free, point)


def tables(sets: ProjectiveSets) -> tuple[Ints, Ints, Ints]:
    """Powers of the order, first numbers of points, and inverses."""
    powers = np.array([sets.order**place for place in range(sets.digits)], np.int64)
    return powers, np.array(spaces(sets.order, sets.digits), np.int64), np.array(inverses(sets.order), np.int64)


@sets_sampler.register
def _(sets: ProjectiveSets, inside: int) -> Sample:
    sizes = np.array([sets.size, sets.outputs - sets.size], np.uint64)
    numbers = tables(sets)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(int(sizes.max()), draws.bits)  # refuses a draw from more outcomes than a coin has
        _draw_projective(codes, draws.words, at, np.uint64(inside), sizes, *numbers, draws.bits, out, draws.redo)

    return draw
