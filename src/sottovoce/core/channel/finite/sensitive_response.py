"""`Sparing`: randomized response among the sensitive codes; the other codes mostly report themselves."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

from sottovoce.core.arithmetic.rational import UNIT, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, check_informative
from sottovoce.core.channel.closed_forms import Guarded
from sottovoce.core.channel.facets import Costed, Rates, Supporting
from sottovoce.core.channel.shapes import Indexed
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, in_units, integer, integers
from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.params import check_integer
from sottovoce.core.spec_cost import Effort, summed


@declared
class Sparing(Indexed, Supporting, Guarded, Costed):
    """Each sensitive code is reported with probability `other` by every code but itself.

    With the rest of its probability a code reports itself. So the report of a code that is not sensitive comes from
    that code alone, and the reports of sensitive codes have one ratio between any two codes.
    """

    kind: ClassVar[str] = "sparing"
    words: ClassVar[int] = 2
    rates_vary: ClassVar[bool] = True
    k: int = integer(2, 1 << 20)
    sensitive: tuple[int, ...] = integers(0, 1 << 20)
    other: int = in_units()
    inputs = delegated("k")
    outputs = delegated("k")

    def check_fields(self) -> None:
        codes = self.sensitive
        for code in codes:
            check_integer("sensitive", self.kind, code, 0, self.k - 1)
        if not 0 < len(codes) < self.k or any(later <= earlier for earlier, later in pairwise(codes)):
            raise ParameterError("The sensitive codes of a sparing channel must be some of its codes, in rising order.")
        check_informative(self.kind, Fraction(UNIT - len(codes) * self.other, UNIT), Fraction(0))
        check_informative(self.kind, *self.rates(codes[0]))

    def _place(self, code: int) -> tuple[int, bool]:
        """Where a code stands among the sensitive ones, and whether it is one."""
        place = bisect_left(self.sensitive, code)
        return place, self.sensitive[min(place, len(self.sensitive) - 1)] == code

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        place, own = self._place(code)
        others = len(self.sensitive) - own
        kept = coins.flip(UNIT - others * self.other)
        index = coins.below((max(others, 1), 1)[kept])
        index = min(index + (own and index >= place), len(self.sensitive) - 1)
        return (self.sensitive[index], code)[kept]

    def ratio(self) -> Fraction:
        raise PrivacyError("A code that is not sensitive has a report of its own: the ratio is infinite.")

    def guarded_ratio(self, sensitive: frozenset[int]) -> Fraction | None:
        """The ratio of the sensitive codes' reports; None if a code with a report of its own is to be protected."""
        return self.rates(self.sensitive[0]).own / units(self.other) if sensitive <= self.protected else None

    @property
    def protected(self) -> frozenset[int]:
        return frozenset(self.sensitive)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        if report == code:
            return self.rates(code).own
        return units(self.other) if self._place(report)[1] else Fraction(0)

    def supports(self, report: int, code: int, public: Words = NO_WORDS) -> bool:
        return report == code

    def rates(self, code: int = 0) -> Rates:
        own = self._place(code)[1]
        return Rates(units(UNIT - (len(self.sensitive) - own) * self.other), units(self.other * own))

    def effort(self) -> Effort:
        return summed(self, Effort(ratio=4))

    def miniatures(self) -> tuple[Channel, ...]:
        """One, two or three sensitive codes among five; their own reports get the probability that is left."""
        ways = ((2,), (0, 3), (0, 1, 4))
        return tuple(type(self)(5, way, self.other) for way in ways if len(way) <= len(self.sensitive))
