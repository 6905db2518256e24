"""The grid of cells over several fields, and what boxes, their unions and complements weigh each cell with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from sottovoce.core.domain import Select
from sottovoce.core.errors import ParameterError
from sottovoce.core.question.boxes import box_ends
from sottovoce.estimate.axes import Axes, Axis
from sottovoce.estimate.distribution.buckets import Buckets, coded_buckets
from sottovoce.estimate.evidence import Floats

Limits = Mapping[str, Any]  # of a box: the first and the last value of each field that is limited, or a single value
MOST_BOXES = 64  # of one union
_TINY = 1e-12  # of a cell, that rounding may leave uncovered


class CellWeights(NamedTuple):
    """The part of each cell that belongs to a set of answers, and the cells that surely, or possibly, belong to it."""

    parts: Floats
    inner: Floats
    outer: Floats

    def complement(self) -> CellWeights:
        """The weights of all other answers."""
        return CellWeights(1 - self.parts, 1 - self.outer, 1 - self.inner)


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of several fields, the last field fastest; `each` has the buckets of one field each."""

    names: tuple[str, ...]
    each: tuple[Buckets, ...]
    circular = False

    @classmethod
    def of(cls, view: Select) -> Grid:
        """One cell for each code of a view of some fields of a record."""
        return cls(view.names, tuple(coded_buckets(field) for _, field in view.parts))

    def __len__(self) -> int:
        return prod(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many buckets each field has."""
        return tuple(map(len, self.each))

    @property
    def step(self) -> float | None:
        """One where each field has a distance of neighbouring answers; None if some field is a continuum."""
        return None if any(buckets.step is None for buckets in self.each) else 1.0

    @cached_property
    def axes(self) -> Axes:
        """The fields with the labels of their buckets."""
        return Axes(tuple(Axis(name, one.labels()) for name, one in zip(self.names, self.each, strict=True)))

    def labels(self) -> Sequence[object]:
        """A tuple of labels for each cell."""
        return list(product(*(one.labels() for one in self.each)))

    # --- boxes -----------------------------------------------------------------------------------------
    def ends(self, limits: Limits) -> list[tuple[Any, Any]]:
        """The first and the last value of each field, checked; a field that is not limited has its own ends."""
        known = dict(zip(self.names, self.each, strict=True))
        unknown = [name for name in limits if name not in known]
        if unknown:
            raise ParameterError(f"A box has limits for the fields {', '.join(known)} only.")
        return [box_ends(name, buckets.domain, limits.get(name)) for name, buckets in known.items()]

    def label(self, limits: Limits) -> str:
        """A box in words, such as "age 30 to 39, sex f"."""
        said = (
            f"{name} {_shown(low)}" if low == high else f"{name} {_shown(low)} to {_shown(high)}"
            for name, (low, high) in zip(self.names, self.ends(limits), strict=True)
            if name in limits
        )
        return ", ".join(said) or "all"

    def union(self, boxes: Sequence[Limits]) -> CellWeights:
        """The weights of the answers that lie in at least one of the boxes."""
        if not 1 <= len(boxes) <= MOST_BOXES:
            raise ParameterError(f"A union has 1 to {MOST_BOXES} boxes, each a mapping from fields to limits.")
        ends = [self.ends(box) for box in boxes]
        parts = self._covered(ends)
        outer = reduce(np.maximum, [self._outer_product("touched", box) for box in ends])
        sure = reduce(np.maximum, [self._outer_product("sure", box) for box in ends])
        # Closed boxes that cover the inside of a cell together cover its edges too.
        inner = np.maximum(sure, parts >= 1 - _TINY)
        outer = np.maximum(outer, inner)
        return CellWeights(np.where(inner == outer, inner, parts).ravel(), inner.ravel(), outer.ravel())

    def _outer_product(self, part: str, box: Sequence[tuple[Any, Any]]) -> Floats:
        pairs = zip(self.each, box, strict=True)
        return reduce(np.multiply.outer, [getattr(buckets, part)(*ends) for buckets, ends in pairs])

    def _covered(self, boxes: Sequence[Sequence[tuple[Any, Any]]]) -> Floats:
        """The part of the volume of each cell that the boxes cover together, where each field is cut at their ends."""
        if len(boxes) == 1:
            return self._outer_product("between", boxes[0])
        spans = [[buckets.span(*ends) for buckets, ends in zip(self.each, box, strict=True)] for box in boxes]
        inside: Any = False
        volumes, places = [], []
        for axis, buckets in enumerate(self.each):
            low, high = buckets.edges[0], buckets.edges[-1]
            cuts = np.unique(np.clip([*buckets.edges, *(end for box in spans for end in box[axis])], low, high))
            middles = (cuts[1:] + cuts[:-1]) / 2
            place = np.clip(np.searchsorted(buckets.edges, middles, side="right") - 1, 0, len(buckets) - 1)
            volumes.append(np.diff(cuts) / buckets.widths[place])
            places.append((middles, place))
        for box in spans:
            within = [(middles > low) & (middles < high) for (middles, _), (low, high) in zip(places, box, strict=True)]
            inside = inside | reduce(np.logical_and.outer, within)
        covered = np.where(inside, reduce(np.multiply.outer, volumes), 0.0)
        for axis, (_, place) in enumerate(places):
            covered = np.add.reduceat(covered, np.searchsorted(place, np.arange(self.shape[axis])), axis=axis)
        return covered


def _shown(value: Any) -> object:
    return value if isinstance(value, (str, int)) else f"{float(value):g}"
