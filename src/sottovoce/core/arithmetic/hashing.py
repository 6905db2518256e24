"""The hash family of local hashing, and public words derived from a report's id."""

from __future__ import annotations

import hashlib
from fractions import Fraction

WORD = 64
_LARGEST = (1 << WORD) - 1


def hash_value(a: int, b: int, value: int, g: int, bits: int = WORD) -> int:
    """h(v) = ((((a v + b) mod 2**bits) >> bits/2) * g) >> bits/2, for v < 2**(bits/2).

    Before the last step the values of any two inputs are independent and uniform on 2**(bits/2) numbers
    (multiply-add-shift over twice the width), so collisions of h have an exactly known probability.
    """
    half, size = bits // 2, 1 << bits
    # Only the value modulo 2**bits matters; adding 2**bits makes all values, even 0, equally slow to multiply.
    return ((a * (value + size) + b) % size >> half) * g >> half


def bucket_start(y: int, g: int, bits: int = WORD) -> int:
    """The least number of bits/2 bits that the last step of the hash sends to bucket y."""
    return -(-(y << bits // 2) // g)


def collision(g: int, bits: int = WORD) -> Fraction:
    """The probability that two different values get the same hash: the sum of the squared bucket shares."""
    half = 1 << bits // 2
    # Buckets have two sizes, floor and ceiling of half / g, so the sum needs no loop over g.
    small, larger = divmod(half, g)
    total = larger * (small + 1) ** 2 + (g - larger) * small**2
    return Fraction(total, half * half)


def mixed_value(a: int, b: int, value: int, g: int) -> int:
    """A value below g <= 2**32 that two words give to a number, by the mixing steps of SplitMix64.

    Unlike `hash_value`, it has no algebraic structure: values of many numbers behave as if drawn independently. That
    is not proven, and no privacy rests on it.
    """
    mixed = (value + 1) * 0x9E3779B97F4A7C15 + a & _LARGEST
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _LARGEST
    mixed = ((mixed ^ b) ^ mixed >> 27) * 0x94D049BB133111EB & _LARGEST
    return ((mixed ^ mixed >> 31) >> 32) * g >> 32


def derived_words(words: tuple[int, int], depth: int) -> tuple[int, int]:
    """The public words of the node at a nesting depth: the id itself innermost, SHA-256(id, depth) outside."""
    if depth == 0:
        return words
    digest = hashlib.sha256(id_bytes(words) + bytes([depth])).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


def public_ticket(label: bytes, count: int) -> int:
    """A number below `count` that everyone computes from public bytes, uniformly: from SHA-256 with a counter."""
    limit = (1 << 53) - (1 << 53) % count
    for counter in range(1 << 16):
        ticket = int.from_bytes(hashlib.sha256(label + counter.to_bytes(4, "big")).digest()[:8], "big") >> 11
        if ticket < limit:
            return ticket % count
    raise AssertionError("No ticket in 65,536 draws.")


def id_bytes(words: tuple[int, int]) -> bytes:
    """The 16-byte id whose two little-endian words these are."""
    return words[0].to_bytes(8, "little") + words[1].to_bytes(8, "little")


def id_words(report_id: bytes) -> tuple[int, int]:
    """The two public words of a 16-byte id."""
    return int.from_bytes(report_id[:8], "little"), int.from_bytes(report_id[8:16], "little")
