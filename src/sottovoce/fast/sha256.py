"""SHA-256 of many short messages of one length: a Python call for each would cost more than counting the report."""

from __future__ import annotations

from math import isqrt

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sottovoce.fast.compiled import compiled

LONGEST = 55  # bytes that fit into one block, beside its padding
_MASK = np.uint64(0xFFFFFFFF)


def _primes(count: int) -> list[int]:
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % prime for prime in found):
            found.append(number)
        number += 1
    return found


def _cube_root(number: int) -> int:
    """The largest whole number whose cube is not larger."""
    root = int(number ** (1 / 3))
    while root**3 > number:
        root -= 1
    while (root + 1) ** 3 <= number:
        root += 1
    return root


# FIPS 180-4: the first 32 bits of the fractional parts of square and cube roots of the first primes.
_START = np.array([isqrt(prime << 64) & 0xFFFFFFFF for prime in _primes(8)], np.uint64)
_ROUND = np.array([_cube_root(prime << 96) & 0xFFFFFFFF for prime in _primes(64)], np.uint64)


@njit(nogil=True, inline="always")
def _turned(word, places):
    """A word of 32 bits, rotated to the right."""
    return (word >> np.uint64(places) | word << np.uint64(32 - places)) & _MASK


@compiled
def _digests(rows, start, constants, out):
    length = rows.shape[1]
    words = np.empty(64, np.uint64)
    block = np.zeros(64, np.uint8)
    block[length] = 0x80
    block[62] = (8 * length) >> 8
    block[63] = (8 * length) & 0xFF
    for row in range(rows.shape[0]):
        for place in range(length):
            block[place] = rows[row, place]
        for i in range(16):
            words[i] = (
                np.uint64(block[4 * i]) << np.uint64(24)
                | np.uint64(block[4 * i + 1]) << np.uint64(16)
                | np.uint64(block[4 * i + 2]) << np.uint64(8)
                | np.uint64(block[4 * i + 3])
            )
        for i in range(16, 64):
            x, y = words[i - 15], words[i - 2]
            small = _turned(x, 7) ^ _turned(x, 18) ^ (x >> np.uint64(3))
            large = _turned(y, 17) ^ _turned(y, 19) ^ (y >> np.uint64(10))
            words[i] = (words[i - 16] + small + words[i - 7] + large) & _MASK
        a, b, c, d, e, f, g, h = start[0], start[1], start[2], start[3], start[4], start[5], start[6], start[7]
        for i in range(64):
            mixed = _turned(e, 6) ^ _turned(e, 11) ^ _turned(e, 25)
            first = h + mixed + (e & f ^ (e ^ _MASK) & g) + constants[i] + words[i]
            second = (_turned(a, 2) ^ _turned(a, 13) ^ _turned(a, 22)) + (a & b ^ a & c ^ b & c)
            h, g, f, e, d, c, b, a = g, f, e, (d + first) & _MASK, c, b, a, (first + second) & _MASK
        out[row, 0] = ((start[0] + a) & _MASK) << np.uint64(32) | (start[1] + b) & _MASK
        out[row, 1] = ((start[2] + c) & _MASK) << np.uint64(32) | (start[3] + d) & _MASK
        out[row, 2] = ((start[4] + e) & _MASK) << np.uint64(32) | (start[5] + f) & _MASK
        out[row, 3] = ((start[6] + g) & _MASK) << np.uint64(32) | (start[7] + h) & _MASK


def digests(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The digest of each row of bytes, as four numbers of 64 bits, the first bytes in the first of them."""
    if rows.shape[1] > LONGEST:
        raise ValueError(f"A message has at most {LONGEST} bytes here.")
    out = np.empty((len(rows), 4), np.uint64)
    _digests(np.ascontiguousarray(rows), _START, _ROUND, out)
    return out
