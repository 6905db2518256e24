"""`AskedOptions`: a report's id asks about a few neighbouring items; randomized response hides which are held."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, cast

from sottovoce.core.arithmetic.hashing import WORD
from sottovoce.core.arithmetic.rational import UNIT, floor_unit
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.compose.maps import AskedMap
from sottovoce.core.channel.compose.spread import SetsById
from sottovoce.core.channel.facets import Rates
from sottovoce.core.channel.finite.hitting import held_elements
from sottovoce.core.channel.finite.subset import Subset
from sottovoce.core.channel.shapes import Asking, PairRates
from sottovoce.core.declared import declared, delegated, integer, part
from sottovoce.core.domain.sets import MAX_ITEMS
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer

MAX_ASKED = 8


@declared
class AskedOptions(SetsById, Asking):
    """The report is that of `inner` about the pattern of the items asked: bit j is 1 if the j-th of them is held.

    The items asked follow a first one that the report's id chooses; after the last item comes the first. The inner
    channel sends the true pattern with the same probability whatever it is, and any other one equally often. So how
    many items a person holds does not matter, and has no limit.
    """

    kind: ClassVar[str] = "options"
    items: int = integer(2, MAX_ITEMS)
    most: int = integer()
    inner: Channel = part("channel", channel_from_spec)
    bits: int = integer(default=WORD)
    accepts = delegated("window.accepts")
    tries = delegated("window.tries")

    def check_fields(self) -> None:
        check_integer("most", self.kind, self.most, 1, self.items)
        patterns = self.inner.inputs
        single = isinstance(self.inner, Subset) and self.inner.w == 1
        if not single or patterns & (patterns - 1) or not 2 <= patterns <= 1 << min(MAX_ASKED, self.items):
            raise ParameterError(
                f"Options need randomized response of 2, 4, 8, ... patterns, for at most {MAX_ASKED} items of the list."
            )
        self.window  # noqa: B018  (checks the bits)

    @property
    def window(self) -> AskedMap:
        """The public choice of the items that are asked about."""
        return AskedMap(self.items, self.inner.inputs.bit_length() - 1, self.bits)

    def mapped(self, code: int, public: Words) -> int:
        """The pattern of the items asked."""
        held_elements(code, self.items, self.most)  # refuses a set that is too large
        window = self.window
        first = window.choice.of(public)
        return ((code | code << self.items) >> first) % (1 << window.asked)

    def holds(self, report: int, element: int, public: Words = NO_WORDS) -> bool:
        window = self.window
        place = (element - window.choice.of(public)) % self.items
        return place < window.asked and bool(report >> place & 1)

    def denies(self, report: int, element: int, public: Words = NO_WORDS) -> bool:
        window = self.window
        return (element - window.choice.of(public)) % self.items < window.asked and not self.holds(
            report, element, public
        )

    def _chances(self) -> tuple[Fraction, Fraction]:
        """The probability of the true pattern, and of any other one."""
        keep = Fraction(cast(Subset, self.inner).keep, UNIT)
        return keep, (1 - keep) / (self.inner.inputs - 1)

    @property
    def asked(self) -> tuple[AskedMap, Rates]:
        """The bit of an item is 1 in half of the patterns."""
        true, other = self._chances()
        half = self.inner.inputs // 2
        return self.window, Rates(true + (half - 1) * other, half * other)

    def item_rates(self) -> Rates:
        return self.asked[1]

    def pair_rates(self) -> PairRates:
        """How often the bits of two items that are asked about are both 1."""
        true, other = self._chances()
        quarter = self.inner.inputs // 4
        return PairRates(true + (quarter - 1) * other, quarter * other, quarter * other)

    def miniatures(self) -> tuple[Channel, ...]:
        ratio = self.ratio()
        sizes = [(2, 1, 1), (3, 2, 1)] if self.inner.inputs == 2 else [(2, 2, 2), (3, 3, 2)]
        return tuple(type(self)(items, most, patterns(asked, ratio), 2) for items, most, asked in sizes)


def patterns(asked: int, ratio: Fraction) -> Subset:
    """Randomized response of the patterns of so many items, with this ratio, rounded toward privacy."""
    count = 1 << asked
    return Subset(count, 1, floor_unit(ratio / (ratio + count - 1)))
