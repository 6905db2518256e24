"""`Wheel`: items lie on a circle by a public hash, and a position is reported that is likelier in an arc of an item."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from sottovoce.core.arithmetic.hashing import WORD, mixed_value
from sottovoce.core.arithmetic.rational import UNIT, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, check_informative
from sottovoce.core.channel.facets import Costed, Numbered, PublicCoins, Rates
from sottovoce.core.channel.finite.hitting import MAX_MOST, held_elements, item_sets
from sottovoce.core.channel.listing import CodeList
from sottovoce.core.channel.shapes import Itemised, PairRates
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, in_units, integer
from sottovoce.core.domain.sets import MAX_ITEMS
from sottovoce.core.params import check_integer, reject
from sottovoce.core.spec_cost import Effort, summed

MAX_POSITIONS = 1 << 20


@declared
class Wheel(Channel, Numbered, Itemised, PublicCoins, Costed):
    """A position of a circle. Each of the items, and of `most` fillers, begins an arc of `arc` positions.

    Where an arc begins is a hash of the report's id. A person who holds fewer than `most` items also holds the first
    fillers, so that everyone holds `most` arcs. Each position in an arc that is held is reported with probability
    `weight` in units of 2**-53; the other positions share the rest. Arcs that overlap leave more for these, so that the
    rarest report has the same probability whatever the hash does. Rates are those of arcs that begin independently and
    uniformly: words of 64 bits choose them by a mixing function, short ones in proofs list them.
    """

    kind: ClassVar[str] = "wheel"
    codes_are_indices: ClassVar[bool] = False  # codes are masks of items
    picked: ClassVar[int] = 1  # type: ignore[misc]
    publics: ClassVar[int] = 1
    words: ClassVar[int] = 2
    items: int = integer(2, MAX_ITEMS)
    most: int = integer()
    positions: int = integer(2, MAX_POSITIONS)
    arc: int = integer()
    weight: int = in_units()
    bits: int = integer(default=WORD)
    outputs = delegated("positions")
    public_bits = delegated("bits")

    def check_fields(self) -> None:
        check_integer("most", self.kind, self.most, 1, min(self.items, MAX_MOST))
        check_integer("arc", self.kind, self.arc, 1, (self.positions - 1) // self.most)
        short = self.bits in (2, 3, 4) and not (1 << 2 * self.bits) % self.positions**self.elements
        if self.bits != WORD and not short:
            raise reject("bits", self.kind, "64 (2, 3 or 4 in proofs, where the id lists all arcs)", self.bits)
        if not self.weight * self.arc * self.most < UNIT:
            raise reject("weight", self.kind, "so small that a report need not lie in an arc", self.weight)
        check_informative(self.kind, *self.item_rates())

    @property
    def elements(self) -> int:
        return self.items + self.most

    @property
    def inputs(self) -> int:
        return self.codes().total

    def codes(self) -> CodeList:
        return item_sets(self.items, self.most)

    def start(self, element: int, public: Words) -> int:
        """Where the arc of an element begins."""
        if self.bits == WORD:
            return mixed_value(*public, element, self.positions)
        size = 1 << self.bits  # outer public words have 64 bits even in proofs
        return (public[0] % size * size + public[1] % size) // int(self.positions**element) % self.positions

    def starts(self, code: int, public: Words) -> list[int]:
        """Where the arcs of a person begin, in rising order."""
        return sorted(self.start(element, public) for element in held_elements(code, self.items, self.most))

    def _gaps(self, starts: list[int]) -> list[int]:
        """How many positions of each arc come before the next one begins."""
        after = [*starts[1:], starts[0] + self.positions]
        return [min(self.arc, later - start) for start, later in zip(starts, after, strict=True)]

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        starts = self.starts(code, public)
        own = self._gaps(starts)
        inside = sum(own)
        hit = coins.flip(self.weight * inside)
        index = coins.below((self.positions - inside, inside)[hit])
        after = [*starts[1:], starts[0] + self.positions]
        position = starts[0]
        for start, later, length in zip(starts, after, own, strict=True):
            begin, count = ((start + length, later - start - length), (start, length))[hit]
            position = (position, begin + index)[0 <= index < count]
            index -= count
        return position % self.positions

    @property
    def payload_bits(self) -> int:
        return int((self.positions - 1).bit_length())

    def contains(self, report: int) -> bool:
        return 0 <= report < self.positions

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        starts = self.starts(code, public)
        inside = sum(self._gaps(starts))
        if any((report - start) % self.positions < self.arc for start in starts):
            return units(self.weight)
        return (1 - units(self.weight * inside)) / (self.positions - inside)

    def ratio(self) -> Fraction:
        """The rarest report lies outside of arcs that do not overlap."""
        full = self.arc * self.most
        return units(self.weight) * (self.positions - full) / (1 - units(self.weight * full))

    def holds(self, report: int, element: int, public: Words = NO_WORDS) -> bool:
        return (report - self.start(element, public)) % self.positions < self.arc

    def item_rates(self) -> Rates:
        """The arc of an element that is not held begins anywhere."""
        return Rates(self.arc * units(self.weight), Fraction(self.arc, self.positions))

    def pair_rates(self) -> PairRates:
        own, other = self.item_rates()
        return PairRates(own * other, own * other, other * other)

    def effort(self) -> Effort:
        return summed(self, Effort(192, 4 * self.most, 8))

    def miniatures(self) -> tuple[Channel, ...]:
        """Few items on so small a circle that an id lists where all arcs begin."""
        shapes = ((2, 1, 4, 1, 3), (2, 2, 4, 1, 4), (2, 1, 4, 2, 3))
        return tuple(type(self)(*shape[:4], arc_weight(*shape[1:4], self.ratio()), shape[4]) for shape in shapes)


@lru_cache(maxsize=64)
def arc_weight(most: int, positions: int, arc: int, ratio: Fraction) -> int:
    """The probability of a position in an arc, in units, with which no report exceeds this ratio; rounded down."""
    full = most * arc
    return int(ratio * UNIT / (positions - full + ratio * full))
