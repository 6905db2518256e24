"""`Hints`: signs of a few places of a sparse vector; some sign agrees with an entry more often than by chance."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any, ClassVar

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Costed, Summed
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.vector.place import Slots
from sottovoce.core.coins import Coins, flips_span
from sottovoce.core.declared import declared, integer, integers
from sottovoce.core.domain.sparse import Code, Sparse
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer
from sottovoce.core.spec_cost import Effort, summed

MAX_SLOTS = 48
TRIES = 4  # draws of a slot that must not agree, for which the span has room
AGREES, DISAGREES, SILENT = range(3)


@declared
class Hints(Slots, Summed, Costed):
    """For a place without an entry a report has + or -, each with probability `speak` / 2**53, or nothing.

    Each of `most` slots agrees, disagrees or is silent. Patterns in which some slot agrees are likelier than under
    independent slots: slot i is the first to agree with probability firsts[i] / 2**53, none agrees with the rest, and
    the states that this leaves open are drawn independently. Entries have a slot each; a random rotation of the slots
    makes them equal. If the slot of an entry agrees the report has its sign, if it disagrees the other one. Bit j of
    the report is set for + at place j, and bit `width` + j for -.
    """

    kind: ClassVar[str] = "hints"
    speak: int = integer(1, UNIT // 2 - 1)
    firsts: tuple[int, ...] = integers(1, UNIT - 1)

    def check_fields(self) -> None:
        check_integer("most", self.kind, self.most, 1, MAX_SLOTS)
        if len(self.firsts) != self.most or sum(self.firsts) >= UNIT:
            raise ParameterError("A hints channel must have one share for each slot, and the shares must leave a rest.")
        if self.slope <= 0:
            raise ParameterError("The reports of this hints channel are independent of the answer; raise epsilon.")

    @classmethod
    def of_ratio(cls, vectors: Sparse, speak: int, ratio: Fraction) -> Hints:
        """The largest shares whose likelihood ratio does not exceed the given one."""
        one = units(speak)
        nowhere = (1 - one) ** vectors.most
        likely = ratio / (ratio * (1 - nowhere) + nowhere)
        firsts = (floor_unit(likely * one * (1 - one) ** slot) for slot in range(vectors.most))
        return cls(vectors, speak, tuple(firsts))

    @property
    def width(self) -> int:
        """The bit at which the second half of a report starts: at a whole word."""
        return -(-self.dimensions // 64) * 64

    @property
    def words(self) -> int:
        return 2 + (TRIES + 1) * self.most + self._background

    @property
    def _background(self) -> int:
        return flips_span(self.dimensions, 2 * self.speak) + flips_span(self.dimensions, UNIT // 2)

    def sample(self, code: Code, coins: Coins, public: Words = NO_WORDS) -> int:
        slots = self.padded(code)
        turn = coins.below(self.most)
        first = coins.pick((*accumulate(self.firsts), UNIT))
        held, said = 0, [0, 0]
        states = self._states(len(code), turn, first, coins)
        for entry, (place, number) in enumerate(slots):
            state = states[entry]
            plus = coins.when(entry < len(code), partial(self.rises, number))
            held |= 1 << place
            said[plus == (state == DISAGREES)] |= (state != SILENT) << place
        speaking = coins.flips(self.dimensions, 2 * self.speak) & ~held
        signs = coins.flips(self.dimensions, UNIT // 2)
        everywhere = (1 << self.dimensions) - 1  # the bits beyond belong to empty slots
        plus, minus = (heard & everywhere for heard in (speaking & signs | said[0], speaking & ~signs | said[1]))
        return plus | minus << self.width

    def _states(self, entries: int, turn: int, first: int, coins: Coins) -> list[int]:
        """The state of each entry and of empty slots; words are read in the order of the slots."""
        drawn = [
            coins.when((slot - turn) % self.most < entries, partial(self._state, slot, first))
            for slot in range(self.most)
        ]
        return [drawn[(entry + turn) % self.most] for entry in range(self.most)]

    def _state(self, slot: int, first: int, coins: Coins) -> int:
        """The state of a slot: any after the first that agrees, any but agreement before it."""
        state = coins.when(slot != first, partial(self._other_state, slot < first))
        return (state, AGREES)[slot == first]

    def _other_state(self, before: bool, coins: Coins) -> int:
        return coins.either(before, self._not_agreeing, self._chance)

    def _not_agreeing(self, coins: Coins) -> int:
        return coins.until(self._chance, lambda state: state != AGREES, TRIES)

    def _chance(self, coins: Coins) -> int:
        return coins.pick((self.speak, 2 * self.speak, UNIT))

    @property
    def payload_bits(self) -> int:
        return self.width + self.dimensions

    def contains(self, report: int) -> bool:
        plus, minus = report & ((1 << self.width) - 1), report >> self.width
        return report >= 0 and not plus >> self.dimensions and not minus >> self.dimensions and not plus & minus

    # --- the law -----------------------------------------------------------------------------------
    def _shares(self) -> list[Fraction]:
        """How often each slot is the first to agree, and how often none agrees."""
        return [units(number) for number in (*self.firsts, UNIT - sum(self.firsts))]

    def ratio(self) -> Fraction:
        """The likelihood of a report with agreements, over that of one without; exact for the shares as rounded.

        The share of a first slot over its probability under independent slots is its density. Agreeing entries cut the
        circle of slots into gaps; over all rotations slot i is the first as often as there are gaps longer than i. So
        the largest density is the best sum over gaps that make up the circle. A report of + everywhere can agree with
        any of the entries.
        """
        one, shares = units(self.speak), self._shares()
        first = [share / (one * (1 - one) ** slot) for slot, share in enumerate(shares[:-1])]
        gained = [Fraction(0), *accumulate(first)]  # by a gap, over all rotations
        best, worst = [Fraction(0)], [Fraction(0)]
        for length in range(1, self.most + 1):
            best.append(max(gained[gap] + best[length - gap] for gap in range(1, length + 1)))
            worst.append(min(gained[gap] + worst[length - gap] for gap in range(1, length + 1)))
        nowhere = shares[-1] / (1 - one) ** self.most
        ends = nowhere, best[-1] / self.most, worst[-1] / self.most
        return max(ends) / min(ends)

    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        one = units(self.speak)
        plus, minus = report & ((1 << self.width) - 1), report >> self.width
        held = sum(1 << place for place, _ in code)
        spoken = ((plus | minus) & ~held).bit_count()
        beside = one**spoken * (1 - 2 * one) ** (self.dimensions - len(code) - spoken)
        slots = [self._said(plus >> place & 1, minus >> place & 1, number) for place, number in code]
        total = Fraction(0)
        for turn in range(self.most):
            for first, share in enumerate(self._shares()):
                for entry, (not_agreeing, agreeing, any_way) in enumerate(slots):
                    slot = (entry + turn) % self.most
                    share *= agreeing if slot == first else not_agreeing if slot < first else any_way
                total += share
        return Fraction(beside * total / self.most)

    def _said(self, plus: int, minus: int, number: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        """The probability of the report of an entry if its slot must not agree, agrees, or is independent."""
        one = units(self.speak)
        if not plus and not minus:
            return (1 - 2 * one) / (1 - one), Fraction(0), 1 - 2 * one
        agrees = Fraction(self.position(number), 1 << PLACES)
        agrees = agrees if plus else 1 - agrees
        return (1 - agrees) * one / (1 - one), agrees, one

    @property
    def slope(self) -> Fraction:
        """The mean of +1, -1 or 0 of a slot, over the rotations of the slots."""
        against = units(self.speak) / (1 - units(self.speak))
        shares = self._shares()
        before = sum((slot * share for slot, share in enumerate(shares)), Fraction(0))
        return (sum(shares[:-1], Fraction(0)) - against * before) / self.most

    @property
    def spoken(self) -> Fraction:
        """How often a report has a sign for an entry, over the rotations of the slots."""
        one, shares = units(self.speak), self._shares()
        before = sum((slot * share for slot, share in enumerate(shares)), Fraction(0))
        after = sum(((self.most - 1 - slot) * share for slot, share in enumerate(shares[:-1])), Fraction(0))
        return (sum(shares[:-1], Fraction(0)) + before * one / (1 - one) + 2 * one * after) / self.most

    # --- tallies: for each place the number of +, then for each the number of - -----------------------
    @property
    def sums(self) -> tuple[int, ...]:
        return (1,) * (2 * self.dimensions)

    def summands(self, report: int, public: Words = NO_WORDS) -> Sequence[int]:
        return [report >> (start + place) & 1 for start in (0, self.width) for place in range(self.dimensions)]

    # --- proofs and plain data ---------------------------------------------------------------------
    def effort(self) -> Effort:
        slots, bits = (self.most + 1) ** 2, 128 * self.most
        products = 2 * slots * (self.most + 1) + 32
        known = Effort(bits=bits + 64 * self.dimensions, likelihood=products, ratio=4 * slots, ratio_bits=bits)
        return summed(self, known)

    def miniatures(self) -> tuple[Channel, ...]:
        sizes = ((2, 1), (3, 1)) if self.most == 1 else ((2, 1), (2, 2))
        ratio = self.ratio()
        return tuple(self.of_ratio(Sparse(size, most, self.bound), self.speak, ratio) for size, most in sizes)
