"""`HalfSpace`: the signs of a vector, drawn uniformly or from those that point to the same side as the answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any, ClassVar

from sottovoce.core.arithmetic.rational import FINE, UNIT, floor_unit, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Coordinates, Costed, Scale
from sottovoce.core.channel.listing import product_codes
from sottovoce.core.channel.numeric.grids import GRIDS
from sottovoce.core.channel.numeric.rounding import PLACES, Rounding
from sottovoce.core.coins import Coins, flips_span
from sottovoce.core.declared import declared, delegated, in_units, of_form
from sottovoce.core.errors import ParameterError
from sottovoce.core.spec_cost import Effort, steps, summed

TRIES = 8  # draws of fair signs in the span, for dimensions with ties: half of all draws are tied for two numbers
SMALL = (1, 2, 3, 4)  # dimensions of the small instances


@declared
class HalfSpace(Channel, Coordinates, Costed):
    """Each number is rounded to an end of its range, which gives a vector v of signs; the report is another one, t.

    With probability `inside` / 2**53 it is uniform among the vectors with t.v > 0, else among all of them. So a vector
    on the side of v is likelier than any other, and all others, ties t.v = 0 among them, are equally likely. Bit j of
    the report is set where t_j = +1, the upper end.
    """

    kind: ClassVar[str] = "half-space"
    codes_are_indices: ClassVar[bool] = False  # codes are tuples of numbers
    part_outputs: ClassVar[int] = 2
    grids: tuple[Rounding, ...] = of_form(GRIDS)
    inside: int = in_units()
    payload_bits = delegated("dimensions")
    roundings = delegated("grids")

    def check_fields(self) -> None:
        if self.grids[0].steps != 1:
            raise ParameterError(f"The grids of a {self.kind} channel must have one step, from end to end.")

    @classmethod
    def of_ratio(cls, grids: Sequence[Rounding], ratio: Fraction) -> HalfSpace:
        """The largest `inside` whose likelihood ratio does not exceed the given one."""
        vectors, half = 1 << len(grids), half_vectors(len(grids))
        inside = floor_unit((ratio - 1) * half / ((ratio - 1) * half + vectors))
        if not inside:
            raise ParameterError(
                f"The reports of this {cls.kind} channel are independent of the answer; raise epsilon."
            )
        return cls(tuple(grids), inside)

    @property
    def dimensions(self) -> int:
        return len(self.grids)

    @property
    def parts(self) -> tuple[Channel, ...]:
        return tuple(dict.fromkeys(self.grids))

    # --- the sampler -------------------------------------------------------------------------------
    @property
    def inputs(self) -> int:
        return 1 << self.dimensions

    def codes(self) -> Iterable[Any]:
        """The corners: every other vector is a mixture of them."""
        return product_codes(self.grids)

    @property
    def words(self) -> int:
        tries = 1 if self.dimensions % 2 else TRIES
        return self.dimensions + 1 + tries * flips_span(self.dimensions, UNIT // 2)

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        width, end = self.dimensions, coins.position + self.words
        corner = self._corner(code, coins)
        inside = coins.flip(self.inside)
        # Where t differs from v: fair signs; inside they are not tied, and inverted if they are on the other side.
        differing = coins.either(inside, self._untied_signs, self._signs)
        turned = (2 * differing.bit_count() > width) & inside
        coins.seek(end)
        return corner ^ (differing, differing ^ ((1 << width) - 1))[turned]

    def _signs(self, coins: Coins) -> int:
        return coins.flips(self.dimensions, UNIT // 2)

    def _untied(self, signs: int) -> bool:
        return 2 * signs.bit_count() != self.dimensions

    def _untied_signs(self, coins: Coins) -> int:
        return coins.until(self._signs, self._untied, 1 if self.dimensions % 2 else TRIES)

    def _corner(self, code: Any, coins: Coins) -> int:
        """The ends to which the numbers are rounded: the same law as `Rounding`, each from a word of its own."""
        lanes = bytearray(-(-self.dimensions // 8))
        for place, position in enumerate(self._positions(code)):
            up = coins.flip(position << (FINE - PLACES))  # at the upper end that is UNIT: probability 1
            lanes[place >> 3] |= up << (place & 7)
        return int.from_bytes(lanes, "little")

    def _positions(self, code: Any) -> list[int]:
        """Positions of the numbers between their ends, in units of 2**-32.

        Each is read by itself: if equal numbers were read once, the duration would show how many are equal.
        """
        positions = [grid.position(number) for grid, number in zip(self.grids, code, strict=True)]
        if min(positions) < 0 or max(positions) > 1 << PLACES:
            raise ValueError("A number is outside the range of its coordinate.")
        return positions

    def contains(self, report: int) -> bool:
        return 0 <= report < 1 << self.dimensions

    # --- the law -----------------------------------------------------------------------------------
    def _probabilities(self) -> tuple[Fraction, Fraction]:
        """The probability of one report under either draw, and its addition if it lies on the side of the answer."""
        return units(UNIT - self.inside) / (1 << self.dimensions), units(self.inside) / half_vectors(self.dimensions)

    def ratio(self) -> Fraction:
        """Every report lies on the side of some corner (itself), and not of another (its opposite)."""
        everywhere, besides = self._probabilities()
        return 1 + besides / everywhere

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        everywhere, besides = self._probabilities()
        return everywhere + besides * self._sided(report, code)

    def _sided(self, report: int, code: Any) -> Fraction:
        """The probability that the rounded answer is on the side of a report: more than half of its ends agree.

        That number is a sum of independent events; its law is built up one uncertain coordinate at a time.
        """
        unit, sure, counts = 1 << PLACES, 0, [1]  # counts[a]: a of the uncertain coordinates agree, unnormalised
        for place, position in enumerate(self._positions(code)):
            agrees = position if report >> place & 1 else unit - position
            if agrees in (0, unit):
                sure += agrees == unit
                continue
            pairs = zip([*counts, 0], [0, *counts], strict=True)
            counts = [same * (unit - agrees) + fewer * agrees for same, fewer in pairs]
        more = sum(counts[max(0, self.dimensions // 2 + 1 - sure) :])
        return Fraction(more, unit ** (len(counts) - 1))

    # --- reports by coordinate ---------------------------------------------------------------------

    def part_scales(self) -> tuple[Scale, ...]:
        # E[t_j | v] = shrinkage v_j, the inverse of the published constant B.
        shrinkage = units(self.inside) * Fraction(surplus(self.dimensions), half_vectors(self.dimensions))
        return (Scale(0, (1 - shrinkage) / 2, shrinkage),)

    def part_moments(self, point: int) -> tuple[Fraction, Fraction]:
        ((_, origin, slope),) = self.part_scales()
        upper = origin + slope * point
        return Fraction(point), (upper * (1 - origin) ** 2 + (1 - upper) * origin**2) / slope**2

    def parts_of(self, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        return ((place, report >> place & 1) for place in range(self.dimensions))

    # --- proofs and plain data ---------------------------------------------------------------------
    def effort(self) -> Effort:
        """The effort for vectors whose numbers are at an end; the ratio has two quotients of long numbers."""
        bits, places = 64 * self.dimensions, self.dimensions
        known = Effort(bits=bits, likelihood=2 * places + 8, ratio=4 + 2 * steps(places), ratio_bits=bits)
        return summed(self, known)

    def miniatures(self) -> tuple[Channel, ...]:
        """Few dimensions, odd and even, with the same ratio as far as units allow."""
        different = list(dict.fromkeys(self.grids))
        ratio = max(self.ratio(), 1 + Fraction(8, UNIT))
        return tuple(
            self.of_ratio([different[place % len(different)] for place in range(size)], ratio) for size in SMALL
        )


@lru_cache(maxsize=64)
def half_vectors(dimensions: int) -> int:
    """How many vectors of signs t have t.v > 0: half of those that are not tied."""
    ties = comb(dimensions, dimensions // 2) if dimensions % 2 == 0 else 0
    return ((1 << dimensions) - ties) // 2


@lru_cache(maxsize=64)
def surplus(dimensions: int) -> int:
    """The sum of t.v over all t with t.v > 0, for each dimension: how many more agree than disagree in a coordinate.

    The sum over a > d/2 of binom(d, a) (2a - d) telescopes, since binom(d, a) (2a - d) = d (binom(d-1, a-1) -
    binom(d-1, a)): what is left is d binom(d-1, floor(d/2)).
    """
    return comb(dimensions - 1, dimensions // 2)
