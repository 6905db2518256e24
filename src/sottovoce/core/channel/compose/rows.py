"""Numbered public functions: Bloom filters and permutations that are balanced, and hashed rows for open domains."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from sottovoce.core.arithmetic.field import MAX_ORDER, dot, is_order, is_prime, polynomial
from sottovoce.core.arithmetic.hashing import WORD, hash_value
from sottovoce.core.channel.compose.maps import NumberedMap, with_collisions
from sottovoce.core.channel.facets import Rates
from sottovoce.core.channel.finite.bits import MAX_BLOCKS
from sottovoce.core.declared import INTEGER, Form, declared, delegated, integer
from sottovoce.core.params import check_integer, reject

MAX_FUNCTIONS = 1 << 24
MAX_CODES = 1 << 32


@declared
class BloomMap(NumberedMap):
    """A balanced pool of Bloom filters: one bit in each of `blocks` blocks of g positions.

    In each block the functions are all linear maps of the balanced pool (`PoolMap`), numbered from another start, so
    two different codes meet in a block under exactly one in g of the functions. The value is the number whose digits
    in base g are the positions, that of the first block being the lowest.
    """

    kind: ClassVar[str] = "bloom"
    orthogonal: ClassVar[bool] = True
    derived: ClassVar[Mapping[str, Form]] = {"polynomial": INTEGER}
    k: int = integer()
    g: int = integer(2, MAX_ORDER)
    digits: int = integer(1, 24)
    blocks: int = integer(1, MAX_BLOCKS)
    bits: int = integer(default=WORD)

    def check_fields(self) -> None:
        if not is_order(self.g):
            raise reject("g", self.kind, "a prime, or a power of two up to 256", self.g)
        check_integer("k", self.kind, self.k, 2, min(self.seeds, MAX_FUNCTIONS))
        self.check_seeds("digits")

    @property
    def polynomial(self) -> int:
        """The polynomial of the field of g elements."""
        return polynomial(self.g)

    @property
    def seeds(self) -> int:
        return int(self.g**self.digits)

    @property
    def outputs(self) -> int:
        return int(self.g**self.blocks)

    def position(self, seed: int, block: int, code: int) -> int:
        """The position of a code in a block. The numbers of the functions are shifted, which keeps them balanced."""
        return dot((seed + block * (self.seeds // self.blocks)) % self.seeds, code, self.g, self.digits)

    def value(self, seed: int, code: int) -> int:
        return sum(self.position(seed, block, code) * self.g**block for block in range(self.blocks))

    def miniatures(self, outputs: int) -> tuple[BloomMap, ...]:
        """Small instances with words of two bits, since a memo behind them has many outcomes."""
        side = round(outputs ** (1 / self.blocks))
        blocks = self.blocks if side >= 2 and side**self.blocks == outputs else 2 if outputs == 4 else 1
        side = side if blocks == self.blocks else round(outputs ** (1 / blocks))
        digits = {2: 2, 3: 1, 4: 1}.get(side)
        return () if digits is None else (type(self)(min(self.k, 3, side**digits), side, digits, blocks, 2),)


@declared
class RowMap(NumberedMap):
    """Few hashed functions for up to 2**32 codes: the rows of a sketch, or cohorts with Bloom filters.

    Row r is the function of the hash family (`core.arithmetic.hashing`) whose two words are SHA-256 of its number,
    to g**blocks values: the positions in `blocks` blocks of g are their digits in base g, a power of two. Fewer
    functions than codes cannot be balanced: two given codes meet in more or fewer than one in g of the rows, so shares
    are estimated for a list of candidates together.
    """

    kind: ClassVar[str] = "rows"
    k: int = integer(2, MAX_CODES)
    g: int = integer(2, 1 << 16)
    blocks: int = integer(1, MAX_BLOCKS)
    rows: int = integer(1, 1 << 16)
    bits: int = integer(default=WORD)
    seeds = delegated("rows")

    def check_fields(self) -> None:
        if self.g & (self.g - 1) or self.outputs > 1 << MAX_BLOCKS:
            raise reject("g", self.kind, "a power of two, with g**blocks of at most 2**20", self.g)
        self.check_seeds("rows")

    @property
    def outputs(self) -> int:
        return int(self.g**self.blocks)

    def value(self, seed: int, code: int) -> int:
        return hash_value(*row_words(seed), code, self.outputs)

    def miniatures(self, outputs: int) -> tuple[RowMap, ...]:
        blocks = self.blocks if outputs >> self.blocks else 1
        side = round(outputs ** (1 / blocks))
        if side & (side - 1) or side**blocks != outputs:
            return ()
        return (type(self)(min(self.k, 3), side, blocks, 4, 2),)


@lru_cache(maxsize=1 << 12)
def row_words(row: int) -> tuple[int, int]:
    """The two words of the hash function of a row."""
    digest = hashlib.sha256(b"sottovoce rows 1|%d" % row).digest()
    return int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:16], "little")


@declared
class PermutationMap(NumberedMap):
    """Every permutation x -> a x + b of the numbers below a prime, followed by the remainder modulo g.

    Two different codes are sent to each pair of different numbers by exactly one of the prime (prime - 1) permutations,
    so they collide less often than under a hash, and with a known probability.
    """

    kind: ClassVar[str] = "permutations"
    k: int = integer()
    prime: int = integer(2, MAX_ORDER)
    g: int = integer()
    bits: int = integer(default=WORD)
    outputs = delegated("g")

    def check_fields(self) -> None:
        check_integer("k", self.kind, self.k, 2, self.prime)
        check_integer("g", self.kind, self.g, 2, self.prime)
        if not is_prime(self.prime):
            raise reject("prime", self.kind, "a prime", self.prime)
        self.check_seeds("prime")

    @property
    def seeds(self) -> int:
        return self.prime * (self.prime - 1)

    def value(self, seed: int, code: int) -> int:
        slope, start = divmod(seed, self.prime)
        return ((slope + 1) * code + start) % self.prime % self.g

    @property
    def collision(self) -> Fraction:
        """The probability that two different codes have the same value."""
        small, larger = divmod(self.prime, self.g)
        pairs = larger * (small + 1) * small + (self.g - larger) * small * (small - 1)
        return Fraction(pairs, self.prime * (self.prime - 1))

    def rates(self, inner: Rates) -> Rates:
        return with_collisions(inner, self.collision)

    def miniatures(self, outputs: int) -> tuple[PermutationMap, ...]:
        return (type(self)(min(self.k, 3), max(3, outputs), outputs, 4),) if outputs in (2, 3) else ()
