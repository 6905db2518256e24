"""Buckets: the parts of a domain whose shares are estimated, and what a functional weighs each of them with.

A value takes answers to be spread evenly inside a bucket. Whole numbers, numbers with a step, and categories, which
count as their places in the list, lie in the middle of a bucket of the width of a step, so that sums over buckets are
sums over them. On a continuum many answers may share one number, such as a round one, which often is the edge of a
bucket: a bucket holds its lower edge, and all of it may lie there. So an interval reaches from the share of the buckets
that certainly belong to what is asked to that of all buckets that may.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sottovoce.core.domain import Bins, Domain
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import Floats


@dataclass(frozen=True, eq=False)
class Buckets:
    """Neighbouring parts of a domain; `edges` are one more than there are buckets, in the units of the domain."""

    domain: Domain
    edges: Floats
    blurred: bool = False  # whether an answer on an edge counts half in each of the two buckets beside it

    def __len__(self) -> int:
        return len(self.edges) - 1

    @cached_property
    def circular(self) -> bool:
        """Whether the last bucket is next to the first."""
        return self.domain.circular

    @cached_property
    def step(self) -> float | None:
        """The distance between neighbouring possible answers; None on a continuum."""
        step = self.domain.spacing if self.domain.choices is None else 1
        return None if step is None else float(step)

    @cached_property
    def widths(self) -> Floats:
        return np.diff(self.edges)

    @property
    def centres(self) -> Floats:
        return np.asarray((self.edges[1:] + self.edges[:-1]) / 2)

    def labels(self) -> Sequence[object]:
        """A value where a bucket holds one, else its ends."""
        if len(self) == self.domain.size:
            return self.domain.labels()
        if self.step is not None:
            ends = zip(self.least_answers, self.largest_answers, strict=True)
            return [f"{a:.10g} to {b:.10g}" if a < b else f"{a:.10g}" for a, b in ends]
        shown = [f"{edge:.10g}" for edge in self.edges]
        closing = [")"] * (len(self) - 1) + [")" if self.circular else "]"]
        return [f"[{a}, {b}{end}" for a, b, end in zip(shown[:-1], shown[1:], closing, strict=True)]

    # --- what functionals weigh a bucket with ----------------------------------------------------------
    def place(self, value: Any) -> float:
        """A value as a number on the axis of the edges."""
        return float(self.domain.encode(value)) if self.domain.choices is not None else float(value)

    def span(self, low: Any, high: Any) -> tuple[float, float]:
        """Where what lies between two values begins and ends, both included; from the start if `low` is None."""
        return float(self.edges[0]) if low is None else self._before(low), self._after(high)

    def between(self, low: Any, high: Any) -> Floats:
        """The part of each bucket from one value to another, both included; on a circle also over its end.

        Without `low`, from the start of the domain.
        """
        first, last = self.span(low, high)
        parts = self._below(last) - self._below(first)
        return parts if first <= last else 1 + parts

    def sure(self, low: Any, high: Any) -> Floats:
        """One for each bucket that lies between two values as a whole, else zero; from the start if `low` is None."""
        first, last = self.span(low, high)
        left, right = self.edges[:-1] >= first - self._tiny, self.edges[1:] <= last + self._near
        return np.asarray(left & right if first <= last else left | right, float)

    def touched(self, low: Any, high: Any) -> Floats:
        """One for each bucket that may hold an answer between two values, both included, else zero."""
        first, last = self.span(low, high)
        more = self._tiny if self.step is None else -self._tiny  # on a continuum a bucket holds its lower edge
        left, right = self.edges[1:] > first + self._tiny, self.edges[:-1] <= last + more
        touched = left & right if first <= last else left | right
        at_end = np.abs(self.edges[-1] - np.array([first, last])) <= self._tiny
        if self.circular:
            touched[0] |= at_end.any()  # the end of a circle is its start
        else:
            touched[-1] |= at_end[1]
        if self.blurred and low is not None:
            touched |= np.abs(self.edges[1:] - first) <= self._tiny
            touched[-1] |= self.circular and first <= self._tiny
        return np.asarray(touched, float)

    @cached_property
    def _tiny(self) -> float:
        """A distance that is due to the rounding of floats."""
        return 1e-14 * float(np.abs(self.edges[[0, -1]]).max())

    @cached_property
    def _near(self) -> float:
        """A bucket that ends so little above a value is said to end with it."""
        return 1e-9 * float(self.edges[-1] - self.edges[0])

    def _below(self, at: float) -> Floats:
        return np.clip((at - self.edges[:-1]) / self.widths, 0, 1)

    def _after(self, value: Any) -> float:
        """The end of what is not above a value: where there is a step, half way to the next possible answer."""
        at = self.place(value)
        return at if self.step is None else self._half_way(math.floor(self._steps(at) + 1e-9))

    def _before(self, value: Any) -> float:
        """The end of what is below a value."""
        at = self.place(value)
        return at if self.step is None else self._half_way(math.ceil(self._steps(at) - 1e-9) - 1)

    def _steps(self, at: float) -> float:
        """How many steps a number lies after the first possible answer."""
        return (at - float(self.edges[0])) / (self.step or 1) - 0.5

    def _half_way(self, place: int) -> float:
        """Half way between two neighbouring possible answers."""
        return float(self.edges[0]) + (place + 1) * (self.step or 1)

    @property
    def least_answers(self) -> Floats:
        """The least possible answer in each bucket."""
        return np.asarray(self.edges[:-1] + (self.step or 0) / 2)

    @property
    def largest_answers(self) -> Floats:
        """The largest possible answer in each bucket, or its end on a continuum."""
        return np.asarray(self.edges[1:] - (self.step or 0) / 2)

    def numbers(self) -> Floats:
        """The mean number in each bucket."""
        if self.domain.line is None:
            raise ParameterError(f"Values of a domain of kind {self.domain.kind} have no mean.")
        return self.centres

    def squares(self, centre: float) -> Floats:
        """The mean squared distance from a centre in each bucket."""
        inside = self.widths**2 - (self.step or 0) ** 2
        return np.asarray((self.numbers() - centre) ** 2 + inside / 12)

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
        value = float(self.edges[after])
        if after and heights[after] > part:
            low, high = heights[after - 1], heights[after]
            value = float(self.edges[after - 1] + (part - low) / (high - low) * self.widths[after - 1])
        return self._answer_at(value)

    def at_place(self, place: float) -> float:
        """The value at a place among the edges, counted from 0, such as 1.5 in the middle of the second bucket."""
        return self._answer_at(float(np.interp(place, np.arange(len(self.edges)), self.edges)))

    def _answer_at(self, value: float) -> float:
        """A number as it is; where there is a step, the possible answer around which it lies."""
        if self.step is None:
            return value
        return float(np.clip(self._half_way(math.ceil(self._steps(value) - 0.5 - 1e-9)) - self.step / 2, *self.ends))

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest possible answer."""
        return float(self.least_answers[0]), float(self.largest_answers[-1])

    # --- what may lie inside -----------------------------------------------------------------------------
    @property
    def room(self) -> float:
        """How far a value may be from the middle of its bucket."""
        return float(self.widths.max() - (self.step or 0)) / 2


