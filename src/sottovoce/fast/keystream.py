"""The keystream of AES-256 in counter mode, by whichever mode of OpenSSL is faster on this processor.

OpenSSL encrypts several blocks with one instruction (VAES) in Galois/counter mode (GCM) but not in counter mode, so GCM
is more than twice as fast. GCM encrypts in counter mode too. Its first counter is GHASH of the nonce, which can be
inverted if the key is known: there is a nonce for each first counter. The authentication tag is never computed.
"""

from __future__ import annotations

import time
from functools import cache

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

BLOCK = 16
MANY = 1 << 18  # blocks for which a nonce, which takes 0.1 ms, is worth its time
_LOW = 1 << 32  # GCM counts in the last 32 bits of a block
_FIELD = 1 << 128 | 0x87  # x**128 + x**7 + x**2 + x + 1: GHASH multiplies modulo this polynomial
_LENGTH = 128  # bits of a nonce, which GHASH appends to it


def keystream(key: bytes, counter: int, blocks: int) -> CipherContext:
    """Encrypt zeros to the ciphers of `counter`, `counter` + 1 and so on, at most so many `blocks`."""
    if blocks >= MANY and counter % _LOW + blocks <= _LOW and gcm_is_faster():
        return by_gcm(key, counter)
    return by_ctr(key, counter)


def by_ctr(key: bytes, counter: int) -> CipherContext:
    """The keystream by OpenSSL's counter mode."""
    return Cipher(algorithms.AES(key), modes.CTR(counter.to_bytes(BLOCK, "big"))).encryptor()


def by_gcm(key: bytes, counter: int) -> CipherContext:
    """The keystream by OpenSSL's Galois/counter mode; it must not reach a multiple of 2**32 above the counter."""
    zero = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(bytes(BLOCK))
    inverse = _inverse(_polynomial(int.from_bytes(zero, "big")))
    before = counter - counter % _LOW + (counter - 1) % _LOW  # the block before the first one
    hashed = _product(_polynomial(before), inverse) ^ _polynomial(_LENGTH)
    nonce = _polynomial(_product(hashed, inverse))
    return Cipher(algorithms.AES(key), modes.GCM(nonce.to_bytes(BLOCK, "big"))).encryptor()


@cache
def gcm_is_faster() -> bool:
    """Whether GCM encrypts faster than counter mode here: measured once in a process, in less than a millisecond."""
    zeros, out = bytes(1 << 16), bytearray((1 << 16) + BLOCK)

    def seconds(context: CipherContext) -> float:
        times = []
        for _ in range(4):
            start = time.perf_counter()
            context.update_into(zeros, out)
            times.append(time.perf_counter() - start)
        return min(times)

    key = bytes(32)
    return seconds(by_gcm(key, 1)) < seconds(by_ctr(key, 1))


def _polynomial(block: int) -> int:
    """The polynomial of a block, or the block of a polynomial: GHASH writes the lowest power first."""
    return int(f"{block:0128b}"[::-1], 2)


def _product(left: int, right: int) -> int:
    """The product of two polynomials in the field of GHASH."""
    result = 0
    while right:
        result ^= left * (right & 1)
        right >>= 1
        left <<= 1
        left ^= _FIELD * (left >> 128)
    return result


def _inverse(polynomial: int) -> int:
    """The inverse of a polynomial other than zero in the field of GHASH, by Euclid's algorithm."""
    rest, other = polynomial, _FIELD
    factor, other_factor = 1, 0
    while rest != 1:
        shift = rest.bit_length() - other.bit_length()
        if shift < 0:
            rest, other, factor, other_factor, shift = other, rest, other_factor, factor, -shift
        rest ^= other << shift
        factor ^= other_factor << shift
    return factor
