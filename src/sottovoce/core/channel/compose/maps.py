"""Public maps beside hashes and pools: numbered ones, multiples modulo a prime, a few codes that are asked about."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, NamedTuple, Self

from sottovoce.core.arithmetic.field import is_prime
from sottovoce.core.arithmetic.hashing import WORD
from sottovoce.core.arithmetic.rational import FINE
from sottovoce.core.channel.base import Words
from sottovoce.core.channel.facets import Rates
from sottovoce.core.declared import Declared, declared, delegated, integer
from sottovoce.core.params import check_integer, reject


class Choice(NamedTuple):
    """One of `choices` numbers, read from the leading bits of the first public word; some words are not accepted."""

    choices: int
    bits: int

    def _drawn(self, words: Words) -> tuple[int, int]:
        """The number in the leading bits of the first word, and how many such numbers there are."""
        read = min(self.bits, FINE)
        word = words[0] % (1 << self.bits)  # outer public words have 64 bits even in proofs
        return word >> (self.bits - read), 1 << read

    def accepts(self, words: Words) -> bool:
        drawn, size = self._drawn(words)
        return drawn < size - size % self.choices

    @property
    def tries(self) -> Fraction:
        """The mean number of ids drawn until one is accepted."""
        size = 1 << min(self.bits, FINE)
        return Fraction(size, size - size % self.choices)

    def of(self, words: Words) -> int:
        """The number that these words choose."""
        return self._drawn(words)[0] % self.choices


@declared
class _Chosen(Declared):
    """What maps that read one choice share."""

    accepts = delegated("choice.accepts")
    tries = delegated("choice.tries")

    @property
    def choice(self) -> Choice:
        raise NotImplementedError


@declared
class MultiplierMap(_Chosen):
    """Multiplication by a public number from 1 to order - 1, modulo a prime.

    The distance of two codes becomes any distance but 0, each equally often.
    """

    kind: ClassVar[str] = "multiplier"
    k: int = integer()
    order: int = integer()
    bits: int = integer(default=WORD)
    inputs = delegated("k")
    outputs = delegated("order")

    def check_fields(self) -> None:
        if self.bits not in (2, 4, 6, 8, WORD):
            raise reject("bits", self.kind, "64 (2, 4, 6 or 8 in proofs)", self.bits)
        check_integer("order", self.kind, self.order, 2, 1 + (1 << min(self.bits, 24)))
        if not is_prime(self.order):
            raise reject("order", self.kind, "a prime", self.order)
        check_integer("k", self.kind, self.k, 2, self.order)

    @property
    def choice(self) -> Choice:
        return Choice(self.order - 1, self.bits)

    def apply(self, words: Words, code: int) -> int:
        return (self.choice.of(words) + 1) * code % self.order

    def rates(self, inner: Rates) -> Rates:
        """Different codes stay different."""
        return inner

    def rates_of_sets(self, inside: Fraction, size: int) -> Rates:
        """Support rates of arcs of a circle: the arcs of two codes are at every distance equally often."""
        return Rates(inside, (size - inside) / (self.order - 1))

    def miniatures(self, outputs: int) -> tuple[MultiplierMap, ...]:
        """Small instances with as few words as there are multiples."""
        return (type(self)(min(self.k, outputs), outputs, 2),) if outputs in (2, 3, 5) else ()


@declared
class AskedMap(_Chosen):
    """`asked` neighbouring codes on a circle, from a public first one on; a code becomes its place among them.

    All codes that are not asked about become the same last one. Each code is asked about equally often.
    """

    kind: ClassVar[str] = "asked"
    k: int = integer()
    asked: int = integer()
    bits: int = integer(default=WORD)
    inputs = delegated("k")

    def check_fields(self) -> None:
        if self.bits not in (2, 4, 6, 8, WORD):
            raise reject("bits", self.kind, "64 (2, 4, 6 or 8 in proofs)", self.bits)
        check_integer("k", self.kind, self.k, 2, 1 << min(self.bits, 24))
        check_integer("asked", self.kind, self.asked, 1, self.k)

    @property
    def choice(self) -> Choice:
        return Choice(self.k, self.bits)

    @property
    def outputs(self) -> int:
        return self.asked + 1

    @property
    def seeds(self) -> int:
        """How many first codes there are."""
        return self.k

    def seed(self, words: Words) -> int:
        """The first code that is asked about."""
        return self.choice.of(words)

    def value(self, seed: int, code: int) -> int:
        """The place of a code among those asked about from this first one on."""
        return min((code - seed) % self.k, self.asked)

    def apply(self, words: Words, code: int) -> int:
        return self.value(self.seed(words), code)

    def rates(self, inner: Rates) -> Rates:
        """A code that is not asked about is not supported."""
        return Rates(inner.own * self.asked / self.k, inner.other * self.asked / self.k)

    def miniatures(self, outputs: int) -> tuple[AskedMap, ...]:
        if not 2 <= outputs <= min(self.k, 15) + 1:
            return ()
        return (type(self)(min(self.k, outputs + 1), outputs - 1, 2 if outputs < 4 else 4),)

    def smallest(self, outputs: int) -> tuple[AskedMap, ...]:
        """Instances with the shortest words, before channels with many outcomes."""
        return self.miniatures(outputs)


def with_collisions(inner: Rates, same: Fraction) -> Rates:
    """Support rates where two codes have the same value with a probability."""
    return Rates(inner.own, same * inner.own + (1 - same) * inner.other)


class NumberedMap(Declared, ABC):
    """Public functions that are numbered: a report's id chooses one of them, uniformly."""

    kind: ClassVar[str]
    orthogonal: ClassVar[bool] = False  # the columns of two codes, over all functions and positions, have no product
    keeps_inner: ClassVar[bool] = False  # small instances have the same inner channel, whose codes are few already
    k: int
    bits: int
    __slots__ = ()
    accepts = delegated("choice.accepts")
    tries = delegated("choice.tries")

    @property
    @abstractmethod
    def seeds(self) -> int:
        """How many functions there are."""

    @property
    def inputs(self) -> int:
        """How many codes there are."""
        return self.k

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many values there are."""

    @abstractmethod
    def value(self, seed: int, code: int) -> int:
        """The value of a code under the function with this number."""

    def check_seeds(self, name: str) -> None:
        """Refuse more functions than an id can choose, for which a device would draw for ever."""
        if self.bits not in (2, 4, 6, 8, WORD):
            raise reject("bits", self.kind, "64 (2, 4, 6 or 8 in proofs)", self.bits)
        if self.seeds > 1 << min(self.bits, FINE):
            raise reject(
                name, self.kind, f"so few that words of {self.bits} bits can choose a map", getattr(self, name)
            )

    @property
    def choice(self) -> Choice:
        return Choice(self.seeds, self.bits)

    def seed(self, words: Words) -> int:
        """The number of the function: `below(seeds)` read from the first word."""
        return self.choice.of(words)

    def apply(self, words: Words, code: int) -> int:
        return self.value(self.seed(words), code)

    @abstractmethod
    def miniatures(self, outputs: int) -> tuple[Self, ...]:
        """Small instances with this number of values."""

    def smallest(self, outputs: int) -> tuple[Self, ...]:
        """Instances with the shortest words, before channels with many outcomes."""
        return self.miniatures(outputs)

    def rates(self, inner: Rates) -> Rates | None:
        """Support rates through the map; None if two codes do not collide with one known probability."""
        return None

    def signed_rates(self, own: Fraction) -> Rates | None:
        """Support rates where the lowest bit of a value is a sign: any other value supports it with 1/2."""
        return None
