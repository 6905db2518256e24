"""Kernels of `Block`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.core.channel import ArcSets, Block, HadamardSets, ListedSets, ShiftSets
from sottovoce.core.errors import NoBatchError
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import divisor, high_product, lowest, ones, remainder
from sottovoce.fast.kernels.base import ByClass, Sample, sampler
from sottovoce.fast.kernels.two_sets import draw_index, two_set_sampler


@ByClass
def sets_sampler(sets: Any, inside: int) -> Sample:
    """The vectorised sampler of a block with these sets."""
    raise NoBatchError(f"There is no vectorised sampler for the sets {sets!r}.")


@sampler.register
def _(channel: Block) -> Sample:
    return sets_sampler(channel.sets, channel.inside)


@compiled
def _draw_hadamard(codes, words, at, inside, choices, bits, order_bits, groups, out, redo):
    """Where a bit decides whether something is added, it is shifted: the compiler would make a branch of a product."""
    one = np.uint64(1)
    half = one << (order_bits - one)
    for i in range(codes.shape[0]):
        code = np.uint64(codes[i])
        group = remainder(code, groups[0], groups[1], groups[2])
        # One more than a multiple of the divisor, so that the quotient is right for the divisor 1 too.
        row = (high_product(code - group + one, groups[1]) >> groups[2]) + one
        start = group << order_bits
        beyond, index, rejected = draw_index(words, i, at, inside, choices, bits)
        redo[i] |= rejected
        place = lowest(row)
        free = index + (index >> place << place)
        free += ((ones(free & row) ^ beyond) & one) << place
        rest = index - half  # wraps around if the index lies in the group, and is not used then
        rest += np.uint64(rest >= start) << order_bits
        out[i] = start + free if index < half else rest


@sets_sampler.register
def _(sets: HadamardSets, inside: int) -> Sample:
    numbers = (np.uint64(sets.order.bit_length() - 1), np.array(divisor(sets.groups), np.uint64))
    return two_set_sampler(_draw_hadamard, sets.size, sets.outputs, inside, *numbers)


@compiled
def _draw_arcs(codes, words, at, inside, choices, bits, outputs, out, redo):
    for i in range(codes.shape[0]):
        beyond, index, rejected = draw_index(words, i, at, inside, choices, bits)
        redo[i] |= rejected
        place = np.uint64(codes[i]) + index + beyond * choices[0, 0]  # below twice the outputs
        place -= outputs * np.uint64(place >= outputs)
        out[i] = place


@sets_sampler.register
def _(sets: ArcSets, inside: int) -> Sample:
    return two_set_sampler(_draw_arcs, sets.size, sets.outputs, inside, np.uint64(sets.outputs))


@compiled
def _draw_listed(codes, words, at, inside, choices, bits, order, out, redo):
    for i in range(codes.shape[0]):
        beyond, index, rejected = draw_index(words, i, at, inside, choices, bits)
        redo[i] |= rejected
        out[i] = order[codes[i], index + beyond * choices[0, 0]]


@sets_sampler.register
def _(sets: ListedSets, inside: int) -> Sample:
    return two_set_sampler(_draw_listed, sets.size, sets.outputs, inside, np.array(sets.order, np.uint32))


@compiled
def _draw_shifts(codes, words, at, inside, choices, bits, starts, places, cells, out, redo):
    """`places` holds the cells of all ones, then of all zeros; `starts` the first output of their patterns."""
    for i in range(codes.shape[0]):
        beyond, index, rejected = draw_index(words, i, at, inside, choices, bits)
        redo[i] |= rejected
        index += beyond * choices[0, 0]
        moved = np.uint64(codes[i]) + cells - places[index]  # below twice the cells
        out[i] = starts[index] + moved - cells * np.uint64(moved >= cells)


@sets_sampler.register
def _(sets: ShiftSets, inside: int) -> Sample:
    patterns, places = np.ascontiguousarray(np.array(sets.bits, np.uint64).T)
    cells = np.uint64(sets.cells)
    return two_set_sampler(_draw_shifts, sets.size, sets.outputs, inside, patterns * cells, places, cells)
