"""`Subset`: a uniform w-subset of the codes that contains the code with probability `keep`."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import ClassVar

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, check_informative
from sottovoce.core.channel.facets import Costed, Extremal, Facet, Masked, Numbered, Numeric, Rates, Scale, Supporting
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, in_units, integer
from sottovoce.core.params import check_integer
from sottovoce.core.spec_cost import Effort, summed


@declared
class Subset(Channel, Numbered, Supporting, Masked, Numeric, Extremal, Costed):
    """k-ary randomized response (w = 1, the report is an index) and subset selection (a mask of w bits)."""

    kind: ClassVar[str] = "subset"
    k: int = integer(2, 1 << 32)
    w: int = integer()
    keep: int = in_units()
    inputs = delegated("k")
    outputs = delegated("k")

    def check_fields(self) -> None:
        check_integer("w", self.kind, self.w, 1, self.k - 1)
        if self.w > 1:
            check_integer("k", self.kind, self.k, 2, 1 << 20)
        check_informative(self.kind, *self.rates())

    @property
    def words(self) -> int:
        return 1 + self.w

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        kept = coins.flip(self.keep)
        if self.w == 1:
            other = _skip(coins.below((self.k - 1, 1)[kept]), code)
            return (other, code)[kept]
        chosen: set[int] = set()
        unused: set[int] = set()
        (unused, chosen)[kept].add(code)
        # Floyd's algorithm: the next of `wanted` elements is uniform below a bound that rises by one;
        # an element already chosen is replaced by the bound itself, which cannot have been chosen.
        # Where the code is kept, one element fewer is wanted, and the last draw is thrown away.
        wanted = self.w - kept
        for drawn in range(self.w):
            needed = drawn < wanted
            bound = self.k - 1 - wanted + drawn
            places = _skip(coins.below((1, bound + 1)[needed]), code), _skip(bound, code)
            (unused, chosen)[needed].add(places[places[0] in chosen])
        return mask_of(chosen, self.k)

    @property
    def payload_bits(self) -> int:
        return (self.k - 1).bit_length() if self.w == 1 else self.k

    def has(self, kind: type[Facet]) -> bool:
        """A single index is a numbered report, and the mean index is linear in the code; a mask is neither."""
        if kind is Masked:
            return self.w > 1
        return self.w == 1 or kind not in (Numbered, Numeric, Extremal)

    def contains(self, report: int) -> bool:
        if self.w == 1:
            return 0 <= report < self.k
        return 0 <= report < 1 << self.k and report.bit_count() == self.w

    def ratio(self) -> Fraction:
        """keep (k-w) / ((1-keep) w); `check_informative` makes it at least 1."""
        return Fraction(self.keep * (self.k - self.w), (UNIT - self.keep) * self.w)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        if self.supports(report, code):
            return units(self.keep) / comb(self.k - 1, self.w - 1)
        return units(UNIT - self.keep) / comb(self.k - 1, self.w)

    def supports(self, report: int, code: int, public: Words = NO_WORDS) -> bool:
        return report == code if self.w == 1 else bool(report >> code & 1)

    def rates(self, code: int = 0) -> Rates:
        keep = units(self.keep)
        return Rates(keep, (self.w - keep) / (self.k - 1))

    def mask(self, code: int, public: Words = NO_WORDS) -> int:
        return 1 << code

    def bit_rate(self, place: int) -> Rates:
        return self.rates()

    def pair(self) -> tuple[Fraction, Fraction]:
        k, w, keep = self.k, self.w, units(self.keep)
        with_own = keep * (w - 1) / (k - 1)
        if k < 3:
            return with_own, Fraction(0)
        kept = Fraction((w - 1) * (w - 2), (k - 1) * (k - 2))
        dropped = Fraction(w * (w - 1), (k - 1) * (k - 2))
        return with_own, keep * kept + (1 - keep) * dropped

    def support_sizes(self) -> tuple[int, int]:
        return self.w, self.w

    @property
    def quadratic(self) -> bool:
        """Randomized response mixes the code with a constant law."""
        return self.w == 1

    def extremes(self) -> tuple[list[Fraction], list[Fraction]]:
        own, other = self.rates()
        return [own] * self.k, [other] * self.k

    def scales(self) -> tuple[Scale, ...]:
        return response_scales(self.k, self.rates())

    def moments(self, code: int) -> tuple[Fraction, Fraction]:
        return response_moments(self.k, self.rates(), code)

    def effort(self) -> Effort:
        known = summed(self, Effort(128 + 2 * min(self.w, self.k - self.w) * self.k.bit_length(), ratio_bits=96))
        return known._replace(extremes=1 + self.k // 64) if self.w == 1 else known

    def miniatures(self) -> tuple[Channel, ...]:
        sizes = [(3, 1), (5, 1)] if self.w == 1 else [(4, 2), (5, 2), (6, 3), (7, 4)]
        ratio = self.ratio()
        return tuple(type(self)(k, w, floor_unit(ratio * w / (ratio * w + k - w))) for k, w in sizes)


def response_scales(k: int, rates: Rates) -> tuple[Scale, ...]:
    """How the reports of randomized response are read: their mean is linear in the code."""
    own, other = rates
    return (Scale(0, other * Fraction(k * (k - 1), 2), own - other),)


def response_moments(k: int, rates: Rates, code: int) -> tuple[Fraction, Fraction]:
    """Mean and mean square of the code read from one report of randomized response."""
    ((_, origin, slope),) = response_scales(k, rates)
    own, other = rates
    first = origin + (own - other) * code
    second = other * Fraction((k - 1) * k * (2 * k - 1), 6) + (own - other) * code**2
    return (first - origin) / slope, (second - 2 * origin * first + origin**2) / slope**2


def mask_of(places: set[int], k: int) -> int:
    """The number whose set bits are these places; through bytes, since shifting long numbers is slow."""
    lanes = bytearray(-(-k // 8))
    for place in places:
        lanes[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(lanes, "little")


def _skip(index: int, code: int) -> int:
    """The index-th code other than the given one."""
    return index + (index >= code)
