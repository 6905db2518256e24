"""`Signs`: a sign for every place of a sparse vector, fair where it has no entry, and agreeing with its entries."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import comb
from typing import Any, ClassVar, NamedTuple

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, check_informative
from sottovoce.core.channel.facets import Costed, Relaying, Summed, facet, slots_of
from sottovoce.core.channel.finite.block import Block
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.vector.place import SignedSets, Slots
from sottovoce.core.channel.vector.sign_hints import Hints
from sottovoce.core.coins import Coins, flips_span
from sottovoce.core.declared import declared, delegated, in_units, integer
from sottovoce.core.domain.sparse import Sparse
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.core.spec_cost import Effort, summed

MAX_SLOTS = 48  # so that every pattern of agreement has a number that one coin draws


@declared
class Signs(Slots, Summed, Costed):
    """Each of `most` slots agrees or not; patterns in which at least `least` agree are likelier than the others.

    Each entry is rounded to an end of its range, v = +-1. With probability `inside` / 2**53 the pattern is uniform
    among those with at least `least` agreements, else among the rest. The sign at an entry is v where its slot agrees,
    else -v; an empty slot is not sent, and all other signs are fair. Bit j of the report is set where the
    sign of place j is +1.
    """

    kind: ClassVar[str] = "signs"
    least: int = integer()
    inside: int = in_units()
    payload_bits = delegated("dimensions")

    def check_fields(self) -> None:
        check_integer("most", self.kind, self.most, 1, MAX_SLOTS)
        check_integer("least", self.kind, self.least, 1, self.most)
        check_informative(self.kind, units(self.inside), Fraction(self.patterns[0], sum(self.patterns)))

    @classmethod
    def of_ratio(cls, vectors: Sparse, least: int, ratio: Fraction) -> Signs:
        """The largest `inside` whose likelihood ratio does not exceed the given one."""
        many, few = patterns(vectors.most, least)
        return cls(vectors, least, floor_unit(ratio * many / (ratio * many + few)))

    @property
    def patterns(self) -> tuple[int, int]:
        """How many patterns have enough agreements, and how many have too few."""
        return patterns(self.most, self.least)

    @property
    def words(self) -> int:
        return 2 + self.most + flips_span(self.dimensions, UNIT // 2)

    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        slots = self.padded(code)
        inside = coins.flip(self.inside)
        index = coins.below(self.patterns[not inside])
        agreeing = pattern(index, (0, self.least)[inside], self.most)
        held = flipped = 0
        for slot, (place, number) in enumerate(slots):
            plus = coins.when(slot < len(code), partial(self.rises, number))
            held |= 1 << place
            flipped |= (plus == agreeing >> slot & 1) << place
        signs = coins.flips(self.dimensions, UNIT // 2) & ~held | flipped
        return signs & (1 << self.dimensions) - 1  # the bits beyond belong to empty slots

    def contains(self, report: int) -> bool:
        return 0 <= report < 1 << self.dimensions

    # --- the law -----------------------------------------------------------------------------------
    def _each(self) -> tuple[Fraction, Fraction]:
        """The probability of one pattern with enough agreements, and of one without."""
        many, few = self.patterns
        return units(self.inside) / many, units(UNIT - self.inside) / few

    def ratio(self) -> Fraction:
        """Every report agrees with some full vector in all slots, and with its opposite in none."""
        likely, unlikely = self._each()
        return likely / unlikely

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        likely, unlikely = self._each()
        agreements = [Fraction(1)]  # the law of their number, one entry at a time
        for place, number in code:
            plus = Fraction(self.position(number), 1 << PLACES)
            agree = plus if report >> place & 1 else 1 - plus
            pairs = zip([*agreements, Fraction(0)], [Fraction(0), *agreements], strict=True)
            agreements = [same * (1 - agree) + fewer * agree for same, fewer in pairs]
        empty = self.most - len(code)
        total = Fraction(0)
        for entries, weight in enumerate(agreements):
            for others in range(empty + 1):
                probability = likely if entries + others >= self.least else unlikely
                total += weight * comb(empty, others) * probability
        return total / (1 << (self.dimensions - len(code)))

    @property
    def keep(self) -> Fraction:
        """How often the sign at an entry agrees with it: the mean share of slots that agree."""
        likely, unlikely = self._each()
        weighted = (
            agreeing * comb(self.most, agreeing) * (likely if agreeing >= self.least else unlikely)
            for agreeing in range(self.most + 1)
        )
        return sum(weighted, Fraction(0)) / self.most

    # --- tallies: for each place how many signs are +1 ----------------------------------------------
    @property
    def sums(self) -> tuple[int, ...]:
        return (1,) * self.dimensions

    def summands(self, report: int, public: Words = NO_WORDS) -> Sequence[int]:
        return [report >> place & 1 for place in range(self.dimensions)]

    # --- proofs and plain data ---------------------------------------------------------------------
    def effort(self) -> Effort:
        """A likelihood goes through pairs of entries, and through pairs of full and empty slots."""
        bits, pairs = 64 * self.most + self.dimensions, (self.most + 2) ** 2
        return summed(self, Effort(bits=bits, likelihood=4 * pairs, ratio=4 + self.most))

    def miniatures(self) -> tuple[Channel, ...]:
        """Few dimensions with the same ratio, and with the least agreement that is next to a majority or beyond it."""
        sizes = [(2, 1, 1), (3, 1, 1)] if self.most == 1 else [(2, 2, 2), (3, 2, 1), (3, 3, 2), (3, 3, 3)]
        ratio = self.ratio()
        return tuple(self.of_ratio(Sparse(size, most, self.bound), least, ratio) for size, most, least in sizes)


class Score(NamedTuple):
    """How reports are read: +1, -1 or 0 for a place, where +1 stands for the number `scale`.

    A report hits the place's group with `hit_own` if it is about this group, else with `hit_other`. It is about
    `entries` of the answer's entries at once.
    """

    scale: Fraction
    hit_own: Fraction
    hit_other: Fraction
    groups: int
    entries: int
    padded: bool = False  # an empty slot becomes some place

    def average_square(self, dimensions: int) -> Fraction:
        """The mean square of a reading, averaged over places, if entries are spread evenly over them."""
        places, larger = divmod(dimensions, self.groups)  # of a group, and how many have one more
        together = larger * (places + 1) ** 2 + (self.groups - larger) * places**2
        hit = self.hit_other + (self.hit_own - self.hit_other) * Fraction(self.entries * together, dimensions**2)
        return self.scale**2 * hit


def score(channel: Channel) -> Score:
    """How the reports of a channel for sparse vectors are read without bias."""
    if isinstance(channel, Signs):
        return Score(Fraction(channel.bound) / (2 * channel.keep - 1), Fraction(1), Fraction(1), 1, channel.most)
    if isinstance(channel, Hints):
        numbers = channel.spoken, 2 * units(channel.speak), channel.dimensions, channel.most
        return Score(Fraction(channel.bound) / channel.slope, *numbers)
    slots, relaying = slots_of(channel), facet(channel, Relaying)
    second = relaying and relaying.last
    if slots is None or not isinstance(second, Block) or not isinstance(second.sets, SignedSets):
        raise ParameterError(f"The reports of this {channel.kind} channel are not read as sparse vectors.")
    contrast = second.sets.contrast(units(second.inside))
    scale = slots.most * Fraction(slots.bound) / contrast.slope
    return Score(scale, contrast.hit_own, contrast.hit_other, second.sets.groups, 1, padded=True)


@lru_cache(maxsize=256)
def patterns(most: int, least: int) -> tuple[int, int]:
    """How many subsets of `most` slots have at least `least` elements, and how many have fewer."""
    many = sum(comb(most, size) for size in range(least, most + 1))
    return many, (1 << most) - many


def pattern(index: int, least: int, most: int) -> int:
    """The index-th subset of slots as a mask: smaller subsets first, from `least` elements on.

    Subsets of one size are numbered so that those without the last slot come first, and so on inside.
    """
    subsets = _subsets(most)
    size = least
    for _ in range(most):  # the same number of steps for every index; once the size is found, nothing is skipped
        passed = index >= subsets[most][size]
        index -= passed * subsets[most][size]
        size += passed
    mask = 0
    for slot in range(most - 1, -1, -1):
        without = subsets[slot][size]
        held = index >= without
        index -= held * without
        mask |= held << slot
        size -= held
    return mask


@lru_cache(maxsize=64)
def _subsets(most: int) -> tuple[tuple[int, ...], ...]:
    """Binomial coefficients by number of slots and size of the subset."""
    return tuple(tuple(comb(slots, size) for size in range(most + 1)) for slots in range(most + 1))
