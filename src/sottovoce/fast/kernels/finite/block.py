"""Kernels of `Block`."""

from __future__ import annotations

from typing import Any

import numpy as np

from sottovoce.core.channel import ArcSets, Block, HadamardSets, ListedSets, ShiftSets
from sottovoce.core.errors import NoBatchError
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import divisor, high_product, last_start, lowest, ones, remainder
from sottovoce.fast.kernels.base import ByClass, Codes, Draws, Reports, Sample, sampler


@compiled
def _draw_hadamard(codes, words, at, order_bits, inside, groups, choices, bits, out, redo):
    """No branch depends on a coin; `choices` holds the divisors for indices inside the set and beyond it.

    Where a bit decides whether something is added, it is shifted: the compiler would make a branch of a product.
    """
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    one = np.uint64(1)
    size = one << np.uint64(bits)
    half = one << (order_bits - one)
    for i in range(codes.shape[0]):
        code = np.uint64(codes[i])
        group = remainder(code, groups[0], groups[1], groups[2])
        # One more than a multiple of the divisor, so that the quotient is right for the divisor 1 too.
        row = (high_product(code - group + one, groups[1]) >> groups[2]) + one
        start = group << order_bits
        beyond = np.uint64((words[i, at] >> shift) << scale >= inside)
        drawn = words[i, at + 1] >> shift
        outcomes = choices[beyond, 0]
        index = remainder(drawn, outcomes, choices[beyond, 1], choices[beyond, 2])
        if drawn - index > size - outcomes:
            redo[i] = 1
        place = lowest(row)
        free = index + (index >> place << place)
        free += ((ones(free & row) ^ beyond) & one) << place
        rest = index - half  # wraps around if the index lies in the group, and is not used then
        rest += np.uint64(rest >= start) << order_bits
        out[i] = start + free if index < half else rest


@ByClass
def sets_sampler(sets: Any, inside: int) -> Sample:
    """The vectorised sampler of a block with these sets."""
    raise NoBatchError(f"There is no vectorised sampler for the sets {sets!r}.")


@sets_sampler.register
def _(sets: HadamardSets, inside: int) -> Sample:
    sizes = (sets.size, sets.outputs - sets.size)
    choices = np.array([divisor(size) for size in sizes], np.uint64)
    groups = np.array(divisor(sets.groups), np.uint64)
    numbers = (np.uint64(sets.order.bit_length() - 1), np.uint64(inside), groups, choices)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(max(sizes), draws.bits)  # refuses a draw from more outcomes than a coin has
        _draw_hadamard(codes, draws.words, at, *numbers, draws.bits, out, draws.redo)

    return draw


@compiled
def _draw_arcs(codes, words, at, outputs, size, inside, choices, bits, out, redo):
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    range_ = np.uint64(1) << np.uint64(bits)
    for i in range(codes.shape[0]):
        beyond = np.uint64((words[i, at] >> shift) << scale >= inside)
        drawn = words[i, at + 1] >> shift
        outcomes = choices[beyond, 0]
        index = remainder(drawn, outcomes, choices[beyond, 1], choices[beyond, 2])
        if drawn - index > range_ - outcomes:
            redo[i] = 1
        place = np.uint64(codes[i]) + index + beyond * size  # below twice the outputs
        place -= outputs * np.uint64(place >= outputs)
        out[i] = place


@sets_sampler.register
def _(sets: ArcSets, inside: int) -> Sample:
    sizes = (sets.size, sets.outputs - sets.size)
    choices = np.array([divisor(size) for size in sizes], np.uint64)
    numbers = (np.uint64(sets.outputs), np.uint64(sets.size), np.uint64(inside), choices)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(max(sizes), draws.bits)
        _draw_arcs(codes, draws.words, at, *numbers, draws.bits, out, draws.redo)

    return draw


@compiled
def _draw_listed(codes, words, at, order, inside, choices, bits, out, redo):
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    range_ = np.uint64(1) << np.uint64(bits)
    for i in range(codes.shape[0]):
        beyond = np.uint64((words[i, at] >> shift) << scale >= inside)
        drawn = words[i, at + 1] >> shift
        outcomes = choices[beyond, 0]
        index = remainder(drawn, outcomes, choices[beyond, 1], choices[beyond, 2])
        if drawn - index > range_ - outcomes:
            redo[i] = 1
        out[i] = order[codes[i], index + beyond * choices[0, 0]]


@sets_sampler.register
def _(sets: ListedSets, inside: int) -> Sample:
    sizes = (sets.size, sets.outputs - sets.size)
    choices = np.array([divisor(size) for size in sizes], np.uint64)
    numbers = (np.array(sets.order, np.uint32), np.uint64(inside), choices)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(max(sizes), draws.bits)
        _draw_listed(codes, draws.words, at, *numbers, draws.bits, out, draws.redo)

    return draw


@compiled
def _draw_shifts(codes, words, at, starts, places, cells, inside, choices, bits, out, redo):
    """`places` holds the cells of all ones, then of all zeros; `starts` the first output of their patterns."""
    shift = np.uint64(64 - bits)
    scale = np.uint64(53 - bits)
    range_ = np.uint64(1) << np.uint64(bits)
    for i in range(codes.shape[0]):
        beyond = np.uint64((words[i, at] >> shift) << scale >= inside)
        drawn = words[i, at + 1] >> shift
        outcomes = choices[beyond, 0]
        index = remainder(drawn, outcomes, choices[beyond, 1], choices[beyond, 2])
        if drawn - index > range_ - outcomes:
            redo[i] = 1
        index += beyond * choices[0, 0]
        moved = np.uint64(codes[i]) + cells - places[index]  # below twice the cells
        out[i] = starts[index] + moved - cells * np.uint64(moved >= cells)


@sets_sampler.register
def _(sets: ShiftSets, inside: int) -> Sample:
    sizes = (sets.size, sets.outputs - sets.size)
    choices = np.array([divisor(size) for size in sizes], np.uint64)
    patterns, places = np.ascontiguousarray(np.array(sets.bits, np.uint64).T)
    cells = np.uint64(sets.cells)
    numbers = (patterns * cells, places, cells, np.uint64(inside), choices)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(max(sizes), draws.bits)
        _draw_shifts(codes, draws.words, at, *numbers, draws.bits, out, draws.redo)

    return draw


@sampler.register
def _(channel: Block) -> Sample:
    return sets_sampler(channel.sets, channel.inside)
