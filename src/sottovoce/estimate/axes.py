"""Axes of the values of an estimate: along each a name, and labels that may be those of a domain.

Values are one array, the last axis varying fastest: `values.reshape(axes.shape)` is their table. Ragged values, such as
those of attributes with different answers, have no such table: `rows` then lists the labels of each value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from sottovoce.core.domain import Domain
from sottovoce.core.simulation import COLUMN

VALUE = "value"  # the column of labels in plain data, and in tables of most estimates with one axis
NUMBERS = ("estimate", "std_error", "low", "high", "note", COLUMN)  # further columns of a table


@dataclass(frozen=True, slots=True)
class Axis:
    """The labels along one axis; `heading` is that of their column where the axis stands alone."""

    name: str
    labels: Sequence[object]
    domain: Domain | None = None
    heading: str = VALUE


@dataclass(frozen=True, slots=True)
class Axes:
    """One axis or several, for all combinations of their labels, or for `rows` of them."""

    each: tuple[Axis, ...]
    rows: tuple[tuple[object, ...], ...] | None = None

    @classmethod
    def of(cls, name: str, labels: Sequence[object] | Domain, *, heading: str = VALUE) -> Axes:
        """One axis, of labels or of all values of a domain."""
        if isinstance(labels, Domain):
            return cls((Axis(name, labels.labels(), labels, heading),))
        return cls((Axis(name, labels, None, heading),))

    @classmethod
    def ragged(cls, names: Sequence[str], rows: Iterable[tuple[object, ...]]) -> Axes:
        """Several axes of which only some combinations of labels have a value."""
        listed = tuple(rows)
        along = (tuple(dict.fromkeys(labels)) for labels in zip(*listed, strict=True))
        return cls(tuple(Axis(name, labels) for name, labels in zip(names, along, strict=True)), listed)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each axis."""
        return tuple(axis.name for axis in self.each)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """How many labels each axis has; None for ragged values."""
        return tuple(len(axis.labels) for axis in self.each) if self.rows is None else None

    @property
    def labels(self) -> Sequence[object]:
        """The label of each value; for several axes a tuple."""
        if self.rows is not None:
            return self.rows
        return self.each[0].labels if len(self.each) == 1 else list(product(*(axis.labels for axis in self.each)))

    def texts(self) -> list[str]:
        """The label of each value as a text, such as "sex: f" for two axes."""
        if len(self.each) == 1:
            return [str(label) for label in self.labels]
        return [": ".join(map(str, label)) for label in self.labels]  # type: ignore[call-overload]

    @property
    def headings(self) -> tuple[str, ...]:
        """The columns of labels in a table; a name that a column of numbers has gets a low line."""
        if len(self.each) == 1:
            return (self.each[0].heading,)
        return tuple(f"{name}_" if name in NUMBERS else name for name in self.names)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of labels in plain data: "value" for one axis, else the headings."""
        return (VALUE,) if len(self.each) == 1 else self.headings

    def columns(self) -> list[list[object]]:
        """The labels of all values, one list for each axis."""
        if len(self.each) == 1:
            return [list(self.labels)]
        return [list(column) for column in zip(*self.labels, strict=True)]
