"""Arithmetic of words for kernels: exact remainders without a division, and positions and counts of bits.

Numba's cache of a kernel looks at the kernel's own file only: after a change here, clear the caches (`*.nbi`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from sottovoce.core.arithmetic.rational import FINE

_WORD = 64


class Divisor(NamedTuple):
    """The numbers by which `remainder` divides by n."""

    n: np.uint64
    magic: np.uint64
    extra: np.uint64


def divisor(n: int) -> Divisor:
    """The reciprocal of n, rounded up to magic / 2**(64 + extra): exact for dividends below 2**53.

    With magic n = 2**(64 + extra) + e, 0 < e <= n, the quotient r magic / 2**(64 + extra) exceeds r / n by
    r e / (n 2**(64 + extra)). That stays below 1/n, so that the floor is the same, as long as r e < 2**(64 +
    extra); and r e < 2**53 n <= 2**(64 + extra) by the choice of `extra`. Only n = 1 has no reciprocal of 64
    bits; the largest one is too small by so little that the quotient is short by at most one, which
    `remainder` mends.
    """
    if not 0 < n <= 1 << FINE:
        raise ValueError(f"A draw must have between 1 and 2**{FINE} outcomes. Got {n}.")
    extra = max(0, (n - 1).bit_length() - (_WORD - FINE))
    magic = min((1 << (_WORD + extra)) // n + 1, (1 << _WORD) - 1)
    return Divisor(np.uint64(n), np.uint64(magic), np.uint64(extra))


def last_start(n: int, bits: int) -> np.uint64:
    """The last place among the 2**bits draws where a full run of n outcomes may start.

    A draw r lies in the run that starts at r - r % n; if that is above this number the run is cut short, and r is
    rejected: the same draws as r >= 2**bits - 2**bits % n, found without that remainder.
    """
    size = 1 << bits
    if not 0 < n <= size:
        raise ValueError(f"A draw from {n} outcomes needs 1 <= outcomes <= {size}.")
    return np.uint64(size - n)


@intrinsic
def high_product(typing: Any, left: Any, right: Any) -> Any:
    """The upper word of the product of two words: one machine instruction, for which Numba has no name."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        double = ir.IntType(2 * _WORD)
        wide = [builder.zext(argument, double) for argument in arguments]
        shifted = builder.lshr(builder.mul(*wide), ir.Constant(double, _WORD))
        return builder.trunc(shifted, ir.IntType(_WORD))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def ones(typing: Any, word: Any) -> Any:
    """How many bits of a word are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def lowest(typing: Any, word: Any) -> Any:
    """The position of the lowest set bit of a nonzero word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@njit(nogil=True, inline="always")
def remainder(r, n, magic, extra):
    """r % n for r < 2**53, with the numbers of `divisor(n)`."""
    rest = r - (high_product(r, magic) >> extra) * n
    return min(rest, rest - n)  # rest < n: the difference wraps around; rest = n = 1: it is zero


@njit(nogil=True, inline="always")
def remainder_by_float(r, n, reciprocal):
    """r % n for signed 0 <= r < 2**53 and 0 < n < 2**32, with the float 1 / n; loops of it become vector instructions.

    r is a float exactly, and reciprocal and product are each rounded by a relative 2**-53 at most. So the quotient is
    off by less than 1 for n > 2, and exact for n = 1 and 2: its floor is at most one too low or too high.
    """
    rest = r - np.int64(np.float64(r) * reciprocal) * n
    rest += n * (rest < 0)
    return rest - n * (rest >= n)
