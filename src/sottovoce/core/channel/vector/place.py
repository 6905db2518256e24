"""`Place`: one random entry of a sparse vector, as its place and a sign; the first stage of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial
from math import comb
from typing import Any, ClassVar, Self

from sottovoce.core.arithmetic.rational import FINE, floor_unit
from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Contrast, Slotted, Vectors
from sottovoce.core.channel.finite.block import Block, HadamardSets
from sottovoce.core.channel.finite.subset import Subset
from sottovoce.core.channel.listing import CodeList, combination
from sottovoce.core.channel.numeric.rounding import PLACES, Rounding
from sottovoce.core.channel.shapes import Indexed
from sottovoce.core.coins import Coins
from sottovoce.core.declared import Declared, Form, declared, integer
from sottovoce.core.domain.sparse import Code, Sparse
from sottovoce.core.errors import PrivacyError

_WHOLE = 1 << PLACES


@declared
class Slots(Channel, Vectors, Slotted):
    """What channels for sparse vectors share: codes are tuples of (place, number), at most `most` of them."""

    derived: ClassVar[Mapping[str, Form]] = Sparse.forms
    codes_are_indices: ClassVar[bool] = False  # codes are tuples
    vectors: Sparse

    @property
    def slots(self) -> Slots:
        return self

    @property
    def dimensions(self) -> int:
        return self.vectors.dimensions

    @property
    def most(self) -> int:
        return self.vectors.most

    @property
    def bound(self) -> Decimal:
        return self.vectors.bound

    @property
    def grid(self) -> Rounding:
        """The two ends of each number."""
        return _grid(self.vectors)

    @property
    def inputs(self) -> int:
        """The vectors whose numbers are zero or at an end: the law of every other one is a mixture of theirs."""
        total = filled = 1
        for held in range(self.most):  # one entry more: another place, either sign, whatever the order
            filled = 2 * filled * (self.dimensions - held) // (held + 1)
            total += filled
        return total

    def codes(self) -> CodeList:
        """Sparse vectors by place: ordered by the number of entries, then by positions, then by signs."""
        return CodeList(self.inputs, self._code)

    def _code(self, at: int) -> Code:
        held = 0
        while at >= (filled := comb(self.dimensions, held) << held):
            at, held = at - filled, held + 1
        places, signs = divmod(at, 1 << held)
        last = comb(self.dimensions, held) - 1  # counted from the end, places fall where those of masks rise
        rising = [self.dimensions - 1 - place for place in combination(self.dimensions, held, last - places)]
        end = Fraction(self.bound)
        return tuple((place, (end, -end)[signs >> (held - 1 - slot) & 1]) for slot, place in enumerate(rising))

    def padded(self, code: Code) -> Code:
        """The code with as many entries as there are slots; an empty slot holds a number beyond the last place.

        Samplers process all of them, so that the duration does not depend on the number of entries.
        """
        if len(code) > self.most:
            raise ValueError("The vector has more entries than there are slots.")
        return code + ((self.dimensions, _filler(self.vectors)),) * (self.most - len(code))

    def position(self, number: Fraction) -> int:
        """The position of a number between the two ends, in units of 2**-32: the probability of the upper one."""
        position = _grid(self.vectors).position(number)
        if not 0 <= position <= _WHOLE:
            raise ValueError("A number is outside the range of the vector.")
        return position

    def rises(self, number: Fraction, coins: Coins) -> bool:
        """Whether a number is rounded to the upper end."""
        return coins.flip(self.position(number) << (FINE - PLACES))

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """The keys of the vectors stand beside those of the channel."""
        vectors = Sparse(*(values[name] for name in cls.derived))
        return cls(vectors, **{name: values[name] for name in cls.forms})


@lru_cache(maxsize=64)
def _grid(vectors: Sparse) -> Rounding:
    """The two ends of each number, made once for many answers."""
    return Rounding(-vectors.bound, vectors.bound, 1)


@lru_cache(maxsize=64)
def _filler(vectors: Sparse) -> Fraction:
    """The number of an empty slot, made once for many answers."""
    return vectors.side.encode(vectors.filler)


@declared
class Place(Slots, Indexed):
    """One of `most` slots, chosen uniformly. The report of (place, number) is 2 place or 2 place + 1.

    The former stands for +bound, the latter for -bound, and the number is rounded to one of them without bias. An empty
    slot becomes any place that the answer leaves empty, with a fair sign: its mean is zero. So an answer with fewer
    entries is a mixture of full ones, and no report is likelier than under some full answer.
    """

    kind: ClassVar[str] = "place"
    words: ClassVar[int] = 2

    def sample(self, code: Code, coins: Coins, public: Words = NO_WORDS) -> int:
        slots = self.padded(code)
        slot = coins.below(self.most)
        filled = slot < len(code)
        place, number = slots[slot]
        signs = 2 * (self.dimensions - len(code)) or 1  # of the places that the answer leaves empty
        drawn = coins.either(filled, partial(self.rises, number), lambda coins: coins.below(signs))
        empty, sign = divmod(drawn, 2)
        for held, _ in slots:  # in rising order
            empty += empty >= held
        return (2 * empty + sign, 2 * place + (not drawn))[filled]

    @property
    def outputs(self) -> int:
        return 2 * self.dimensions

    def ratio(self) -> Fraction:
        raise PrivacyError("A slot alone gives no privacy: the ratio is infinite.")

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        place, minus = divmod(report, 2)
        for held, number in code:
            if held == place:
                plus = Fraction(self.position(number), _WHOLE)
                return (1 - plus if minus else plus) / self.most
        empty = self.most - len(code)
        return Fraction(empty, 2 * self.most * (self.dimensions - len(code))) if empty else Fraction(0)

    # --- with a second stage -----------------------------------------------------------------------
    def ratio_before(self, second: Channel) -> Fraction | None:
        """The ratio of this and a second stage; None if no closed form is known.

        A report y has one of two likelihoods under a code of the second stage, whether it supports the code or not. A
        full answer has `most` different places. At best y supports one code of each, or of as many places as it can;
        at worst it supports none: for the other sign of each place it does not. The choice of a slot is private and
        mixes these. So where y can support few places the ratio is smaller than that of the second stage.
        """
        if not self.knows_ratio_before(second):
            return None
        together = 1 if self.most == 1 else _places_together(second, self.dimensions) or 1
        hit = min(self.most, together)
        return (hit * second.ratio() + self.most - hit) / self.most

    def knows_ratio_before(self, second: Channel) -> bool:
        """Whether the ratio of this and a second stage has a closed form."""
        return self.most == 1 or _places_together(second, self.dimensions) is not None

    def miniatures_before(self, second: Channel) -> Iterator[tuple[Place, Channel]]:
        """Small pairs of this and a second stage with the ratio of the second."""
        ratio = second.ratio()
        pairs = [(size, groups, 2) for size, groups in ((2, 1), (3, 1), (3, 2), (2, 2), (3, 3))]
        for dimensions, groups, most in (
            [*pairs, (4, 1, 3), (4, 2, 3), (3, 2, 3), (3, 3, 3)] if self.most > 2 else pairs
        ):
            small = type(self)(Sparse(dimensions, min(self.most, most), self.bound))
            if isinstance(second, Block):
                yield small, signed_rows(dimensions, groups, ratio)
            elif isinstance(second, Subset) and groups <= most:
                k, w = 2 * dimensions, min(groups, second.w)
                yield small, Subset(k, w, floor_unit(ratio * w / (ratio * w + k - w)))

    def miniatures(self) -> tuple[Channel, ...]:
        return tuple(type(self)(Sparse(size, min(self.most, size - 1, 3), self.bound)) for size in (2, 3, 4))


def _places_together(second: Channel, dimensions: int) -> int | None:
    """The number of places for which one report can support one sign's code and not the other's."""
    if isinstance(second, Block) and isinstance(second.sets, SignedSets):
        return -(-second.sets.dimensions // second.sets.groups)  # the first group is never smaller than another
    if isinstance(second, Subset) and second.w <= dimensions:
        return second.w
    return None


# --- a second stage: rows of Hadamard matrices with a sign --------------------------------------------------------
@declared
class SignedSets(Declared):
    """Places with a sign as halves of a Hadamard row: code 2 j has the outputs where row j is +1, 2 j + 1 the others.

    Place j lies in group j mod `groups` and has row j // groups + 1 of the `order` outputs there. An output of a group
    supports one sign or the other of every place of the group, and no other place; with as many groups as places
    this is k-ary randomized response.
    """

    kind: ClassVar[str] = "signed"
    dimensions: int = integer()
    order: int = integer()
    groups: int = integer()

    def check_fields(self) -> None:
        self.rows  # noqa: B018 - checks all three

    @property
    def rows(self) -> HadamardSets:
        """The sets of the places with sign +1."""
        return HadamardSets(self.dimensions, self.order, self.groups)

    @property
    def codes(self) -> int:
        return 2 * self.dimensions

    @property
    def outputs(self) -> int:
        return self.order * self.groups

    @property
    def size(self) -> int:
        return self.order // 2

    def member(self, code: int, output: int) -> bool:
        place, minus = divmod(code, 2)
        return output // self.order == place % self.groups and self.rows.member(place, output) != bool(minus)

    def output(self, code: int, index: int, inside: bool) -> int:
        """For sign -1 the two halves of the group change places: the lowest bit of the row turns one into the other."""
        place, minus = divmod(code, 2)
        output, row = self.rows.output(place, index, inside), place // self.groups + 1
        return output ^ (row & -row) * minus * (output // self.order == place % self.groups)

    def contrast(self, inside: Fraction) -> Contrast:
        """How reports score a place: +1 for its sign +1, -1 for the other, 0 if they hit another group."""
        outside_each = (1 - inside) / (self.outputs - self.size)
        return Contrast(inside + outside_each * self.size, outside_each * self.order, inside)

    def rates(self, inside: Fraction) -> None:
        """None: reports are scored by `contrast`, since other codes are not supported at one common rate."""
        return None

    def miniatures(self) -> tuple[SignedSets, ...]:
        return type(self)(2, 4, 1), type(self)(3, 2, 3)


def signed_rows(dimensions: int, groups: int, ratio: Fraction) -> Block:
    """The channel of signed rows with at most this likelihood ratio."""
    rows = -(-dimensions // groups)
    sets = SignedSets(dimensions, 1 << rows.bit_length(), groups)
    return Block(sets, floor_unit(ratio * sets.size / (ratio * sets.size + sets.outputs - sets.size)))
