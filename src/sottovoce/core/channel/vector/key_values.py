"""Channels for keys with numbers: `KeyEnds` reports sets, `AskedKey` asks about a key, `SampledKey` draws one."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod
from typing import ClassVar, cast

from sottovoce.core.arithmetic.hashing import WORD
from sottovoce.core.arithmetic.rational import FINE, UNIT, ceil_unit, floor_unit, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, channel_from_spec
from sottovoce.core.channel.closed_forms import extremes
from sottovoce.core.channel.compose.keyed import Keyed
from sottovoce.core.channel.compose.maps import Choice
from sottovoce.core.channel.compose.spread import Spread
from sottovoce.core.channel.facets import (
    Costed,
    Numbered,
    PublicCoins,
    Relaying,
    Supporting,
    facet,
    outputs_of,
    rounding_of,
    trusted,
)
from sottovoce.core.channel.finite.hitting import Hitting, hit_units
from sottovoce.core.channel.finite.subset import Subset
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.shapes import ByEnds, ByState, Grouped, Itemised
from sottovoce.core.channel.vector.place import Slots
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, in_units, integer, part
from sottovoce.core.domain.sparse import Code, Sparse
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.params import reject
from sottovoce.core.spec_cost import Effort, effort, summed

MAX_BETWEEN = 1 << 12  # roundings that one likelihood sums over
_WHOLE = 1 << PLACES
_TO_UNITS = FINE - PLACES


@declared
class KeyEnds(Slots, ByEnds, Costed):
    """A set of the keys held, or of the ends to which their numbers are rounded; the lowest bit of a report says which.

    A coin that no answer influences chooses `ends` with probability `weight`, else `plain`. `plain` is a channel for
    sets of keys. `ends` is one for sets of twice as many items: 2 k stands for key k with its number rounded to the
    upper end, 2 k + 1 for the lower end.
    """

    kind: ClassVar[str] = "key-ends"
    weight: int = in_units()
    plain: Channel = part("channel", channel_from_spec)
    ends: Channel = part("channel", channel_from_spec)

    def check_fields(self) -> None:
        for channel, items in ((self.plain, self.dimensions), (self.ends, 2 * self.dimensions)):
            sets = facet(channel, Itemised)
            if sets is None or (sets.items, sets.most) != (items, self.most):
                raise ParameterError(
                    f"Keys with numbers need channels for sets of at most {self.most} of {self.dimensions} keys, and of"
                    f" at most {self.most} of {2 * self.dimensions} ends."
                )

    @property
    def parts(self) -> tuple[Channel, ...]:
        return self.plain, self.ends

    @property
    def by_ends(self) -> KeyEnds:
        return self

    @property
    def publics(self) -> int:
        return max(self.plain.publics, self.ends.publics)

    @property
    def words(self) -> int:
        return 1 + self.most + self.plain.words + self.ends.words

    def sample(self, code: Code, coins: Coins, public: Words = NO_WORDS) -> int:
        begin = coins.position
        about_ends = coins.flip(self.weight)
        keys = ends = 0
        for slot, (place, number) in enumerate(self.padded(code)):
            filled = slot < len(code)
            up = self.rises(number, coins)
            keys |= filled << place
            ends |= filled << 2 * place + (not up)
        plain = coins.when(not about_ends, partial(self.plain.sample, keys, public=public))
        coins.seek(begin + 1 + self.most + self.plain.words)
        fine = coins.when(about_ends, partial(self.ends.sample, ends, public=public))
        return (plain, fine)[about_ends] << 1 | about_ends

    @property
    def payload_bits(self) -> int:
        return 1 + max(self.plain.payload_bits, self.ends.payload_bits)

    def contains(self, report: int) -> bool:
        return report >= 0 and (self.plain, self.ends)[report & 1].contains(report >> 1)

    def ratio(self) -> Fraction:
        """A rounded number is a mixture of its ends."""
        return max(self.plain.ratio(), self.ends.ratio())

    def likelihood(self, report: int, code: Code, public: Words = NO_WORDS) -> Fraction:
        if not report & 1:
            keys = sum(1 << place for place, _ in code)
            return (1 - units(self.weight)) * self.plain.likelihood(report >> 1, keys, public)
        total = sum(
            (weight * self.ends.likelihood(report >> 1, ends, public) for weight, ends in self._rounded(code)),
            Fraction(0),
        )
        return units(self.weight) * total

    def _rounded(self, code: Code) -> Iterator[tuple[Fraction, int]]:
        """The sets of ends that a code may become, with their probabilities."""
        choices = []
        for place, number in code:
            up = Fraction(self.position(number), _WHOLE)
            choices.append([(chance, 1 << end) for chance, end in ((up, 2 * place), (1 - up, 2 * place + 1)) if chance])
        if prod(map(len, choices)) > MAX_BETWEEN:
            raise TooLargeError("A likelihood of so many keys with numbers between the ends has too many terms.")
        for drawn in product(*choices):
            yield prod((chance for chance, _ in drawn), start=Fraction(1)), sum(end for _, end in drawn)

    def effort(self) -> Effort:
        plain, ends = effort(self.plain), effort(self.ends)
        bits = max(plain.bits, ends.bits) + 64
        likelihood = plain.likelihood + min(MAX_BETWEEN, 1 << min(self.most, 20)) * ends.likelihood
        return summed(
            self, Effort(bits, likelihood, plain.ratio + ends.ratio, max(plain.ratio_bits, ends.ratio_bits) + 64)
        )

    def miniatures(self) -> tuple[Channel, ...]:
        """Small sets of keys beside small sets of ends."""
        found = []
        for keys, most in ((2, 1), (2, 2), (3, 2)):
            parts = [_small(channel, items, most) for channel, items in ((self.plain, keys), (self.ends, 2 * keys))]
            if all(parts):
                plain, ends = cast(list[Channel], parts)
                found.append(type(self)(Sparse(keys, most, self.bound), self.weight, plain, ends))
        return tuple(found)


def _small(channel: Channel, items: int, most: int) -> Channel | None:
    """A small channel for sets of so many items, with the ratio of another one; cells that short ids can list."""
    picked, ratio = min(cast(Itemised, channel).picked, 2), channel.ratio()
    if isinstance(channel, Spread):
        cells = Hitting(2, most, picked, hit_units(2 + most, most, picked, ratio))
        return None if items + most > 6 else Spread(items, cells, 3)
    return Hitting(items, most, picked, hit_units(items + most, most, picked, ratio))


@declared
class AskedKey(Slots, ByState, PublicCoins, Relaying, Numbered, Costed):
    """The report's id chooses a key; `inner` randomizes its state: not held, held with the lower end, with the upper.

    The number of a key that is held is rounded to one of the ends first.
    """

    kind: ClassVar[str] = "asked-key"
    publics: ClassVar[int] = 1
    inner: Channel = part("channel", channel_from_spec)
    bits: int = integer(default=WORD)
    last = delegated("inner")
    payload_bits = delegated("inner.payload_bits")
    outputs = delegated("inner.outputs")
    contains = delegated("inner.contains")
    ratio = delegated("inner.ratio")
    public_bits = delegated("bits")
    accepts = delegated("choice.accepts")
    tries = delegated("choice.tries")

    def check_fields(self) -> None:
        if self.inner.inputs != 3 or not self.inner.codes_are_indices or outputs_of(self.inner) is None:
            raise ParameterError("A key that is asked about needs a channel of 3 codes with numbered reports.")
        if self.inner.publics:
            raise ParameterError("The channel of a key that is asked about must read no public words.")
        if self.bits not in (2, 4, WORD) or self.dimensions > 1 << self.bits:
            raise reject("bits", self.kind, "64 (2 or 4 in proofs)", self.bits)

    @property
    def parts(self) -> tuple[Channel, ...]:
        return (self.inner,)

    @property
    def by_state(self) -> AskedKey:
        return self

    @property
    def choice(self) -> Choice:
        """The public choice of the key."""
        return Choice(self.dimensions, self.bits)

    @property
    def words(self) -> int:
        return 1 + self.inner.words

    def _number(self, code: Code, public: Words) -> tuple[bool, Fraction]:
        """Whether the key is held, and its number."""
        asked, held, number = self.choice.of(public), False, Fraction(0)
        for place, own in self.padded(code):
            mine = place == asked
            held, number = held | mine, (number, own)[mine]
        return held, number

    def sample(self, code: Code, coins: Coins, public: Words = NO_WORDS) -> int:
        held, number = self._number(code, public)
        up = self.rises(number, coins)
        return self.inner.sample(held * (1 + up), coins)

    def likelihood(self, report: int, code: Code, public: Words = NO_WORDS) -> Fraction:
        held, number = self._number(code, public)
        if not held:
            return self.inner.likelihood(report, 0)
        up = Fraction(self.position(number), _WHOLE)
        return (1 - up) * self.inner.likelihood(report, 1) + up * self.inner.likelihood(report, 2)

    def effort(self) -> Effort:
        inner = effort(self.inner)
        return summed(self, inner._replace(bits=inner.bits + 64, likelihood=2 * inner.likelihood + 2))

    def miniatures(self) -> tuple[Channel, ...]:
        return tuple(
            type(self)(Sparse(keys, most, self.bound), self.inner, 2) for keys, most in ((2, 1), (2, 2), (3, 2), (4, 3))
        )


@declared
class SampledKey(Slots, Grouped, Relaying, Numbered, Costed):
    """One of `most` slots, drawn uniformly; an empty one stands for a filler. `inner` randomizes its key and number.

    The fillers come after the keys as groups of their own; their number is the middle of the range.
    """

    kind: ClassVar[str] = "sampled-key"
    inner: Channel = part("channel", channel_from_spec)
    last = delegated("inner")
    payload_bits = delegated("inner.payload_bits")
    outputs = delegated("inner.outputs")
    contains = delegated("inner.contains")

    def check_fields(self) -> None:
        inner = self.inner
        if not isinstance(inner, Keyed) or inner.key.inputs != self.dimensions + self.most:
            groups = self.dimensions + self.most
            raise ParameterError(f"A key that is drawn needs a keyed channel with {groups} groups: keys and fillers.")
        if not isinstance(inner.key, Subset) or inner.key.w != 1:
            raise ParameterError("The key of a keyed channel for drawn keys must be randomized response.")
        grid = rounding_of(inner.inner)
        if grid is None or (Fraction(grid.low), Fraction(grid.high)) != (-Fraction(self.bound), Fraction(self.bound)):
            raise ParameterError("The numbers of a keyed channel for keys must be rounded from the same range.")

    def ratio(self) -> Fraction:
        """A report names one group: that of one slot at most. The draw of a slot is private, which amplifies."""
        own, other = trusted(self.keyed.key, Supporting).rates()  # type: ignore[misc]
        worst = Fraction(1)
        for high, low, weight in set(zip(*extremes(self.keyed.inner), self.keyed.neutral, strict=True)):
            absent = other * units(weight)
            levels = [absent, *((own * end + (self.most - 1) * absent) / self.most for end in (high, low))]
            if max(levels):
                worst = max(worst, max(levels) / min(levels))
        return worst

    @property
    def parts(self) -> tuple[Channel, ...]:
        return (self.inner,)

    @property
    def keyed(self) -> Keyed:
        return cast(Keyed, self.inner)

    @property
    def words(self) -> int:
        return 1 + self.inner.words

    def _elements(self, code: Code) -> list[tuple[int, Fraction]]:
        """The group and the number of each slot."""
        slots = enumerate(self.padded(code))
        return [
            ((self.dimensions + slot, Fraction(0)), (place, number))[slot < len(code)]
            for slot, (place, number) in slots
        ]

    def sample(self, code: Code, coins: Coins, public: Words = NO_WORDS) -> int:
        elements = self._elements(code)
        return self.inner.sample(elements[coins.below(self.most)], coins)

    def likelihood(self, report: int, code: Code, public: Words = NO_WORDS) -> Fraction:
        each = [self.inner.likelihood(report, element) for element in self._elements(code)]
        return sum(each, Fraction(0)) / self.most

    def effort(self) -> Effort:
        inner = effort(self.inner)
        likelihood = self.most * (inner.likelihood + 1)
        return summed(self, inner._replace(bits=inner.bits + 64, likelihood=likelihood))

    def miniatures(self) -> tuple[Channel, ...]:
        """Few keys and fillers behind the same randomization of numbers."""
        own, e = self.keyed, self.keyed.key.ratio()
        found = []
        for keys, most in ((2, 1), (2, 2)):
            count = keys + most
            key = Subset(count, 1, floor_unit(e / (e + count - 1)))
            found.append(type(self)(Sparse(keys, most, self.bound), Keyed(key, own.inner, own.neutral)))
        return tuple(found)


def three_states(ratio: Fraction, kept: Fraction) -> tuple[tuple[int, ...], ...]:
    """The rows of a table of the three states with this ratio, rounded toward privacy.

    `kept` is the odds of sending the number's own end, at most the ratio. The rest of the ratio is for holding the key.
    """
    held = ratio * (kept + 1) / (2 * kept)  # odds of sending that the key is held, where it is
    own, other = held / (held + 1) * kept / (kept + 1), held / (held + 1) / (kept + 1)
    absent = 1 / (held + 1)
    high, low, wrong = floor_unit(own), ceil_unit(other), ceil_unit(absent / 2)
    rest = UNIT - high - low
    return (UNIT - 2 * wrong, wrong, wrong), (rest, high, low), (rest, low, high)
