"""`Spread`: items are put into few cells by a public hash, and the set of cells is reported."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar, cast

from sottovoce.core.arithmetic.hashing import WORD, mixed_value
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec, check_informative
from sottovoce.core.channel.facets import Costed, Facet, Numbered, PublicCoins, Rates, Relaying, facet
from sottovoce.core.channel.finite.hitting import Hitting, held_elements, hit_units, item_sets
from sottovoce.core.channel.listing import CodeList
from sottovoce.core.channel.shapes import Itemised, Naming, PairRates
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, integer, part
from sottovoce.core.domain.sets import MAX_ITEMS
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import reject
from sottovoce.core.spec_cost import Effort, effort, summed


class SetsById(Channel, Relaying, Numbered, PublicCoins, Naming, Costed):
    """The report is that of an inner channel, about what the report's id makes of the items that a person holds."""

    codes_are_indices: ClassVar[bool] = False  # codes are masks of items
    inner: Channel
    bits: int
    last = delegated("inner")
    words = delegated("inner.words")
    payload_bits = delegated("inner.payload_bits")
    outputs = delegated("inner.outputs")
    contains = delegated("inner.contains")
    ratio = delegated("inner.ratio")
    public_bits = delegated("bits")
    __slots__ = ()

    @abstractmethod
    def mapped(self, code: int, public: Words) -> int:
        """The code that the inner channel randomizes."""

    @property
    def inputs(self) -> int:
        return self.codes().total

    def codes(self) -> CodeList:
        return item_sets(self.items, self.most)

    @property
    def parts(self) -> tuple[Channel, ...]:
        return (self.inner,)

    @property
    def publics(self) -> int:
        return self.inner.publics + 1

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        return self.inner.sample(self.mapped(code, public), coins)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        return self.inner.likelihood(report, self.mapped(code, public))

    def effort(self) -> Effort:
        return summed(self, effort(self.inner))


@declared
class Spread(SetsById, Itemised):
    """The report is that of `inner` about the cells of the items that a person holds.

    Each of the items, and of `most` fillers, lies in a cell that the report's id chooses. A person who holds fewer than
    `most` items also holds the first fillers, so that everyone holds `most` elements; two of them may share a cell.
    The privacy is that of the inner channel, whatever the cells are. Rates are those of cells that are chosen
    independently and uniformly: words of 64 bits choose them by a mixing function, short ones in proofs list them.
    """

    kind: ClassVar[str] = "spread"
    items: int = integer(2, MAX_ITEMS)
    inner: Channel = part("channel", channel_from_spec)
    bits: int = integer(default=WORD)
    most = delegated("hitting.most")
    picked = delegated("hitting.picked")
    cells = delegated("hitting.items")

    def check_fields(self) -> None:
        if not isinstance(self.inner, Hitting) or self.inner.most > self.items:
            raise ParameterError(
                "Items that are spread over cells need a channel for sets of cells, of at most as many."
            )
        short = self.bits in (2, 3, 4) and not (1 << 2 * self.bits) % self.cells**self.elements
        if self.bits != WORD and not short:
            raise reject("bits", self.kind, "64 (2, 3 or 4 in proofs, where the id lists all cells)", self.bits)
        check_informative(self.kind, *self.item_rates())

    @property
    def hitting(self) -> Hitting:
        """The channel of the cells."""
        return cast(Hitting, self.inner)

    @property
    def elements(self) -> int:
        return int(self.items + self.most)

    def has(self, kind: type[Facet]) -> bool:
        return kind is not Numbered or facet(self.inner, Numbered) is not None

    def cell(self, element: int, public: Words) -> int:
        """The cell in which an element lies."""
        if self.bits == WORD:
            return mixed_value(*public, element, self.hitting.items)
        size = 1 << self.bits  # outer public words have 64 bits even in proofs
        cells = self.hitting.items
        return (public[0] % size * size + public[1] % size) // int(cells**element) % cells

    def mapped(self, code: int, public: Words) -> int:
        """The cells of the elements that a person holds."""
        cells = 0
        for element in held_elements(code, self.items, self.most):
            cells |= 1 << self.cell(element, public)
        return cells

    def holds(self, report: int, element: int, public: Words = NO_WORDS) -> bool:
        return self.hitting.holds(report, self.cell(element, public))

    def item_rates(self) -> Rates:
        """The cell of an element that is not held may be that of one that is."""
        own, other = self.hitting.item_rates()
        apart = Fraction(self.cells - 1, self.cells) ** self.most
        return Rates(own, apart * other + (1 - apart) * own)

    def pair_rates(self) -> PairRates:
        own, other = self.item_rates()
        both, one, neither = self.hitting.pair_rates()
        same, m = Fraction(1, self.cells), self.most
        outside = (1 - same) ** m  # one cell is not held
        empty = (1 - 2 * same) ** m  # two cells are not held
        single, twice = 2 * (outside - empty), 1 - 2 * outside + empty
        return PairRates(
            same * own + (1 - same) * both,
            same * own + (1 - outside - same) * both + outside * one,
            same * other + (1 - same) * (twice * both + single * one + empty * neither),
        )

    def miniatures(self) -> tuple[Channel, ...]:
        """Items and cells so few that an id lists the cells of all elements."""
        sizes = [(2, 2, 1, 2), (2, 2, 2, 2)]
        picked, ratio = min(self.picked, 2), self.ratio()
        return tuple(
            type(self)(items, Hitting(cells, most, picked, hit_units(cells + most, most, picked, ratio)), bits)
            for items, cells, most, bits in sizes
        )
