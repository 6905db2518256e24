"""The contract of a domain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from sottovoce.core.declared import Declared, from_kinds
from sottovoce.core.errors import DomainError

if TYPE_CHECKING:
    from sottovoce.core.domain.circle import Circle
    from sottovoce.core.domain.plain import Integers, Interval
    from sottovoce.core.domain.words import Words

KINDS = {
    "above": "core.domain.views:Above",
    "ball": "core.domain.ball:Ball",
    "bins": "core.domain.views:Bins",
    "box": "core.domain.box:Box",
    "categories": "core.domain.plain:Categories",
    "cells": "core.domain.cells:Cells",
    "circle": "core.domain.circle:Circle",
    "clamp": "core.domain.clamp:Clamp",
    "digit": "core.domain.digit:Digit",
    "vector-part": "core.domain.fields:VectorPart",
    "fields": "core.domain.fields:Fields",
    "held-count": "core.domain.itemsets:HeldCount",
    "integers": "core.domain.plain:Integers",
    "interval": "core.domain.plain:Interval",
    "itemsets": "core.domain.itemsets:Itemsets",
    "key-value": "core.domain.key_value:KeyValue",
    "pair": "core.domain.pair:Pair",
    "level": "core.domain.views:Level",
    "merged": "core.domain.views:Merged",
    "powers": "core.domain.powers:Powers",
    "prefix": "core.domain.views:Prefix",
    "record": "core.domain.plain:Record",
    "select": "core.domain.views:Select",
    "ranking": "core.domain.ranking:Ranking",
    "sets": "core.domain.sets:Sets",
    "sparse": "core.domain.sparse:Sparse",
    "square": "core.domain.views:Square",
    "text": "core.domain.text:Text",
    "words": "core.domain.words:Words",
}


class Numbers(NamedTuple):
    """The codes of a domain of numbers: from `low` to `high`; the number itself is the code plus `origin`."""

    low: Fraction
    high: Fraction
    origin: Fraction

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest number itself."""
        return float(self.low + self.origin), float(self.high + self.origin)


class Domain(Declared, ABC):
    """What a participant may hold. `encode` is total on it and refuses everything else."""

    __slots__ = ()

    @property
    def size(self) -> int | None:
        """How many codes there are, or None where a code is a number on a continuum."""
        return None

    @property
    def points(self) -> int | None:
        """How many different answers there are; None for a continuum."""
        return self.size

    @property
    def spacing(self) -> Decimal | None:
        """The distance of neighbouring answers, where they are numbers with a step."""
        return None

    @property
    def line(self) -> Integers | Interval | None:
        """The domain itself, where answers are numbers on a line."""
        return None

    @property
    def whole(self) -> Integers | None:
        """The domain itself, where answers are whole numbers."""
        return None

    @property
    def scalar(self) -> Circle | Integers | Interval | None:
        """The domain itself, where answers are numbers, on a line or on a circle."""
        return self.line

    @property
    def circular(self) -> bool:
        """Whether answers are numbers on a circle."""
        return False

    @property
    def choices(self) -> Sequence[object] | None:
        """The answers, where they are a list of categories."""
        return None

    @property
    def listed(self) -> Domain | None:
        """The items as a domain of their own, where an answer is a set of items."""
        return None

    @property
    def keyed(self) -> Domain | None:
        """The keys as a domain of their own, where an answer is some keys with a number each."""
        return None

    @property
    def ranked(self) -> Domain | None:
        """The items as a domain of their own, where an answer is an order of all items."""
        return None

    @property
    def holds_texts(self) -> bool:
        """Whether answers are texts."""
        return False

    @property
    def is_open(self) -> bool:
        """Whether answers are not known beforehand, so that estimates are about candidates."""
        return False

    @property
    def spelled(self) -> Words | None:
        """The domain itself, where answers are words that can be read back from their numbers."""
        return None

    @property
    def fields(self) -> tuple[tuple[str, Domain], ...]:
        """The parts of an answer that have names, and the domain of each."""
        return ()

    @property
    def numbers(self) -> Numbers | None:
        """The scale of the codes, where answers are numbers that have a mean."""
        return None

    @property
    def coordinates(self) -> Sequence[Domain] | None:
        """The domain of each part, where an answer has several parts under names or in a list."""
        return None

    @property
    def root(self) -> Domain:
        """The answer itself, behind all views of it."""
        return self

    @abstractmethod
    def encode(self, value: object) -> Any:
        """The code of a value; a value outside raises `DomainError` before any coin is drawn."""

    def typed(self, value: object) -> object:
        """The answer that a text, a truth value or a number stands for where a person or a file wrote it; the value
        itself where that is unclear."""
        return value

    def labels(self) -> Sequence[object]:
        """A value or a text for each code, in order."""
        size = self.size
        if size is None or self.is_open:
            raise TypeError(f"A domain of kind {self.kind} has no list of values.")
        return range(size)

    def foreign(self) -> list[object]:
        """Values that must be refused: what audits and tests try."""
        return [
            None,
            object(),
            "\x00 not an answer",
            b"bytes",
            float("nan"),
            float("inf"),
            [],
            {},
            (0,),
            1 << 80,
        ]

    def refuse(self, value: object, must_be: str, *, listed: str = "") -> DomainError:
        """The error for a value outside. It names only the type of the value; `listed` are the values allowed."""
        return DomainError(
            f"An answer must be {must_be}; a value of type {type(value).__name__} is outside.",
            domain=self,
            must_be=must_be,
            listed=listed,
        )

    def refusal(self) -> DomainError:
        """The error for a value that no domain takes: it says what this one takes."""
        try:
            self.encode(object())
        except DomainError as problem:
            return problem
        raise AssertionError("A domain refuses an object of no kind.")


class View(Domain):
    """A function of an answer that is declared, so that a device needs no code for it: `of` is what it looks at.

    A view encodes with the domain that it looks at, which refuses what is outside, and then maps the code.
    """

    of: Any  # a domain; the views say which ones
    __slots__ = ()

    @property
    def root(self) -> Domain:
        root: Domain = self.of.root
        return root

    def typed(self, value: object) -> object:
        answer: object = self.of.typed(value)
        return answer

    def foreign(self) -> list[object]:
        foreign: list[object] = self.of.foreign()
        return foreign


def domain_from_spec(spec: object) -> Domain:
    """The domain a specification describes."""
    domain: Domain = from_kinds(KINDS, spec, "The domain of a specification has a kind")
    return domain