def rising(shares: Floats) -> Floats:
    """The cumulative shares at all edges, of shares that may be negative: halfway between the curve that is made to
    rise from below and the one from above. Cutting negative shares off instead would move everything to the middle.
    """
    heights = np.concatenate([[0.0], np.cumsum(shares)])
    heights[-1] = 1.0
    return made_rising(heights)


def made_rising(heights: Floats) -> Floats:
    """The mean of the least rising curve above, and the largest one below, heights that are cut to [0, 1]."""
    cut = np.clip(heights, 0, 1)
    up, down = np.maximum.accumulate(cut), np.minimum.accumulate(cut[::-1])[::-1]
    return np.asarray((up + down) / 2)


def even_buckets(domain: Domain, count: int) -> Buckets:
    """Buckets of equal width of a continuum."""
    scalar = domain.scalar
    if scalar is None or scalar.size is not None:
        raise ParameterError("Only a continuum of numbers is cut into buckets of equal width.")
    return Buckets(domain, np.linspace(float(scalar.low), float(scalar.high), count + 1), blurred=True)


def coded_buckets(view: Domain) -> Buckets:
    """One bucket for each code of a domain or of bins of it."""
    if isinstance(view, Bins):
        inner = np.array([float(edge) for edge in view.edges])
        low, high = float(view.of.low), float(view.of.high)
        step = Buckets(view.of, inner).step or 0.0
        if step:  # half way between the last number before an edge and the first one from it on
            inner = low + (np.ceil((inner - low) / step - 1e-9) - 0.5) * step
        return Buckets(view.of, np.concatenate([[low - step / 2], inner, [high + step / 2]]))
    if view.size is None or (view.whole is None and view.choices is None):
        raise ParameterError(f"The codes of a domain of kind {view.kind} are not buckets.")
    first = 0 if view.whole is None else view.whole.low
    return Buckets(view, first - 0.5 + np.arange(view.size + 1, dtype=np.float64))
