"""SHA-256 of many short messages of one length: a Python call for each would cost more than counting the report."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.fast.compiled import compiled

LONGEST = 55  # bytes that fit into one block, beside its padding
_BESIDE = 32  # messages at a time


def _primes(count: int) -> list[int]:
    primes: list[int] = []
    number = 2
    while len(primes) < count:
        if all(number % prime for prime in primes):
            primes.append(number)
        number += 1
    return primes


def _cube_root(number: int) -> int:
    """The largest whole number whose cube is not larger."""
    root = int(number ** (1 / 3))
    while root**3 > number:
        root -= 1
    while (root + 1) ** 3 <= number:
        root += 1
    return root


# FIPS 180-4: the first 32 bits of the fractional parts of square and cube roots of the first primes.
_START = np.array([isqrt(prime << 64) & 0xFFFFFFFF for prime in _primes(8)], np.uint32)
_ROUND = np.array([_cube_root(prime << 96) & 0xFFFFFFFF for prime in _primes(64)], np.uint32)


@njit(nogil=True, inline="always")
def _turned(word, places):
    """A word of 32 bits, rotated to the right."""
    return np.uint32(word >> np.uint32(places) | word << np.uint32(32 - places))


@compiled
def _digests(rows, start, constants, out):
    """Messages side by side: the innermost loops run over them, so that one instruction works on several."""
    length = rows.shape[1]
    words, state = np.empty((64, _BESIDE), np.uint32), np.empty((8, _BESIDE), np.uint32)
    blocks = np.zeros((_BESIDE, 64), np.uint8)
    blocks[:, length] = 0x80
    blocks[:, 62] = (8 * length) >> 8
    blocks[:, 63] = (8 * length) & 0xFF
    for first in range(0, rows.shape[0], _BESIDE):
        count = min(_BESIDE, rows.shape[0] - first)
        for one in range(count):
            for place in range(length):
                blocks[one, place] = rows[first + one, place]
        _schedule(blocks, words)
        _compress(words, state, start, constants)
        for one in range(count):
            for word in range(4):
                high = np.uint32(start[2 * word] + state[2 * word, one])
                low = np.uint32(start[2 * word + 1] + state[2 * word + 1, one])
                out[first + one, word] = np.uint64(high) << np.uint64(32) | np.uint64(low)


@njit(nogil=True)
def _schedule(blocks, words):
    for i in range(16):
        for one in range(_BESIDE):
            words[i, one] = (
                np.uint32(blocks[one, 4 * i]) << np.uint32(24)
                | np.uint32(blocks[one, 4 * i + 1]) << np.uint32(16)
                | np.uint32(blocks[one, 4 * i + 2]) << np.uint32(8)
                | np.uint32(blocks[one, 4 * i + 3])
            )
    for i in range(16, 64):
        for one in range(_BESIDE):
            x, y = words[i - 15, one], words[i - 2, one]
            small = _turned(x, 7) ^ _turned(x, 18) ^ (x >> np.uint32(3))
            large = _turned(y, 17) ^ _turned(y, 19) ^ (y >> np.uint32(10))
            words[i, one] = np.uint32(words[i - 16, one] + small + words[i - 7, one] + large)


@njit(nogil=True)
def _compress(words, state, start, constants):
    for row in range(8):
        state[row, :] = start[row]
    for i in range(64):
        # The eight words move up by one place in each round: rows stay where they are, and their names move.
        a, b, c, d = state[-i & 7], state[(1 - i) & 7], state[(2 - i) & 7], state[(3 - i) & 7]
        e, f, g, h = state[(4 - i) & 7], state[(5 - i) & 7], state[(6 - i) & 7], state[(7 - i) & 7]
        own = words[i]
        for one in range(_BESIDE):
            x, y = a[one], e[one]
            mixed = _turned(y, 6) ^ _turned(y, 11) ^ _turned(y, 25)
            added = np.uint32(h[one] + mixed + (g[one] ^ y & (f[one] ^ g[one])) + constants[i] + own[one])
            majority = x & b[one] | c[one] & (x | b[one])
            d[one] = np.uint32(d[one] + added)
            h[one] = np.uint32(added + (_turned(x, 2) ^ _turned(x, 13) ^ _turned(x, 22)) + majority)


def digests(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The digest of each row of bytes, as four numbers of 64 bits, the first bytes in the first of them."""
    if rows.shape[1] > LONGEST:
        raise ValueError(f"A message has at most {LONGEST} bytes here.")
    out = np.empty((len(rows), 4), np.uint64)
    _digests(np.ascontiguousarray(rows), _START, _ROUND, out)
    return out
