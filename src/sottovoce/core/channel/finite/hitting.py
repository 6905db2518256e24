"""`Hitting`: a uniform subset of fixed size that is likelier if it contains any of the items that a person holds."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import comb
from typing import ClassVar

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, check_informative
from sottovoce.core.channel.facets import Costed, Facet, Numbered, Rates
from sottovoce.core.channel.finite.subset import mask_of
from sottovoce.core.channel.listing import CodeList, combination
from sottovoce.core.channel.shapes import Itemised, PairRates
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, in_units, integer
from sottovoce.core.domain.sets import MAX_ITEMS
from sottovoce.core.params import check_integer, reject
from sottovoce.core.spec_cost import Effort, steps, summed

MAX_MOST = 1 << 10
_LEAST = 1 << 20  # units of the rarest first hit: rounding changes no probability by more than a millionth


@declared
class Hitting(Channel, Numbered, Itemised, Costed):
    """A report of `picked` elements among the items and `most` fillers.

    A person who holds fewer than `most` items also holds the first fillers, so that everyone holds `most` elements. The
    elements held are in order; the first of them that a report contains is its first hit. A coin draws the first hit,
    or that there is none; the rest of the report is a uniform subset of what may follow. So reports with a hit are
    equally likely, and so are those without, up to the rounding of the coin.
    """

    kind: ClassVar[str] = "hitting"
    codes_are_indices: ClassVar[bool] = False  # codes are masks of items
    items: int = integer(2, MAX_ITEMS)
    most: int = integer()
    picked: int = integer()
    hit: int = in_units()
    outputs = delegated("elements")

    def check_fields(self) -> None:
        check_integer("most", self.kind, self.most, 1, min(self.items, MAX_MOST))
        check_integer("picked", self.kind, self.picked, 1, self.items)
        if min(high - low for low, high in pairwise((0, *self.row))) < _LEAST:
            raise reject("picked", self.kind, "fewer elements: a report would nearly always have a hit", self.picked)
        check_informative(self.kind, *self.item_rates())

    @property
    def elements(self) -> int:
        return self.items + self.most

    @property
    def inputs(self) -> int:
        return self.codes().total

    def codes(self) -> CodeList:
        return item_sets(self.items, self.most)

    @property
    def words(self) -> int:
        return 1 + self.picked

    @property
    def row(self) -> tuple[int, ...]:
        """The cumulative law of the first hit, in units; the last entry is that of no hit."""
        return _row(self.elements, self.most, self.picked, self.hit)

    def held(self, code: int) -> list[int]:
        """The elements that a person holds, in order."""
        return held_elements(code, self.items, self.most)

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        held, first = self.held(code), coins.pick(self.row)
        hits = first < self.most
        last = min(first, self.most - 1)
        # Elements held up to the first hit do not follow it; without a hit, no element held does.
        barred = [(self.elements, element)[place <= last] for place, element in enumerate(held)]
        free, wanted = self.elements - 1 - last, self.picked - hits
        drawn: set[int] = set()
        unused: set[int] = set()
        (unused, drawn)[hits].add(held[last])
        for turn in range(self.picked):  # Floyd's algorithm, as in `Subset`
            needed = turn < wanted
            bound = free - wanted + turn
            places = _free(coins.below((1, bound + 1)[needed]), barred), _free(bound, barred)
            (unused, drawn)[needed].add(places[places[0] in drawn])
        return drawn.pop() if self.picked == 1 else mask_of(drawn, self.elements)

    @property
    def payload_bits(self) -> int:
        return (self.elements - 1).bit_length() if self.picked == 1 else self.elements

    def has(self, kind: type[Facet]) -> bool:
        return kind is not Numbered or self.picked == 1

    def contains(self, report: int) -> bool:
        if self.picked == 1:
            return 0 <= report < self.elements
        return 0 <= report < 1 << self.elements and report.bit_count() == self.picked

    def ratio(self) -> Fraction:
        """Reports without a hit are the rarest; those with a hit differ by the rounding of the coin alone."""
        levels = _levels(self.elements, self.most, self.picked, self.hit)
        return max(levels) / min(levels)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        held = self.held(code)
        first = next((place for place, element in enumerate(held) if self.holds(report, element)), self.most)
        return _levels(self.elements, self.most, self.picked, self.hit)[first]

    def holds(self, report: int, element: int, public: Words = NO_WORDS) -> bool:
        return report == element if self.picked == 1 else bool(report >> element & 1)

    def item_rates(self) -> Rates:
        """The rates of an exact coin; those of the rounded one differ by less than 2**-40."""
        hit, missed = self._shared
        n, m, w = self.elements, self.most, self.picked
        every, beside = comb(n - 1, w - 1), comb(n - m - 1, w - 1)
        return Rates(hit * every, hit * (every - beside) + missed * beside)

    def pair_rates(self) -> PairRates:
        """The rates of two elements at once, of an exact coin."""
        hit, missed = self._shared
        n, m, w = self.elements, self.most, self.picked
        if w == 1:
            return PairRates(Fraction(0), Fraction(0), Fraction(0))
        every = comb(n - 2, w - 2)
        beside = comb(n - m - 2, w - 2) if n - m >= 2 else 0
        return PairRates(hit * every, hit * every, hit * (every - beside) + missed * beside)

    @property
    def _shared(self) -> tuple[Fraction, Fraction]:
        """The probability of each report with a hit, and of each without, of an exact coin."""
        every, *_, without = _beyond(self.elements, self.most, self.picked)
        return units(self.hit) / (every - without), units(UNIT - self.hit) / without

    def effort(self) -> Effort:
        bits = 128 + 2 * min(self.picked, self.elements - self.picked) * self.elements.bit_length()
        return summed(
            self, Effort(bits, 1 + self.most // 8, 1 + self.most * steps(bits) // 4, ratio_bits=min(bits, 256))
        )

    def miniatures(self) -> tuple[Channel, ...]:
        sizes = [(3, 1, 1), (3, 2, 1), (4, 2, 1)] if self.picked == 1 else [(3, 1, 2), (3, 2, 2), (4, 2, 2), (4, 3, 3)]
        ratio = self.ratio()
        return tuple(
            type(self)(items, most, picked, hit_units(items + most, most, picked, ratio))
            for items, most, picked in sizes
        )


def hit_units(elements: int, most: int, picked: int, ratio: Fraction) -> int:
    """The probability of a hit with which no report is `ratio` times as likely as another, rounded toward privacy."""
    every, *_, without = _beyond(elements, most, picked)
    odds = ratio * (every - without) / without
    nearly = floor_unit(odds / (odds + 1))
    rarest = min(high - low for low, high in pairwise((0, *_row(elements, most, picked, nearly)[:-1])))
    odds *= 1 - Fraction(2, max(rarest, 3))  # a probability of the coin is rounded up by less than a unit
    return floor_unit(odds / (odds + 1))


@lru_cache(maxsize=64)
def _subsets(items: int, most: int) -> int:
    """How many sets have at most so many items."""
    total = size = 1
    for held in range(most):
        size = size * (items - held) // (held + 1)
        total += size
    return total


def item_sets(items: int, most: int) -> CodeList:
    """The masks of all sets of at most so many items."""

    def code(place: int) -> int:
        held = 0
        while place >= (filled := comb(items, held)):
            place, held = place - filled, held + 1
        return sum(1 << item for item in combination(items, held, place))

    return CodeList(_subsets(items, most), code)


def held_elements(code: int, items: int, most: int) -> list[int]:
    """The elements that a person holds, in order: the items of a code, then the first fillers."""
    if not 0 <= code < 1 << items or code.bit_count() > most:
        raise ValueError("A set has other items, or more, than the channel takes.")
    full = code | (1 << (most - code.bit_count())) - 1 << items
    return [element for element, bit in enumerate(reversed(f"{full:0{items + most}b}")) if bit == "1"]


@lru_cache(maxsize=64)
def _beyond(elements: int, most: int, picked: int) -> tuple[int, ...]:
    """How many reports contain none of the first 0, 1, ... elements held: C(n - t, w)."""
    counts = [comb(elements, picked)]
    for left in range(elements, elements - most, -1):
        counts.append(counts[-1] * (left - picked) // left)
    return tuple(counts)


@lru_cache(maxsize=64)
def _row(elements: int, most: int, picked: int, hit: int) -> tuple[int, ...]:
    """Of C(n, w) - C(n - m, w) reports with a hit, C(n, w) - C(n - t - 1, w) have it among the first t + 1 elements."""
    every, *beyond = _beyond(elements, most, picked)
    return (*(hit * (every - left) // (every - beyond[-1]) for left in beyond), UNIT)


@lru_cache(maxsize=64)
def _levels(elements: int, most: int, picked: int, hit: int) -> tuple[Fraction, ...]:
    """The likelihood of a report by the place of its first hit; the last is that of a report without one."""
    row, beyond = _row(elements, most, picked, hit), _beyond(elements, most, picked)
    sizes = (*(before - after for before, after in pairwise(beyond)), beyond[-1])
    return tuple(
        Fraction(high - low, UNIT * size) for (low, high), size in zip(pairwise((0, *row)), sizes, strict=True)
    )


def _free(index: int, barred: list[int]) -> int:
    """The index-th element that is not barred; `barred` rises."""
    for element in barred:
        index += index >= element
    return index
