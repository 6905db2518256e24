"""`Block`: each code has a public set of outputs; with probability `inside` a uniform one of them."""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import ClassVar, Protocol

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, check_informative
from sottovoce.core.channel.facets import Contrast, Facet, Rates, Supporting
from sottovoce.core.channel.shapes import Blocked, Indexed
from sottovoce.core.coins import Coins
from sottovoce.core.declared import Declared, declared, delegated, from_kinds, in_units, integer, part
from sottovoce.core.params import check_integer, reject
from sottovoce.core.specs import Spec


class PublicSets(Protocol):
    """The public sets of a block channel: numbered from 0 inside and outside."""

    @property
    def codes(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def size(self) -> int: ...
    def output(self, code: int, index: int, inside: bool) -> int: ...
    def member(self, code: int, output: int) -> bool: ...
    def rates(self, inside: Fraction) -> Rates | Contrast | None: ...
    def miniatures(self) -> tuple[PublicSets, ...]: ...
    def spec(self) -> Spec: ...


@declared
class HadamardSets(Declared):
    """Rows of Hadamard matrices: code c lies in group c mod `groups` and has row r = c // groups + 1 there.

    The set of a code is the half of its group's `order` outputs where the row is +1: those y with an even number of
    common bits with r. (Row 0 is constant and not used.) Sets of one group meet in half of each other, sets of
    different groups not at all.
    """

    kind: ClassVar[str] = "hadamard"
    codes: int = integer()
    order: int = integer(2, 1 << 24)
    groups: int = integer(1, 1 << 24)

    def check_fields(self) -> None:
        if self.order & (self.order - 1):
            raise reject("order", self.kind, "a power of two", self.order)
        check_integer("codes", self.kind, self.codes, 2, self.groups * (self.order - 1))

    @property
    def outputs(self) -> int:
        return self.order * self.groups

    @property
    def size(self) -> int:
        return self.order // 2

    def member(self, code: int, output: int) -> bool:
        group, row = code % self.groups, code // self.groups + 1
        return output // self.order == group and (output % self.order & row).bit_count() % 2 == 0

    def output(self, code: int, index: int, inside: bool) -> int:
        """The index-th output of the code's set, or outside it: the other half of its group, then other groups."""
        near = (index < self.size) | inside
        return (self._beyond(code, index - self.size), self._half(code, index, not inside))[near]

    def _half(self, code: int, index: int, parity: int) -> int:
        """The index-th output of the code's group with this parity: free bits, and one that sets the parity."""
        group, row = code % self.groups, code // self.groups + 1
        lowest = row & -row
        free = (index & ~(lowest - 1)) << 1 | index & (lowest - 1)
        odd = (free & row).bit_count() & 1
        return group * self.order + (free | lowest * (odd != parity))

    def _beyond(self, code: int, index: int) -> int:
        """The index-th output of the other groups."""
        return index + self.order * (index >= code % self.groups * self.order)

    def rates(self, inside: Fraction) -> Rates | Contrast:
        outside_each = (1 - inside) / (self.outputs - self.size)
        if self.groups == 1:
            return Rates(inside, inside / 2 + outside_each * self.size / 2)
        return Contrast(
            hit_own=inside + outside_each * self.size,
            hit_other=outside_each * self.order,
            plus_own=inside,
        )

    def miniatures(self) -> tuple[HadamardSets, ...]:
        if self.groups == 1:
            return type(self)(3, 4, 1), type(self)(5, 8, 1)
        return type(self)(6, 4, 2), type(self)(7, 4, 4)


@declared
class ArcSets(Declared):
    """Arcs of a circle of outputs: the set of code c are the `size` outputs from c on, which start again at 0.

    A circle that is rounded to as many points as it has outputs has one code more: its last point is its first.
    """

    kind: ClassVar[str] = "arcs"
    codes: int = integer()
    outputs: int = integer(2, 1 << 24)
    size: int = integer()

    def check_fields(self) -> None:
        check_integer("size", self.kind, self.size, 1, self.outputs - 1)
        check_integer("codes", self.kind, self.codes, self.outputs, self.outputs + 1)

    def member(self, code: int, output: int) -> bool:
        return (output - code) % self.outputs < self.size

    def output(self, code: int, index: int, inside: bool) -> int:
        """The index-th output of the arc, or of what is left of the circle, which follows it."""
        return (code + index + self.size * (not inside)) % self.outputs

    def rates(self, inside: Fraction) -> None:
        """Codes near each other share more outputs than distant ones."""
        return None

    def miniatures(self) -> tuple[ArcSets, ...]:
        """Fewer outputs, and arcs of about the same share of them."""
        spare, share = self.codes - self.outputs, Fraction(self.size, self.outputs)
        return tuple(type(self)(outputs + spare, outputs, nearest_arc(share, outputs)) for outputs in (2, 3, 4, 5, 6))


def nearest_arc(share: Fraction, outputs: int) -> int:
    """The size of an arc near a share of the outputs that has no divisor in common with their number.

    Otherwise some patterns that repeat around the circle would not show in the reports at all.
    """
    sizes = (size for size in range(1, outputs) if gcd(size, outputs) == 1)
    return min(sizes, key=lambda size: abs(size - share * outputs))


SETS = {
    "arcs": "core.channel.finite.block:ArcSets",
    "hadamard": "core.channel.finite.block:HadamardSets",
    "nodes": "core.channel.finite.tree_sets:NodeSets",
    "pool": "core.channel.finite.tree_sets:PoolSets",
    "projective": "core.channel.finite.sets:ProjectiveSets",
    "listed": "core.channel.finite.patterns:ListedSets",
    "shifts": "core.channel.finite.patterns:ShiftSets",
    "signed": "core.channel.vector.place:SignedSets",
}


def sets_from_spec(spec: object) -> PublicSets:
    """The sets that a specification describes."""
    sets: PublicSets = from_kinds(SETS, spec, "The sets of a block channel must have a kind")
    return sets


@declared
class Block(Indexed, Blocked, Supporting):
    """A uniform output inside the code's set with probability `inside`, else a uniform one outside."""

    kind: ClassVar[str] = "block"
    words: ClassVar[int] = 2
    sets: PublicSets = part("sets", sets_from_spec)
    inside: int = in_units()
    inputs = delegated("sets.codes")
    outputs = delegated("sets.outputs")

    def check_fields(self) -> None:
        check_informative(self.kind, units(self.inside), Fraction(self.sets.size, self.sets.outputs))

    @property
    def block(self) -> Block:
        return self

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        inside, size = coins.flip(self.inside), self.sets.size
        index = coins.below((self.sets.outputs - size, size)[inside])
        return self.sets.output(code, index, inside)

    def ratio(self) -> Fraction:
        """inside (outputs - size) / ((1 - inside) size); `check_informative` makes it at least 1."""
        size = self.sets.size
        return Fraction(self.inside * (self.sets.outputs - size), (UNIT - self.inside) * size)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        if self.sets.member(code, report):
            return units(self.inside) / self.sets.size
        return units(UNIT - self.inside) / (self.sets.outputs - self.sets.size)

    def has(self, kind: type[Facet]) -> bool:
        return kind is not Supporting or self.rates() is not None

    def supports(self, report: int, code: int, public: Words = NO_WORDS) -> bool:
        return self.sets.member(code, report)

    def rates(self, code: int = 0) -> Rates | Contrast | None:
        return self.sets.rates(units(self.inside))

    def miniatures(self) -> tuple[Channel, ...]:
        ratio = self.ratio()
        return tuple(
            type(self)(sets, floor_unit(ratio * sets.size / (ratio * sets.size + sets.outputs - sets.size)))
            for sets in self.sets.miniatures()
        )
