"""Shares of public sets of the answers: random halves, or sets that are stated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.params import check_integer, reject
from sottovoce.core.question.base import Question
from sottovoce.core.specs import Spec, take

MAX_SETS = 64
MAX_ANSWERS = 1 << 16
USUAL = 8  # sets, where none are named
FLIPPED = str.maketrans("01", "10")  # gives the other half of a set


@dataclass(frozen=True, slots=True)
class HalfSets(Question):
    """Ask for the share of each of a few public sets, which hold about half of the answers each.

    The sets are the same for all participants. Two populations with different shares of the answers nearly always
    differ in the share of some half-set, so that few numbers test many answers at once.

    Args:
        domain: The possible answers, finitely many.
        count: How many sets there are. Default: 8, or as many as the answers allow.
        seed: Draws other sets.
        sets: Stated sets instead of random halves, each as a text with a 1 for every answer in it.

    Examples:
        >>> from sottovoce.core.question import HalfSets
        >>> HalfSets(sv.Integers(0, 7), count=2).members()
        ('01110010', '01100101')

    See also:
        `TestOf` plans a test with half-sets, `goodness_of_fit` and `compare` are the tests.
    """

    kind: ClassVar[str] = "half-sets"
    noun: ClassVar[str] = "share of a half-set"
    is_share: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("count", "seed")
    domain: Domain
    count: int | None = None
    seed: int = 0
    sets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        size = self.domain.size if isinstance(self.domain, Domain) else None
        if size is None or not 2 <= size <= MAX_ANSWERS:
            raise reject("domain", self.kind, f"a domain with 2 to {MAX_ANSWERS} answers", self.domain)
        if self.sets != ():
            return self._state(size)
        most = most_sets(size)
        count = min(USUAL, most) if self.count is None else check_integer("count", self.kind, self.count, 1, most)
        check_integer("seed", self.kind, self.seed, 0, (1 << 53) - 1)
        object.__setattr__(self, "count", count)

    def _state(self, size: int) -> None:
        """Check stated sets, which have neither a number nor a seed of their own."""
        listed = [*self.sets] if isinstance(self.sets, Iterable) and not isinstance(self.sets, str) else []
        rows = [row for row in listed if isinstance(row, str) and len(row) == size and {*row} == {"0", "1"}]
        if not 1 <= len(listed) <= MAX_SETS or len({*rows}) < len(listed):
            must_be = f"1 to {MAX_SETS} different texts of {size} digits 0 and 1, with both digits in each"
            raise reject("sets", self.kind, must_be, self.sets)
        if self.count is not None or self.seed:
            raise reject("sets", self.kind, "left out where a count or a seed is given", self.sets)
        object.__setattr__(self, "sets", tuple(rows))
        object.__setattr__(self, "count", len(rows))

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> HalfSets:
        """The question with stated sets, or with a number and a seed of random ones."""
        names = ("sets",) if isinstance(fields, Mapping) and "sets" in fields else cls.parameters
        return cls(domain, **dict(zip(names, take(fields, f"the question {cls.kind}", names), strict=True)))

    def fields(self) -> Spec:
        """Stated sets, or the number and the seed of random ones."""
        return {"sets": [*self.sets]} if self.sets else {"count": self.count, "seed": self.seed}

    def members(self) -> tuple[str, ...]:
        """Each set as a text with a 1 for every answer in it."""
        if self.sets:
            return self.sets
        return _members(self.domain.size or 0, self.count or 0, self.seed)


def most_sets(size: int) -> int:
    """How many sets there can be for so many answers: one less than there are cells."""
    return min(MAX_SETS, _cells(size) - 1)


def _cells(size: int) -> int:
    """A power of two, at most half of the answers: so small that sets are well balanced."""
    return 1 << max(1, size.bit_length() - 2)


@lru_cache(maxsize=64)
def _members(size: int, count: int, seed: int) -> tuple[str, ...]:
    """Rows of a Hadamard matrix over random cells of answers, those of the most balanced sets first.

    Two sets meet in nearly half of each other, so that they test different contrasts of the answers.
    """
    cells = _cells(size)
    order = sorted(range(size), key=lambda code: _random(seed, "answer", code))
    cell = [place % cells for place in sorted(range(size), key=order.__getitem__)]
    chosen = sorted(range(1, cells), key=lambda row: _random(seed, "row", row))[: 4 * MAX_SETS]
    rows = ["".join(map(_hadamard_row(row, cells).__getitem__, cell)) for row in chosen]
    return tuple(sorted(rows, key=lambda row: abs(2 * row.count("1") - size))[:count])


def _hadamard_row(row: int, cells: int) -> str:
    """The parities of the bits that the number of the row shares with each column, by doubling."""
    text = "0"
    while len(text) < cells:
        text += text.translate(FLIPPED) if row & len(text) else text
    return text


def _random(seed: int, what: str, number: int) -> bytes:
    """Bytes that are the same on every device."""
    return sha256(f"half-sets {seed} {what} {number}".encode()).digest()
