"""Kernels of Bloom filters, hashed rows and permutations: values of many pairs of function and code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import BloomMap, PermutationMap, PoolMap, RowMap
from sottovoce.core.channel.compose.rows import row_words
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes
from sottovoce.fast.kernels.compose.public import valuer

Values = Callable[[NDArray[np.int64], Codes], NDArray[np.uint32]]


@valuer.register
def _(chosen: BloomMap) -> Values:
    one = valuer(PoolMap(chosen.k, chosen.g, chosen.digits))

    def values(seeds: NDArray[np.int64], codes: Codes) -> NDArray[np.uint32]:
        out = np.zeros(len(codes), np.uint32)
        for block in range(chosen.blocks):
            shifted = (seeds + block * (chosen.seeds // chosen.blocks)) % chosen.seeds
            out += one(shifted, codes) * np.uint32(chosen.g**block)
        return out

    return values


@compiled
def _hash_rows(words, seeds, codes, g, out):
    half = np.uint64(32)
    for i in range(codes.shape[0]):
        total = words[seeds[i], 0] * np.uint64(codes[i]) + words[seeds[i], 1]
        out[i] = ((total >> half) * np.uint64(g)) >> half


@valuer.register
def _(chosen: RowMap) -> Values:
    words = np.array([row_words(row) for row in range(chosen.rows)], np.uint64)

    def values(seeds: NDArray[np.int64], codes: Codes) -> NDArray[np.uint32]:
        out = np.empty(len(codes), np.uint32)
        _hash_rows(words, seeds, codes, chosen.outputs, out)
        return out

    return values


@compiled
def _permute(seeds, codes, prime, g, out):
    for i in range(codes.shape[0]):
        slope, start = seeds[i] // prime + 1, seeds[i] % prime
        out[i] = (slope * np.int64(codes[i]) + start) % prime % g


@valuer.register
def _(chosen: PermutationMap) -> Values:
    def values(seeds: NDArray[np.int64], codes: Codes) -> NDArray[np.uint32]:
        out = np.empty(len(codes), np.uint32)
        _permute(seeds, codes, chosen.prime, chosen.g, out)
        return out

    return values
