"""Kernels of fragments of long codes: values of many pairs of public vector and code, and cells of codes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.core.channel import FragmentMap
from sottovoce.core.channel.compose.fragments import ROUNDS
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.base import Codes
from sottovoce.fast.kernels.compose.public import product_table, valuer
from sottovoce.fast.kernels.compose.spread import cell_of

CHECK, WHOLE = ROUNDS, ROUNDS + 2  # the first of the two turns of a hash


@njit(nogil=True, inline="always")
def halves(code, half):
    """`FragmentMap.halves`."""
    size = np.uint64(1) << half
    low, high = code & (size - np.uint64(1)), code >> half
    for turn in range(ROUNDS):
        low, high = high, low ^ cell_of(np.uint64(turn), np.uint64(0), high, size)
    return low, high


@njit(nogil=True, inline="always")
def code_of(low, high, half):
    """`FragmentMap.code_of`."""
    size = np.uint64(1) << half
    for back in range(ROUNDS):
        turn = np.uint64(ROUNDS - 1 - back)
        low, high = high ^ cell_of(turn, np.uint64(0), low, size), low
    return high << half | low


@njit(nogil=True, inline="always")
def hashed_half(turn, part, is_high, size):
    """The part of one half in a hash of a code."""
    return cell_of(np.uint64(turn + 1 if is_high else turn), np.uint64(0), part, size)


@compiled
def _cell_table(codes, width, fragments, check_bits, out):
    """The cells of codes, one row each."""
    one = np.uint64(1)
    half, mask = np.uint64(width * fragments // 2), (one << np.uint64(width)) - one
    size, all_bits = one << np.uint64(check_bits), one << np.uint64(check_bits + width)
    for i in range(codes.shape[0]):
        low, high = halves(np.uint64(codes[i]), half)
        check = (hashed_half(CHECK, low, False, size) ^ hashed_half(CHECK, high, True, size)) << np.uint64(width)
        for place in range(fragments):
            part = low if place < fragments // 2 else high
            moved = np.uint64(width * (place % (fragments // 2)))
            out[i, place] = np.int64(check | ((part >> moved) & mask))
        whole = hashed_half(WHOLE, low, False, all_bits) ^ hashed_half(WHOLE, high, True, all_bits)
        out[i, fragments] = np.int64(whole)


@compiled
def _values(parts, numbers, cells, g, digits, products, out):
    """Inner products of public vectors and cells."""
    for i in range(cells.shape[0]):
        number, top = numbers[i], np.int64(1)
        while number >= top:
            number -= top
            top *= g
        a, b, total = top + number, cells[i, parts[i]], np.uint32(0)
        for _ in range(digits):
            total ^= products[a % g, b % g]
            a //= g
            b //= g
        out[i] = total


def cells_of(chosen: FragmentMap, codes: Codes) -> NDArray[np.int64]:
    """The cells of codes, one row each."""
    out = np.empty((len(codes), chosen.parts), np.int64)
    _cell_table(codes.astype(np.uint64, copy=False), chosen.width, chosen.fragments, chosen.check_bits, out)
    return out


def products_of(g: int) -> NDArray[np.uint32]:
    """The multiplication table of a field of 2**r elements."""
    return np.array([[0, 0], [0, 1]], np.uint32) if g == 2 else product_table(g)


@valuer.register
def _(chosen: FragmentMap) -> Callable[[NDArray[np.int64], Codes], NDArray[np.uint32]]:
    products, vectors = products_of(chosen.g), chosen.vectors

    def values(seeds: NDArray[np.int64], codes: Codes) -> NDArray[np.uint32]:
        out = np.empty(len(codes), np.uint32)
        parts, numbers = seeds // vectors, seeds % vectors
        _values(parts, numbers, cells_of(chosen, codes), chosen.g, chosen.digits, products, out)
        return out

    return values
