"""`FragmentMap`: a fragment of a long code, with a check of all of it, through a public linear map."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.arithmetic.field import dot, polynomial
from sottovoce.core.arithmetic.hashing import WORD, mixed_value
from sottovoce.core.channel.compose.maps import NumberedMap
from sottovoce.core.declared import INTEGER, Form, declared, delegated, integer
from sottovoce.core.params import check_integer, reject

MOST_CODES = 1 << 52
MOST_FRAGMENTS = 8
MOST_VALUES = 1 << 8
ROUNDS = 4  # of mixing


@declared
class FragmentMap(NumberedMap):
    """An even number of fragments of a code, and a hash of all of it; the id chooses one, and a linear map of its cell.

    The bits of a code are mixed by a fixed public permutation and cut into fragments of equal length. The cell of a
    fragment is the fragment with check bits above it, which depend on the whole code. The last cell is a hash of the
    whole code. A cell is a vector of `digits` elements of the field of g elements, and the value is its inner product
    with a public vector whose last element that is not 0 is 1. Every two different cells have the same value under the
    same number of these vectors.
    """

    kind: ClassVar[str] = "fragments"
    keeps_inner: ClassVar[bool] = True
    derived: ClassVar[Mapping[str, Form]] = {"polynomial": INTEGER}
    k: int = integer(2, MOST_CODES)
    g: int = integer(2, MOST_VALUES)
    digits: int = integer(1, 24)
    fragments: int = integer(2, MOST_FRAGMENTS)
    bits: int = integer(default=WORD)
    outputs = delegated("g")

    def check_fields(self) -> None:
        if self.g & (self.g - 1):
            raise reject("g", self.kind, f"a power of two up to {MOST_VALUES}", self.g)
        if self.fragments % 2:
            raise reject("fragments", self.kind, "an even number", self.fragments)
        check_integer("digits", self.kind, self.digits, 1, 24 // self.digit_bits)
        if self.check_bits < 1:
            raise reject("digits", self.kind, "so many that a cell has at least one check bit", self.digits)
        self.check_seeds("digits")

    @property
    def polynomial(self) -> int:
        """The polynomial of the field of g elements."""
        return polynomial(self.g)

    @property
    def digit_bits(self) -> int:
        """Bits of an element of the field."""
        return self.g.bit_length() - 1

    @property
    def width(self) -> int:
        """Bits of a fragment."""
        return -(-(self.k - 1).bit_length() // self.fragments)

    @property
    def check_bits(self) -> int:
        """Bits of a cell that depend on the whole code."""
        return self.digits * self.digit_bits - self.width

    @property
    def parts(self) -> int:
        """How many cells a code has: one for each fragment, and one for all of it."""
        return self.fragments + 1

    @property
    def vectors(self) -> int:
        """How many public vectors there are."""
        return int((self.g**self.digits - 1) // (self.g - 1))

    @property
    def seeds(self) -> int:
        return self.parts * self.vectors

    def halves(self, code: int) -> tuple[int, int]:
        """The mixed bits of a code: its lower half, then its upper half, each of half of the fragments."""
        half = self.width * self.fragments // 2
        low, high = code % (1 << half), code >> half
        for turn in range(ROUNDS):
            low, high = high, low ^ mixed_value(turn, 0, high, 1 << half)
        return low, high

    def code_of(self, low: int, high: int) -> int:
        """The code whose mixed halves these are; it may be k or more."""
        half = self.width * self.fragments // 2
        for turn in reversed(range(ROUNDS)):
            low, high = high ^ mixed_value(turn, 0, low, 1 << half), low
        return high << half | low

    def cells(self, code: int) -> tuple[int, ...]:
        """The cell of each fragment, the check bits of the code above its own bits; then that of the whole code."""
        low, high = self.halves(code)
        check = self._hashed(ROUNDS, low, high, 1 << self.check_bits) << self.width
        each, mask = self.fragments // 2, (1 << self.width) - 1
        own = (check | part >> self.width * place & mask for part in (low, high) for place in range(each))
        return (*own, self._hashed(ROUNDS + 2, low, high, self.g**self.digits))

    @staticmethod
    def _hashed(turn: int, low: int, high: int, size: int) -> int:
        """A public hash of both halves, which two people who know one half each can search together."""
        return mixed_value(turn, 0, low, size) ^ mixed_value(turn + 1, 0, high, size)

    def vector(self, number: int) -> int:
        """The public vector with this number, as a number in base g: by the place of its last element, which is 1."""
        top = 1
        while number >= top:
            number, top = number - top, top * self.g
        return top + number

    def value(self, seed: int, code: int) -> int:
        part, number = divmod(seed, self.vectors)
        return dot(self.vector(number), self.cells(code)[part], self.g, self.digits)

    @property
    def collision(self) -> Fraction:
        """The probability that two different cells have the same value."""
        size = self.g**self.digits
        return Fraction(size // self.g - 1, size - 1)

    def miniatures(self, outputs: int) -> tuple[FragmentMap, ...]:
        digits, bits = (2, 4) if outputs <= 4 else (1, 2)  # ids of a few bits choose one of all vectors
        return (type(self)(min(self.k, 4), outputs, digits, 2, bits),) if outputs == self.g else ()
