"""Sets of outputs for `Block` that are written down bit by bit: one by one, or as shifts of a few patterns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.declared import Declared, declared, integer, texts
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer

MAX_BITS = 1 << 22


@declared
class ListedSets(Declared):
    """Any sets of equal size: `rows` has a text of 0 and 1 for each output, 1 for each code whose set it is in."""

    kind: ClassVar[str] = "listed"
    rows: tuple[str, ...] = texts()
    # The outputs of each code: first those of its set, then all others.
    order: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def check_fields(self) -> None:
        listed = _bits(self.kind, "rows", self.rows)
        columns = list(zip(*listed, strict=True))
        if len({column.count("1") for column in columns}) != 1 or all(len(set(row)) == 1 for row in listed):
            raise ParameterError("The 'rows' of listed sets must give every code as many outputs, not all the same.")
        object.__setattr__(self, "order", tuple(_ones_first(column) for column in columns))
        object.__setattr__(self, "size", columns[0].count("1"))

    @property
    def codes(self) -> int:
        return len(self.order)

    @property
    def outputs(self) -> int:
        return len(self.rows)

    def member(self, code: int, output: int) -> bool:
        return self.rows[output][code] == "1"

    def output(self, code: int, index: int, inside: bool) -> int:
        """The index-th output of the code's set, or of all others."""
        return self.order[code][index + self.size * (not inside)]

    def rates(self, inside: Fraction) -> None:
        """Two codes share as many outputs as the list says."""
        return None

    def miniatures(self) -> tuple[ListedSets, ...]:
        return (
            type(self)(("10", "01", "00")),
            type(self)(("110", "101", "011", "000")),
            type(self)(("1100", "0110", "0011", "1001", "1011", "0100")),
        )


@declared
class ShiftSets(Declared):
    """Shifts of bit patterns on a circle of cells: output `cells` j + s is pattern j, moved on by s cells.

    A report is in the set of code c if the moved pattern has a 1 in cell c. Each code is met by every bit of every
    pattern exactly once, so all sets have as many outputs as the patterns have ones. There may be more cells than
    codes; with as many cells as codes, the codes form a circle too. One pattern of adjacent ones gives arcs.
    """

    kind: ClassVar[str] = "shifts"
    codes: int = integer()
    patterns: tuple[str, ...] = texts()
    # Each bit as the number of its pattern and its cell: first all ones, then all zeros.
    bits: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)

    def check_fields(self) -> None:
        listed = _bits(self.kind, "patterns", self.patterns)
        if all(len(set(pattern)) == 1 for pattern in listed):
            raise ParameterError("The 'patterns' of shifts must have a 0 and a 1 in at least one pattern.")
        cells = len(listed[0])
        check_integer("codes", self.kind, self.codes, 2, cells)
        object.__setattr__(self, "bits", tuple(divmod(bit, cells) for bit in _ones_first("".join(listed))))
        object.__setattr__(self, "size", "".join(listed).count("1"))

    @property
    def cells(self) -> int:
        """How many cells the circle has."""
        return len(self.patterns[0])

    @property
    def outputs(self) -> int:
        return len(self.bits)

    def member(self, code: int, output: int) -> bool:
        number, shift = divmod(output, self.cells)
        return self.patterns[number][(code - shift) % self.cells] == "1"

    def output(self, code: int, index: int, inside: bool) -> int:
        """The shift that moves the index-th 1, or the index-th 0, into the code's cell."""
        number, cell = self.bits[index + self.size * (not inside)]
        return number * self.cells + (code - cell) % self.cells

    def rates(self, inside: Fraction) -> None:
        """Codes at different distances share different numbers of outputs."""
        return None

    def miniatures(self) -> tuple[ShiftSets, ...]:
        small = ((2, ("100",)), (3, ("1100", "1010")), (5, ("11010",)), (3, ("10000", "11000")))
        return tuple(type(self)(codes, patterns) for codes, patterns in small)


def _bits(owner: str, name: str, listed: tuple[str, ...]) -> tuple[str, ...]:
    """Equally long texts of 0 and 1, with at least two bits each."""
    width = len(listed[0]) if listed and isinstance(listed[0], str) else 0
    if width < 2 or any(not isinstance(row, str) or len(row) != width or row.strip("01") for row in listed):
        raise ParameterError(
            f"The {name!r} of {owner} must be equally long texts of 0 and 1, of two or more bits each."
        )
    if width * len(listed) > MAX_BITS:
        raise ParameterError(f"The {name!r} of {owner} must have at most {MAX_BITS} bits.")
    return listed


def _ones_first(bits: Iterable[str]) -> tuple[int, ...]:
    """The positions of all ones, then those of all zeros."""
    return tuple(sorted(range(len(listed := tuple(bits))), key=lambda position: listed[position] == "0"))
