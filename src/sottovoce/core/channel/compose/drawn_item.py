"""`DrawnItem`: one of the items that a person holds is drawn, and reported by a channel for single items."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, cast

from sottovoce.core.arithmetic.rational import floor_unit
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.compose.public import Public
from sottovoce.core.channel.facets import Costed, Facet, Numbered, Rates, Relaying, Supporting, trusted
from sottovoce.core.channel.finite.hitting import MAX_MOST, held_elements, item_sets
from sottovoce.core.channel.finite.subset import Subset
from sottovoce.core.channel.listing import CodeList
from sottovoce.core.channel.shapes import Itemised, PairRates
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, integer, part
from sottovoce.core.domain.sets import MAX_ITEMS
from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.params import check_integer
from sottovoce.core.spec_cost import Effort, effort, summed


@declared
class DrawnItem(Channel, Relaying, Numbered, Itemised, Costed):
    """One of `padded` elements is drawn: items that are held, and fillers. Who holds more items draws one of all.

    `inner` reports the element that was drawn: randomized response, alone or after a public hash. Rates are those of
    people who hold at most `padded` items; shares of others are too low.
    """

    kind: ClassVar[str] = "drawn-item"
    codes_are_indices: ClassVar[bool] = False  # codes are masks of items
    picked: ClassVar[int] = 1  # type: ignore[misc]
    items: int = integer(2, MAX_ITEMS)
    most: int = integer()
    padded: int = integer()
    inner: Channel = part("channel", channel_from_spec)
    last = delegated("inner")
    payload_bits = delegated("inner.payload_bits")
    outputs = delegated("inner.outputs")
    contains = delegated("inner.contains")
    publics = delegated("inner.publics")
    accepts = delegated("inner.accepts")

    def check_fields(self) -> None:
        check_integer("most", self.kind, self.most, 1, min(self.items, MAX_MOST))
        check_integer("padded", self.kind, self.padded, 1, self.most)
        response = self.inner.inner if isinstance(self.inner, Public) else self.inner
        if not isinstance(response, Subset) or response.w != 1 or self.inner.inputs != self.elements:
            raise ParameterError(
                f"An item that is drawn needs randomized response of {self.elements} items and fillers, alone or after"
                " a public hash."
            )
        trusted(self.inner, Supporting)

    @property
    def parts(self) -> tuple[Channel, ...]:
        return (self.inner,)

    def has(self, kind: type[Facet]) -> bool:
        return True

    @property
    def elements(self) -> int:
        return self.items + self.padded

    @property
    def inputs(self) -> int:
        return self.codes().total

    def codes(self) -> CodeList:
        return item_sets(self.items, self.most)

    @property
    def words(self) -> int:
        return 1 + self.inner.words

    def _elements(self, code: int) -> tuple[list[int], int]:
        """The items held and then fillers, and how many of these may be drawn."""
        return held_elements(code, self.items, self.most), max(self.padded, code.bit_count())

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        held, count = self._elements(code)
        return self.inner.sample(held[coins.below(count)], coins, public)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        held, count = self._elements(code)
        each = (self.inner.likelihood(report, element, public) for element in held[:count])
        return sum(each, Fraction(0)) / count

    def ratio(self) -> Fraction:
        """A report of randomized response names one element, and the draw is private, which amplifies. Elements that
        share a hash leave the ratio of the inner channel."""
        if not isinstance(self.inner, Subset):
            return self.inner.ratio()
        own, other = self.inner.rates()
        return (own + (self.padded - 1) * other) / (self.padded * other)

    def holds(self, report: int, element: int, public: Words = NO_WORDS) -> bool:
        return trusted(self.inner, Supporting).supports(report, element, public)

    def item_rates(self) -> Rates:
        own, other = cast(Rates, trusted(self.inner, Supporting).rates())
        return Rates((own + (self.padded - 1) * other) / self.padded, other)

    def pair_rates(self) -> PairRates:
        pair = trusted(self.inner, Supporting).pair()
        if pair is None:
            raise PrivacyError("How often a report supports two items at once is not known for this hash.")
        drawn, neither = pair
        each = Fraction(1, self.padded)
        one = each * drawn + (1 - each) * neither
        return PairRates(2 * one - neither, one, neither)

    def effort(self) -> Effort:
        inner = effort(self.inner)
        return summed(self, inner._replace(bits=inner.bits + 64, likelihood=self.most * (inner.likelihood + 1)))

    def miniatures(self) -> tuple[Channel, ...]:
        """Few items behind randomized response or small hashes; nobody holds more items than answers are padded to."""
        if isinstance(self.inner, Subset):
            e, sizes = self.ratio(), ((3, 1), (3, 2), (2, 2))
            return tuple(type(self)(items, most, most, response(items + most, most, e)) for items, most in sizes)
        hashed = [one for one in self.inner.miniatures() if isinstance(one, Public) and one.inputs in (3, 4)]
        return tuple(type(self)(one.inputs - 1, 1, 1, one) for one in hashed)


def response(elements: int, slots: int, ratio: Fraction) -> Subset:
    """Randomized response that leaves a report with this ratio, where one of so many slots is drawn."""
    odds = slots * (ratio - 1) + 1
    return Subset(elements, 1, floor_unit(odds / (odds + elements - 1)))
