"""`SampledCoordinates`: a few coordinates of a vector, chosen by public words, each through the same channel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

from sottovoce.core.arithmetic.hashing import WORD
from sottovoce.core.arithmetic.rational import FINE, UNIT
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.compose.stages import Then
from sottovoce.core.channel.facets import (
    Coordinates,
    Costed,
    Divergent,
    Facet,
    Numeric,
    PublicCoins,
    Scale,
    dimensions_of,
    facet,
    outputs_of,
    stages_of,
)
from sottovoce.core.channel.finite.table import Table
from sottovoce.core.channel.listing import product_codes
from sottovoce.core.channel.numeric.grids import GRIDS
from sottovoce.core.channel.numeric.rounding import Rounding
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, integer, of_form, part
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.params import check_integer, reject
from sottovoce.core.spec_cost import Effort, effort, short_steps, summed

MAX_BITS = 1 << 23  # of the numbers in a ratio: reading a specification must not take minutes


@declared
class SampledCoordinates(Channel, Coordinates, PublicCoins, Divergent, Costed):
    """`count` of the coordinates, from one that the report's id chooses on and round the end, are rounded to their
    grids and randomized by `inner`, independently; their reports stand side by side, the first chosen one lowest.

    Every coordinate is chosen by the same share of all ids. Where all are chosen no id is needed, and they come in
    their own order. The id is independent of the answer; given it, the ratios of the chosen coordinates multiply.
    """

    kind: ClassVar[str] = "sampled-coordinates"
    codes_are_indices: ClassVar[bool] = False  # codes are tuples of numbers
    grids: tuple[Rounding, ...] = of_form(GRIDS)
    inner: Channel = part("channel", channel_from_spec)
    count: int = integer()
    bits: int = integer(default=WORD)
    chosen = delegated("count")
    public_bits = delegated("bits")
    roundings = delegated("grids")
    part_moments = delegated("inner.moments")

    def check_fields(self) -> None:
        grids = self.grids
        check_integer("count", self.kind, self.count, 1, len(grids))
        if self.bits not in (2, 8, WORD):
            raise reject("bits", self.kind, "64 (2 or 8 in proofs)", self.bits)
        if len(grids) > 1 << min(self.bits, FINE):  # no id would be accepted, and a device would draw forever
            raise ParameterError(f"Words of {self.bits} bits cannot choose one of {len(grids)} coordinates.")
        plain = outputs_of(self.inner) is not None and dimensions_of(self.inner) is None
        if self.inner.publics or stages_of(self.inner) or not plain:
            raise ParameterError("The channel of a coordinate must have numbered reports and no public words.")
        if self.inner.inputs != grids[0].steps + 1 or not self.inner.codes_are_indices:
            raise ParameterError("The channel of a coordinate must take every point of its grid.")

    # --- which coordinates -------------------------------------------------------------------------
    @property
    def dimensions(self) -> int:
        return len(self.grids)

    @property
    def parts(self) -> tuple[Channel, ...]:
        return (*dict.fromkeys(self.grids), self.inner)

    @property
    def publics(self) -> int:
        return 0 if self.count == self.dimensions else 1

    def _drawn(self, public: Words) -> tuple[int, int]:
        """The number in the leading bits of the first word, and how many such numbers there are."""
        read = min(self.bits, FINE)
        return public[0] % (1 << self.bits) >> (self.bits - read), 1 << read

    def accepts(self, public: Words) -> bool:
        drawn, size = self._drawn(public)
        return not self.publics or drawn < size - size % self.dimensions

    @property
    def tries(self) -> Fraction:
        size = 1 << min(self.bits, FINE)
        return Fraction(size, size - size % self.dimensions) if self.publics else Fraction(1)

    def first(self, public: Words) -> int:
        """The first chosen coordinate: `below(dimensions)` read from the first word."""
        return self._drawn(public)[0] % self.dimensions if self.publics else 0

    def _coordinates(self, public: Words) -> list[int]:
        first = self.first(public)
        return [(first + place) % self.dimensions for place in range(self.count)]

    # --- the sampler -------------------------------------------------------------------------------
    @property
    def inputs(self) -> int:
        return int((self.grids[0].steps + 1) ** self.dimensions)

    def codes(self) -> Iterable[Any]:
        return product_codes(self.grids)

    @property
    def _span(self) -> int:
        """Words of one coordinate: those of its rounding, then the inner ones."""
        return self.grids[0].words + self.inner.words

    @property
    def words(self) -> int:
        return self.count * self._span

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        begin, report = coins.position, 0
        for place, coordinate in enumerate(self._coordinates(public)):
            coins.seek(begin + place * self._span)
            point = self.grids[coordinate].sample(code[coordinate], coins)
            report |= self.inner.sample(point, coins) << place * self.inner.payload_bits
        coins.seek(begin + self.words)
        return report

    @property
    def payload_bits(self) -> int:
        return self.count * self.inner.payload_bits

    def _parts(self, report: int) -> Iterator[int]:
        width = self.inner.payload_bits
        return (report >> place * width & (1 << width) - 1 for place in range(self.count))

    def contains(self, report: int) -> bool:
        return 0 <= report < 1 << self.payload_bits and all(map(self.inner.contains, self._parts(report)))

    # --- the law -----------------------------------------------------------------------------------
    def ratio(self) -> Fraction:
        """Two answers may differ in every chosen coordinate, from any point of its grid to any other."""
        one = self.inner.ratio()
        if max(one.numerator.bit_length(), one.denominator.bit_length()) * self.count > MAX_BITS:
            raise TooLargeError("The ratio of these coordinates together is too long a fraction.")
        return Fraction(one**self.count)

    def has(self, kind: type[Facet]) -> bool:
        """The divergence has a closed form where each chosen coordinate sends one bit, as likely wrong for 0 as for 1.

        A number between two grid points has a mixture of their laws, and coordinates in which two answers agree tell
        nothing. So answers at opposite ends of every chosen coordinate differ most.
        """
        if kind is not Divergent:
            return True
        bits = self.inner.inputs == 2 and outputs_of(self.inner) == 2
        return bits and self.inner.likelihood(0, 0) == self.inner.likelihood(1, 1)

    def delta(self, odds: Fraction) -> Fraction:
        """Over the number of bits that agree with one of two opposite answers; those of the other one agree least."""
        right = int(self.inner.likelihood(1, 1) * UNIT)
        likely, rare = max(right, UNIT - right), min(right, UNIT - right)
        agree, ways, excess = self.count, 1, 0
        more, less = odds.denominator * likely**agree, odds.numerator * rare**agree
        while more > less:
            excess += ways * (more - less)
            ways = ways * agree // (self.count - agree + 1)
            agree -= 1
            more, less = more // likely * rare, less // rare * likely  # both divisions are exact
        return Fraction(excess, odds.denominator * UNIT**self.count)

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        sampled = zip(self._coordinates(public), self._parts(report), strict=True)
        return prod(
            (Then(self.grids[at], self.inner).likelihood(part, code[at]) for at, part in sampled), start=Fraction(1)
        )

    @property
    def part_outputs(self) -> int:
        return outputs_of(self.inner) or 0

    def part_scales(self) -> tuple[Scale, ...] | None:
        numeric = facet(self.inner, Numeric)
        return None if numeric is None else numeric.scales()

    def parts_of(self, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        return zip(self._coordinates(public), self._parts(report), strict=True)

    # --- proofs and plain data ---------------------------------------------------------------------
    def effort(self) -> Effort:
        """A power is computed without reducing fractions."""
        one = effort(self.inner)
        bits = self.count * one.ratio_bits
        known = Effort(self.count * (64 + one.bits), 2 * self.count * one.likelihood, one.ratio + (bits >> 6), bits)
        if not self.has(Divergent):
            return summed(self, known)
        return summed(self, known)._replace(
            delta=self.count * short_steps(256 * self.count) + short_steps(self.count**2)
        )

    def miniatures(self) -> tuple[Channel, ...]:
        """Two or three coordinates of which up to three are chosen, on small instances of the inner channel."""
        small = [inner for inner in _small(self.inner) if inner.inputs <= 4 and (outputs_of(inner) or 0) <= 16]
        sizes = [(wide, count) for wide, count in ((2, 1), (3, 1), (2, 2), (3, 3)) if count <= self.count]
        if self.dimensions == 1:
            sizes = [(1, 1)]
        return tuple(
            type(self)((Rounding(self.grids[0].low, self.grids[0].high, inner.inputs - 1),) * wide, inner, count, 2)
            for inner in small[:2]
            for wide, count in sizes
        )


def _small(inner: Channel) -> tuple[Channel, ...]:
    """The channel itself, its small instances, and the stand-in of a table."""
    coarse = (inner.coarse(),) if isinstance(inner, Table) else ()
    return (inner, *inner.miniatures(), *coarse)
