"""Counts, sums and averages of a public measure over people whose private answers lie in a box.

Multi-dimensional analytical queries: Wang, Ding, Zhou, Hong, Huang, Li, Jha, SIGMOD 2019. The collector knows a number
of each participant, such as sales, and the reports say who lies in a box. Reports are counted once as they are and
once with the measure as their public weight; both tallies are exact integers that add up in any order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.errors import MismatchError, ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal
from sottovoce.core.question import Boxes
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.boxes.base import GridEvidence
from sottovoce.estimate.boxes.evidence import evidence as cells_of
from sottovoce.estimate.boxes.grid import CellWeights
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Evidence, Flags, Floats, Functional, deviate, floats_of
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.sources import sources_of
from sottovoce.tally.count import tally
from sottovoce.tally.tally import Tally
from sottovoce.tally.weighted import WeightedTally, weighted_tally

STEPS = 2000  # of the range of a measure, over which averages are tried


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredTally:
    """Counts of reports by themselves, and with a public measure as their weight.

    Attributes:
        plain: the reports, each once.
        weighted: the reports, each with its measure less `low`.
        low: the smallest possible measure.
        high: the largest possible measure.
    """

    plain: Tally
    weighted: WeightedTally
    low: float
    high: float

    def __add__(self, other: object) -> MeasuredTally:
        if not isinstance(other, MeasuredTally):
            return NotImplemented
        if (self.low, self.high) != (other.low, other.high):
            raise MismatchError("Measures of different ranges do not add up.")
        return MeasuredTally(self.plain + other.plain, self.weighted + other.weighted, self.low, self.high)

    def queries(self) -> MeasureQueries:
        """Counts, sums and averages over boxes."""
        return MeasureQueries(self)


def measured_tally(
    mechanism: Mechanism, reports: Any, measure: Any, *, low: Any, high: Any, units: int | None = None
) -> MeasuredTally:
    """Count reports about boxes with a public measure of each participant.

    Args:
        mechanism: A mechanism for boxes, such as "torus-wave".
        reports: A batch of `privatize`, or a list of messages as devices send them.
        measure: One number for each report. It must be public, and must not depend on the noise.
        low: The smallest possible measure.
        high: The largest possible measure.
        units: How many units a measure of one has. Measures are rounded to units. Give it where tallies are added.

    Returns:
        The tally.
    """
    if mechanism.question.room != Boxes.room:
        raise ParameterError("Measures are summed over boxes: use a mechanism for boxes, such as torus-wave.")
    ends = [float(check_decimal(name, "a measure", end)) for name, end in (("low", low), ("high", high))]
    numbers = floats_of(measure)
    if not ends[0] < ends[1] or not numbers.size or not bool(((ends[0] <= numbers) & (numbers <= ends[1])).all()):
        raise ParameterError("Every measure must be a number between `low` and `high`, and `low` below `high`.")
    weighted = weighted_tally(mechanism, reports, numbers - ends[0], units=units)
    return MeasuredTally(tally(mechanism, reports), weighted, ends[0], ends[1])


@dataclass(frozen=True, eq=False)
class MeasureQueries:
    """Counts, sums and averages of a measure over boxes, from one tally."""

    source: MeasuredTally

    @cached_property
    def cells(self) -> tuple[GridEvidence, GridEvidence, GridEvidence]:
        """The shares of cells, those with the measure as weight, and those with its square."""
        counted = self.source.weighted
        return tuple(  # type: ignore[return-value]
            cells_of(one.mechanism, one) for one in (self.source.plain, counted.weighted, counted.squared)
        )

    def count(self, *boxes: Mapping[str, Any], **limits: Any) -> Estimate:
        """How many of the participants lie in a box, or in at least one of several."""
        return self._asked("count", boxes, limits)

    def sum(self, *boxes: Mapping[str, Any], **limits: Any) -> Estimate:
        """The sum of the measure over the participants who lie in a box, or in at least one of several."""
        return self._asked("sum", boxes, limits)

    def average(self, *boxes: Mapping[str, Any], **limits: Any) -> Estimate:
        """The mean measure of the participants who lie in a box, or in at least one of several."""
        return self._asked("average", boxes, limits)

    def _asked(self, what: str, boxes: Sequence[Mapping[str, Any]], limits: Mapping[str, Any]) -> Estimate:
        if bool(boxes) == bool(limits):
            raise ParameterError("Give one box by the names of its fields, or several as mappings.")
        plain = self.cells[0]
        asked = boxes or (limits,)
        weights = plain.told(plain.buckets.union(asked))
        label = " or ".join(map(plain.buckets.label, asked))
        question = plain.question
        assert question is not None
        evidence = MeasureEvidence(self, what, weights, Axes.of("box", [label]))
        return Estimate.of(question, evidence, sources_of([self.source.plain]))

    def moments(self, by_measure: Floats, by_count: Floats, target: Target) -> Functional:
        """Estimates of sums over the participants with their covariance, one row of weights for each sum.

        A participant adds the measure above `low` times `by_measure` of the own cell, plus `by_count` of it. Scores of
        reports are linear in these weights, so the noise of the three tallies gives that of the sums.
        """
        (ones, firsts, seconds), counted = self.cells, self.source.weighted
        n, first, second = self.source.plain.n, counted.total, counted.squared.n / counted.units**2
        values = first * by_measure @ firsts.values() + n * by_count @ ones.values()
        noise = second * counted.squared.n * seconds.functional(by_measure, Target.SAMPLE).covariance
        both = firsts.functional(np.vstack([by_measure, by_count]), Target.SAMPLE).covariance
        crossed = first * counted.weighted.n * both[: len(by_measure), len(by_measure) :]
        noise = noise + crossed + crossed.T + n**2 * ones.functional(by_count, Target.SAMPLE).covariance
        if target == Target.SAMPLE:
            return Functional(values, noise)
        product = first * by_measure * firsts.values() @ by_count.T
        squares = second * by_measure * seconds.values() @ by_measure.T + product + product.T
        squares = squares + n * by_count * ones.values() @ by_count.T
        return Functional(values, noise + squares - np.multiply.outer(values, values) / n)


@dataclass(frozen=True, eq=False)
class MeasureEvidence(Evidence):
    """One count, sum or average over a box.

    The participants in cells that the box cuts may belong to it or not, with any possible measure: intervals allow for
    all of these. The interval of an average holds all numbers that the reports do not reject, as by Fieller.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    queries: MeasureQueries
    what: str
    weights: CellWeights
    label: Axes
    axes = delegated("label")
    n = delegated("queries.source.plain.n")

    @property
    def noun(self) -> str:
        return {"count": "number of participants in a box", "sum": "sum over a box", "average": "average over a box"}[
            self.what
        ]

    @property
    def question(self) -> Boxes:
        question: Any = self.queries.source.plain.mechanism.question
        return question  # type: ignore[no-any-return]

    @property
    def quality(self) -> str:
        return "a ratio of unbiased sums" if self.what == "average" else "unbiased"

    @property
    def ends(self) -> tuple[float, float]:
        n, low, high = self.n, self.queries.source.low, self.queries.source.high
        return {"count": (0.0, float(n)), "sum": (min(0.0, n * low), max(0.0, n * high)), "average": (low, high)}[
            self.what
        ]

    def _sums(self, target: Target, *pairs: tuple[Floats, Floats]) -> Functional:
        """Sums over participants, each with weights of the measure and of the count."""
        by_measure, by_count = (np.vstack(rows) for rows in zip(*pairs, strict=True))
        return self.queries.moments(by_measure, by_count, target)

    def _rows(self, cells: Floats) -> tuple[Floats, Floats]:
        """The weights of a count, or of a sum, over cells."""
        nothing = np.zeros_like(cells)
        return (nothing, cells) if self.what == "count" else (cells, self.queries.source.low * cells)

    def values(self) -> Floats:
        parts = self.weights.parts
        total, people = self._sums(Target.SAMPLE, self._rows(parts), (0 * parts, parts)).values
        if self.what != "average":
            return np.array([total])
        low, high = self.ends
        return np.array([np.clip(total / people, low, high) if people > 0 else (low + high) / 2])

    def variances(self, target: Target) -> Floats:
        """Of an average by the delta method; its interval does not rest on it."""
        parts = self.weights.parts
        found = self._sums(target, self._rows(parts), (0 * parts, parts))
        if self.what != "average":
            return np.maximum(found.covariance[:1, 0], 0)
        by = np.array([1.0, -self.values()[0]])
        people = found.values[1]
        return np.array([max(by @ found.covariance @ by, 0.0) / people**2 if people > 0 else math.inf])

    def interval(self, request: IntervalRequest) -> Bounds:
        if self.what == "average":
            return self._average(request)
        inner, outer, source = self.weights.inner, self.weights.outer, self.queries.source
        least, most = (0.0, 1.0) if self.what == "count" else (min(source.low, 0.0), max(source.high, 0.0))
        (by_measure, by_count), ring = self._rows(inner), outer - inner
        above = by_measure, by_count + most * ring
        if self.what == "sum" and source.low >= 0:
            above = self._rows(outer)
        found = self._sums(request.target, (by_measure, by_count + least * ring), above)
        half = deviate(request.level) * np.sqrt(np.maximum(np.diag(found.covariance), 0))
        (value,) = self.values()
        low, high = found.values[0] - half[0], found.values[1] + half[1]
        return Bounds(np.array([min(low, value)]), np.array([max(high, value)]))

    def _average(self, request: IntervalRequest) -> Bounds:
        """The averages that are not rejected; the whole range of the measure where the box may be empty."""
        (low, high), source = self.ends, self.queries.source
        inner, outer = self.weights.inner, self.weights.outer
        ring = outer - inner
        (value,) = self.values()
        tried = np.unique([*np.linspace(low, high, STEPS + 1), value])
        kept = np.ones(len(tried), bool)
        for side, most in ((-1, low), (1, high)):  # people in cells that are cut may have any measure
            sums = self._sums(request.target, (inner, source.low * inner + most * ring), (0 * inner, outer))
            by = np.vstack([np.ones_like(tried), -tried])
            error = np.sqrt(np.maximum((by * (sums.covariance @ by)).sum(axis=0), 0))
            kept &= side * (sums.values @ by) + deviate(request.level) * error >= 0
        places = np.flatnonzero(kept | (tried == value))
        first, last = max(places[0] - 1, 0), min(places[-1] + 1, len(tried) - 1)  # one step more: ends lie between
        return Bounds(tried[first : first + 1], tried[last : last + 1])

    def normal_is_poor(self) -> Flags:
        return np.array([self.warning() is not None])

    def warning(self) -> str | None:
        return self.queries.cells[0].warning()
