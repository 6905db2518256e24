"""The hash family of local hashing, and public words derived from a report's id."""

from __future__ import annotations

import hashlib
from fractions import Fraction

WORD = 64


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
