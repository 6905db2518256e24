"""`ParityMap`: public blocks of yes/no attributes, of which a report tells all cells or parities."""

from __future__ import annotations

from math import comb
from typing import ClassVar

from sottovoce.core.arithmetic.hashing import WORD
from sottovoce.core.channel.compose.maps import NumberedMap
from sottovoce.core.declared import declared, integer, text
from sottovoce.core.params import check_integer, reject

FORMS = ("cells", "even", "parity")
MOST_ATTRIBUTES = 32
MOST_BLOCKS = 1 << 18
MOST_DIGITS = 6  # bits of a value


def digits_of(form: str, size: int) -> int:
    """Bits of the value of a block."""
    return {"cells": size, "even": size - 1, "parity": 1}[form]


@declared
class ParityMap(NumberedMap):
    """Every block of `size` of the attributes, each equally often. A code has one bit for each attribute.

    Blocks are numbered in the order of combinations, so that the first holds the first attributes; the first attribute
    is the highest bit of a code. The value of a code is, by `form`: "cells", its bits in the block; "even", whether
    each later bit of the block differs from the first, which determines all parities of even sets; "parity", whether
    the number of ones is odd.
    """

    kind: ClassVar[str] = "parities"
    keeps_inner: ClassVar[bool] = True
    attributes: int = integer(1, MOST_ATTRIBUTES)
    size: int = integer()
    form: str = text(*FORMS)
    bits: int = integer(default=WORD)

    def check_fields(self) -> None:
        most = {"cells": MOST_DIGITS, "even": MOST_DIGITS + 1, "parity": self.attributes}[self.form]
        check_integer("size", self.kind, self.size, 1 + (self.form == "even"), min(self.attributes, most))
        if self.seeds > MOST_BLOCKS:
            raise reject("size", self.kind, f"so few that there are at most {MOST_BLOCKS} blocks", self.size)
        self.check_seeds("size")

    @property
    def k(self) -> int:  # type: ignore[override]
        """How many codes there are."""
        return 1 << self.attributes

    @property
    def seeds(self) -> int:
        return comb(self.attributes, self.size)

    @property
    def digits(self) -> int:
        """Bits of a value."""
        return digits_of(self.form, self.size)

    @property
    def outputs(self) -> int:
        return 1 << self.digits

    def block(self, seed: int) -> tuple[int, ...]:
        """The attributes of the block with this number, in rising order."""
        chosen, left, place = [], self.size, 0
        while left:
            later = comb(self.attributes - place - 1, left - 1)  # blocks whose next attribute is this one
            taken = seed < later
            if taken:
                chosen.append(place)
            else:
                seed -= later
            left -= taken
            place += 1
        return tuple(chosen)

    def value(self, seed: int, code: int) -> int:
        ones = [code >> (self.attributes - 1 - place) & 1 for place in self.block(seed)]
        if self.form == "parity":
            return sum(ones) & 1
        kept = ones if self.form == "cells" else [one ^ ones[0] for one in ones[1:]]
        value = 0
        for one in kept:
            value = value << 1 | one
        return value

    def miniatures(self, outputs: int) -> tuple[ParityMap, ...]:
        """Blocks of one attribute fewer than there are, or of all where they are large; parities of two attributes."""
        size = min(self.size, 2) if self.form == "parity" else self.size
        return (type(self)(size + (size <= 3), size, self.form, 2),) if outputs == self.outputs else ()
