"""Buckets: the parts of a domain whose shares are estimated, and what a functional weighs each of them with.

Answers are taken to be spread evenly inside a bucket. Whole numbers and categories, which count as their places in the
list, lie in the middle of a bucket of width one, so that sums over buckets are sums over them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Bins, Categories, Circle, Domain, Integers, Interval
from sottovoce.core.errors import ParameterError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """Neighbouring parts of a domain; `edges` are one more than there are buckets, in the units of the domain."""

    domain: Domain
    edges: Floats

    def __len__(self) -> int:
        return len(self.edges) - 1

    @property
    def circular(self) -> bool:
        """Whether the last bucket is next to the first."""
        return isinstance(self.domain, Circle)

    @property
    def whole(self) -> bool:
        """Whether values are whole numbers or places in a list."""
        return isinstance(self.domain, (Integers, Categories))

    @property
    def widths(self) -> Floats:
        return np.diff(self.edges)

    @property
    def centres(self) -> Floats:
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    def labels(self) -> Sequence[object]:
        """A value where a bucket holds one, else its ends."""
        if self.whole and len(self) == self.domain.size:
            return self.domain.labels()
        if self.whole:
            ends = [(math.ceil(a), math.floor(b)) for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)]
            return [f"{a} to {b}" if a < b else str(a) for a, b in ends]
        shown = [f"{edge:.10g}" for edge in self.edges]
        closing = [")"] * (len(self) - 1) + [")" if self.circular else "]"]
        return [f"[{a}, {b}{end}" for a, b, end in zip(shown[:-1], shown[1:], closing, strict=True)]

    # --- what functionals weigh a bucket with ----------------------------------------------------------
    def place(self, value: Any) -> float:
        """A value as a number on the axis of the edges."""
        return float(self.domain.encode(value)) if isinstance(self.domain, Categories) else float(value)

    def up_to(self, value: Any) -> Floats:
        """The part of each bucket that is not above a value."""
        at = self.place(value)
        return self._below(math.floor(at) + 0.5 if self.whole else at)

    def between(self, low: Any, high: Any) -> Floats:
        """The part of each bucket from one value to another, both included; on a circle also over its end."""
        first, last = self.place(low), self.place(high)
        if self.whole:
            first, last = math.ceil(first) - 0.5, math.floor(last) + 0.5
        found = self._below(last) - self._below(first)
        return found if first <= last else 1 + found

    def _below(self, at: float) -> Floats:
        return np.clip((at - self.edges[:-1]) / self.widths, 0, 1)

    def numbers(self) -> Floats:
        """The mean number in each bucket."""
        if not isinstance(self.domain, (Integers, Interval)):
            raise ParameterError(f"Values of a domain of kind {self.domain.kind} have no mean.")
        return self.centres

    def squares(self, centre: float) -> Floats:
        """The mean squared distance from a centre in each bucket."""
        inside = (self.widths**2 - 1) / 12 if self.whole else self.widths**2 / 12
        return np.asarray((self.numbers() - centre) ** 2 + inside)

    def powers(self, centre: float, power: int) -> Floats:
        """The mean power of the distance from a centre in each bucket of a continuum."""
        ends = (self.edges - centre) ** (power + 1) / (power + 1)
        return np.asarray(np.diff(ends) / self.widths)

    def directions(self) -> tuple[Floats, Floats]:
        """The mean cosine and sine in each bucket of a circle."""
        turns = 2 * math.pi * self.edges / (self.edges[-1] - self.edges[0])
        width = np.diff(turns)
        return np.diff(np.sin(turns)) / width, -np.diff(np.cos(turns)) / width

    # --- quantiles -------------------------------------------------------------------------------------
    def quantile(self, shares: Floats, part: float) -> float:
        """The first value up to which at least this part of the shares lies, where these are made to rise."""
        return self.at_level(rising(shares), part)

    def at_level(self, heights: Floats, part: float) -> float:
        """The first value at which a curve with these heights at the edges reaches a level; the last one if none."""
        reached = np.flatnonzero(heights >= part - 1e-12)  # sums of shares are rounded
        after = int(reached[0]) if len(reached) else len(heights) - 1
        found = float(self.edges[after])
        if after and heights[after] > part:
            low, high = heights[after - 1], heights[after]
            found = float(self.edges[after - 1] + (part - low) / (high - low) * self.widths[after - 1])
        if self.whole:
            found = min(max(math.ceil(found - 0.5), math.ceil(self.edges[0])), math.floor(self.edges[-1]))
        return float(found)

    # --- what may lie inside -----------------------------------------------------------------------------
    @property
    def room(self) -> float:
        """How far a value may be from the middle of its bucket."""
        return float(((self.widths - 1) if self.whole else self.widths).max() / 2)

    def edge_before(self, heights: Floats, part: float) -> Floats:
        """The least value of the bucket in which rising curves, one in each row, reach a level."""
        place = np.clip((heights < part).sum(axis=-1) - 1, 0, len(self) - 1)
        return np.asarray(np.ceil(self.edges)[place] if self.whole else self.edges[place])

    def edge_after(self, heights: Floats, part: float) -> Floats:
        """The largest value of that bucket."""
        place = np.clip((heights < part).sum(axis=-1), 1, len(self))
        return np.asarray(np.floor(self.edges)[place] if self.whole else self.edges[place])


def quantile_bounds(buckets: Buckets, heights: Floats, half: Floats, parts: Sequence[float]) -> tuple[Floats, Floats]:
    """All values whose interval, `half` around the height of the curve, holds a part: the least and the largest.

    `heights` may have rows, one for each curve; the result then has a row for each, and a column for each part. Where
    answers lie inside a bucket is not known, so both ends are those of buckets.
    """
    upper, lower = np.clip(heights + half, 0, 1), np.clip(heights - half, 0, 1)
    upper[..., -1] = lower[..., -1] = 1.0
    # The first point where the upper curve reaches the share, and the last one where the lower is still below it.
    first, last = np.maximum.accumulate(upper, axis=-1), np.minimum.accumulate(lower[..., ::-1], axis=-1)[..., ::-1]
    each = [(buckets.edge_before(first, part), buckets.edge_after(last, part)) for part in parts]
    return np.stack([low for low, _ in each], axis=-1), np.stack([high for _, high in each], axis=-1)


def rising(shares: Floats) -> Floats:
    """The cumulative shares at all edges, of shares that may be negative: halfway between the curve that is made to
    rise from below and the one from above. Cutting negative shares off instead would move everything to the middle.
    """
    heights = np.clip(np.concatenate([[0.0], np.cumsum(shares)]), 0, 1)
    heights[-1] = 1.0
    up, down = np.maximum.accumulate(heights), np.minimum.accumulate(heights[::-1])[::-1]
    return np.asarray((up + down) / 2)


def even_buckets(domain: Domain, count: int) -> Buckets:
    """Buckets of equal width of a continuum."""
    if not isinstance(domain, (Circle, Interval)):
        raise ParameterError("Only a continuum of numbers is cut into buckets of equal width.")
    return Buckets(domain, np.linspace(float(domain.low), float(domain.high), count + 1))


def coded_buckets(view: Domain) -> Buckets:
    """One bucket for each code of a domain or of bins of it."""
    if isinstance(view, Bins):
        inner = np.array([float(edge) for edge in view.edges])
        if isinstance(view.of, Integers):
            inner = np.ceil(inner) - 0.5
            ends = view.of.low - 0.5, view.of.high + 0.5
        else:
            ends = float(view.of.low), float(view.of.high)
        return Buckets(view.of, np.concatenate([[ends[0]], inner, [ends[1]]]))
    if isinstance(view, (Integers, Categories)):
        first = view.low if isinstance(view, Integers) else 0
        return Buckets(view, first - 0.5 + np.arange(view.size + 1, dtype=np.float64))
    raise ParameterError(f"The codes of a domain of kind {view.kind} are not buckets.")
