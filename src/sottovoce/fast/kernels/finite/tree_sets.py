"""Kernels of blocks over the nodes of one level of a hierarchy."""

from __future__ import annotations

import numpy as np

from sottovoce.core.arithmetic.field import polynomial
from sottovoce.core.channel import NodeSets, PoolSets
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Sample
from sottovoce.fast.kernels.compose.public import product_table
from sottovoce.fast.kernels.finite.block import sets_sampler
from sottovoce.fast.kernels.two_sets import draw_index, two_set_sampler


@compiled
def _draw_nodes(codes, words, at, inside, choices, bits, width, out, redo):
    for i in range(codes.shape[0]):
        node = np.uint64(codes[i]) // width
        beyond, index, rejected = draw_index(words, i, at, inside, choices, bits)
        redo[i] |= rejected
        other = index + np.uint64(index >= node)
        out[i] = other if beyond else node


@compiled
def _draw_pool(codes, words, at, inside, choices, bits, width, g, digits, odd, products, binary, out, redo):
    """Inside a set the index is a map; outside it is a map and one of the other values."""
    one = np.uint64(1)
    others = g - one
    for i in range(codes.shape[0]):
        node = np.uint64(codes[i]) // width
        beyond, index, rejected = draw_index(words, i, at, inside, choices, bits)
        redo[i] |= rejected
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
    return two_set_sampler(_draw_nodes, sets.size, sets.outputs, inside, np.uint64(sets.width))


@sets_sampler.register
def _(sets: PoolSets, inside: int) -> Sample:
    field = np.uint64(sets.g), sets.digits, np.uint64(sets.odd), product_table(sets.g), polynomial(sets.g) > 0
    return two_set_sampler(_draw_pool, sets.size, sets.outputs, inside, np.uint64(sets.width), *field)
