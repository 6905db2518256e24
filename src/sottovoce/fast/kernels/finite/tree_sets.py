"""Kernels of blocks over the nodes of one level of a hierarchy."""

from __future__ import annotations

import numpy as np

from sottovoce.core.arithmetic.field import polynomial
from sottovoce.core.channel import NodeSets, PoolSets
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.arithmetic import divisor, last_start, remainder
from sottovoce.fast.kernels.base import Codes, Draws, Reports, Sample
from sottovoce.fast.kernels.compose.public import product_table
from sottovoce.fast.kernels.finite.block import sets_sampler


@compiled
def _draw_nodes(codes, words, at, width, inside, choices, bits, out, redo):
    shift, scale = np.uint64(64 - bits), np.uint64(53 - bits)
    size = np.uint64(1) << np.uint64(bits)
    for i in range(codes.shape[0]):
        node = np.uint64(codes[i]) // width
        beyond = np.uint64((words[i, at] >> shift) << scale >= inside)
        drawn = words[i, at + 1] >> shift
        outcomes = choices[beyond, 0]
        index = remainder(drawn, outcomes, choices[beyond, 1], choices[beyond, 2])
        if drawn - index > size - outcomes:
            redo[i] = 1
        other = index + np.uint64(index >= node)
        out[i] = other if beyond else node


@compiled
def _draw_pool(codes, words, at, width, inside, choices, g, digits, odd, products, binary, bits, out, redo):
    """Inside a set the index is a map; outside it is a map and one of the other values."""
    shift, scale = np.uint64(64 - bits), np.uint64(53 - bits)
    one = np.uint64(1)
    size = one << np.uint64(bits)
    others = g - one
    for i in range(codes.shape[0]):
        node = np.uint64(codes[i]) // width
        beyond = np.uint64((words[i, at] >> shift) << scale >= inside)
        drawn = words[i, at + 1] >> shift
        outcomes = choices[beyond, 0]
        index = remainder(drawn, outcomes, choices[beyond, 1], choices[beyond, 2])
        if drawn - index > size - outcomes:
            redo[i] = 1
        spread = index * (one if beyond else others)
        number = spread // others
        further = spread - number * others
        a, b = (number << odd) | odd, node
        value = np.uint64(0)
        for _ in range(digits):
            if binary:
                value ^= np.uint64(products[a % g, b % g])
            else:
                value = (value + (a % g) * (b % g)) % g
            a //= g
            b //= g
        out[i] = number * g + (value + (one + further) * beyond) % g


@sets_sampler.register
def _(sets: NodeSets, inside: int) -> Sample:
    sizes = (sets.size, sets.outputs - sets.size)
    choices = np.array([divisor(size) for size in sizes], np.uint64)

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(max(sizes), draws.bits)  # refuses a draw from more outcomes than a coin has
        numbers = np.uint64(sets.width), np.uint64(inside), choices, draws.bits
        _draw_nodes(codes, draws.words, at, *numbers, out, draws.redo)

    return draw


@sets_sampler.register
def _(sets: PoolSets, inside: int) -> Sample:
    sizes = (sets.size, sets.outputs - sets.size)
    choices = np.array([divisor(size) for size in sizes], np.uint64)
    field = np.uint64(sets.g), sets.digits, np.uint64(sets.odd), product_table(sets.g), polynomial(sets.g) > 0

    def draw(codes: Codes, draws: Draws, at: int, out: Reports) -> None:
        last_start(max(sizes), draws.bits)
        numbers = np.uint64(sets.width), np.uint64(inside), choices
        _draw_pool(codes, draws.words, at, *numbers, *field, draws.bits, out, draws.redo)

    return draw
