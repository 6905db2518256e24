"""What a distribution answers: cumulative shares, ranges, densities, means, variances, quantiles, directions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.question import (
    CircularMean,
    Density,
    Distribution,
    Mean,
    Quantile,
    Question,
    Variance,
)
from sottovoce.core.question.distribution_domain import IntervalQuestion
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.distribution import compatible
from sottovoce.estimate.distribution.circle.direction import DirectionAnswer
from sottovoce.estimate.distribution.linear_answers import AnswerEvidence, DensityAnswer, LinearAnswer
from sottovoce.estimate.distribution.quantiles.invert import (
    EdgeWindow,
    best_window,
    intervals,
    standard_error,
    value_of,
)
from sottovoce.estimate.distribution.share_sums import CHECKED, ShareSums
from sottovoce.estimate.evidence import MOST_EXCESS, Bounds, Evidence, Floats, most_excess
from sottovoce.estimate.remembered import remembered
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.variance.spread import VarianceEvidence, from_readings

if TYPE_CHECKING:
    from sottovoce.estimate.distribution.base import DistributionEvidence

UNEVEN = 'Method "even" assumes that answers are spread evenly; round answers make its interval too narrow.'
USUAL = 0.95  # the level of the interval whose window tells standard errors


@dataclass(frozen=True, eq=False)
class PartAnswer(LinearAnswer):
    """Shares of ranges whose ends may lie inside a bucket, or on its edge.

    All of such a bucket, or none of it, may belong to the range: many answers may share the number at its edge. So the
    interval reaches from that of the buckets that lie inside (`inner`) to that of all that are touched (`outer`).
    """

    inner: Floats = field(kw_only=True)
    outer: Floats = field(kw_only=True)
    methods = delegated("source.curve_methods")

    @property
    def known(self) -> bool:
        """Whether each bucket lies inside or outside as a whole."""
        return bool((self.inner == self.outer).all())

    @cached_property
    def sums(self) -> ShareSums:
        return self.weighted if self.known else ShareSums(self.source, np.vstack([self.inner, self.outer]))

    def interval(self, request: IntervalRequest) -> Bounds:
        if request.method == Method.COMPATIBLE:
            return Bounds(*compatible.shares(self.source, self.inner, self.outer, request.level, request.target))
        if self.known:
            return LinearAnswer.interval(self, request)
        inner, outer = (ShareSums(self.source, rows).interval(request, self.slack) for rows in (self.inner, self.outer))
        values = self.values()  # which may lie beyond both, where shares are far from what shares can be
        return Bounds(
            np.minimum(values, np.minimum(inner.low, outer.low)), np.maximum(values, np.maximum(inner.high, outer.high))
        )

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        if request.method == Method.COMPATIBLE:
            return self.source.few()
        return self.source.unevenness or self.sums.doubt(request.level, most, request.method)


@dataclass(frozen=True, eq=False)
class QuantileAnswer(AnswerEvidence):
    """Quantiles of the unbiased cumulative shares, averaged over a window of neighbouring edges and made rising.

    An interval holds all values whose own interval of the cumulative share, averaged over a window of neighbours,
    contains the wanted one (`quantiles/invert.py`). It is right wherever answers lie: many may share one number. Method
    "even" is narrower, and right where answers are spread evenly over the window, as round numbers are not.
    """

    quality: ClassVar[str] = "those of the unbiased cumulative shares"
    source: DistributionEvidence
    question: Quantile

    @property
    def methods(self) -> tuple[Method, ...]:
        return *(method for method in self.source.curve_methods if method != Method.GUARDED), Method.EVEN

    @property
    def axes(self) -> Axes:
        return Axes.of("quantile", [f"{part:g}" for part in self.parts])

    @property
    def limits(self) -> tuple[float, float]:
        return float(self.source.edges[0]), float(self.source.edges[-1])

    def values(self) -> Floats:
        heights, _ = self._curve(Target.POPULATION)
        pairs = zip(self._windows(Target.POPULATION), self.parts, strict=True)
        return np.array([value_of(self.source.buckets, heights, window, part) for window, part in pairs])

    def read(self, shares: Floats) -> Floats:
        return np.array([self.source.buckets.quantile(shares, part) for part in self.parts])

    @property
    def parts(self) -> list[float]:
        """The shares whose quantiles are asked for."""
        return [float(part) for part in self.question.shares]

    def interval(self, request: IntervalRequest) -> Bounds:
        values = self.values()
        if request.method == Method.COMPATIBLE:
            low, high = compatible.quantiles(self.source, self.parts, request.level, request.target)
        else:
            curve, even = self._curve(request.target), request.method == Method.EVEN
            low, high = intervals(self.source.buckets, *curve, self.parts, request.level, even=even)
        return Bounds(np.minimum(low, values), np.maximum(high, values))

    @property
    def sums(self) -> ShareSums:
        return self._heights(0.95)

    def _heights(self, level: float) -> ShareSums:
        """The cumulative shares up to the edges near the quantiles."""
        low, high = self.interval(IntervalRequest(level, Method.NORMAL))
        edges, d = self.source.edges, len(self.source.buckets)
        near = [(edges >= a) & (edges <= b) for a, b in zip(low, high, strict=True)]
        places = np.flatnonzero(np.any(near, axis=0)[1:-1]) + 1
        places = places[:: -(-max(len(places), 1) // CHECKED)]
        return ShareSums(self.source, np.asarray(np.arange(d) < places[:, None], np.float64).reshape(-1, d))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        if request.method == Method.COMPATIBLE:
            return self.source.few()
        if request.method == Method.EVEN and not self._single_answers(request.level):
            return UNEVEN
        return self.source.unevenness or self._heights(request.level).doubt(request.level, max(most, MOST_EXCESS))

    def _single_answers(self, level: float) -> bool:
        """Whether method "even" spreads nothing: each bucket is one possible answer, and no edges are averaged."""
        buckets = self.source.buckets
        if buckets.room > 1e-9 * (buckets.step or 0):
            return False
        heights, spreads = self._curve(Target.POPULATION)
        return all(best_window(heights, spreads, part, level, even=True).width == 1 for part in self.parts)

    def variances(self, target: Target) -> Floats:
        buckets, curve = self.source.buckets, self._curve(target)
        pairs = zip(self._windows(target), self.parts, strict=True)
        return np.array([standard_error(buckets, *curve, window, part) ** 2 for window, part in pairs])

    @remembered
    def _windows(self, target: Target) -> list[EdgeWindow]:
        """The window of each quantile at the usual level."""
        heights, spreads = self._curve(target)
        return [best_window(heights, spreads, part, USUAL) for part in self.parts]

    def _curve(self, target: Target) -> tuple[Floats, Callable[[Floats], Floats]]:
        """The unbiased cumulative share at each edge, and the variances of sums of shares."""
        heights = np.concatenate([[0.0], np.cumsum(self.source.values())[:-1], [1.0]])
        return heights, lambda rows: self.source.spreads(rows, target)


@dataclass(frozen=True, slots=True, eq=False)
class SpreadAnswer(AnswerEvidence):
    """The distance of two quantiles; its interval holds where both of theirs do."""

    quality: ClassVar[str] = QuantileAnswer.quality
    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    noun: ClassVar[str] = "interquartile range"
    axes: ClassVar[Axes] = Axes.of("value", ("interquartile range",))
    source: DistributionEvidence
    quantiles: QuantileAnswer
    question: ClassVar[None] = None  # type: ignore[assignment, misc]
    sums = delegated("quantiles.sums")
    doubt = delegated("quantiles.doubt")

    @property
    def limits(self) -> tuple[float, float]:
        low, high = self.quantiles.limits
        return 0.0, high - low

    def values(self) -> Floats:
        low, high = self.quantiles.values()
        return np.array([high - low])

    def read(self, shares: Floats) -> Floats:
        low, high = self.quantiles.read(shares)
        return np.array([high - low])

    def interval(self, request: IntervalRequest) -> Bounds:
        low, high = self.quantiles.interval(request.at(1 - (1 - request.level) / 2))
        return Bounds(np.maximum(low[1:] - high[:1], 0), high[1:] - low[:1])

    def variances(self, target: Target) -> Floats:
        return np.array([self.quantiles.variances(target).sum()])


SHAPES: dict[type[Question], Callable[[DistributionEvidence, Any], Evidence]] = {
    Density: DensityAnswer,
    Quantile: QuantileAnswer,
    CircularMean: DirectionAnswer,
}


# --- which question, which answer ----------------------------------------------------------------------------------
def answer(source: DistributionEvidence, question: Question) -> Evidence | None:
    """The answer to a question about the same domain; None if it is another question."""
    return _answer(question, source) if question.domain == source.buckets.domain else None


@singledispatch
def _answer(question: Question, source: DistributionEvidence) -> Evidence | None:
    shape = SHAPES.get(type(question))
    return None if shape is None else shape(source, question)


@_answer.register(Distribution)
def _(question: Distribution, source: DistributionEvidence) -> Evidence:
    return source


@_answer.register(IntervalQuestion)
def _(question: IntervalQuestion, source: DistributionEvidence) -> Evidence:
    ends, buckets = question.intervals(), source.buckets
    labels = [_shown(high) if low is None else f"{_shown(low)} to {_shown(high)}" for low, high in ends]
    weights, inner, outer = (
        np.array([part(*interval) for interval in ends]) for part in (buckets.between, buckets.sure, buckets.touched)
    )
    axes = Axes.of("point" if all(low is None for low, _ in ends) else "range", labels)
    weights = np.where(inner == outer, inner, weights)  # a bucket may end so little above a point that it ends with it
    return PartAnswer(source, weights, axes, (0.0, 1.0), question, inner=inner, outer=outer)


@_answer.register(Mean)
def _(question: Mean, source: DistributionEvidence) -> Evidence:
    buckets, (low, high) = source.buckets, _ends(question)
    return source.read_as_numbers(question) or LinearAnswer(
        source, buckets.numbers().reshape(1, -1), Axes.of("value", ["mean"]), (low, high), question, buckets.room
    )


@_answer.register(Variance)
def _(question: Variance, source: DistributionEvidence) -> Evidence:
    """Each report is read as a number and as the square of its distance from the middle of the domain."""
    known = source.read_as_numbers(question)
    if known is not None:
        return known
    (low, high), n = _ends(question), source.n
    centre = (low + high) / 2
    sums = ShareSums(source, np.array([source.buckets.numbers() - centre, source.buckets.squares(centre)]))
    return from_readings(
        *(n, (low, high), sums.values, sums.functional(Target.POPULATION).covariance * n),
        lambda: sums.functional(Target.SAMPLE).covariance * n,
        reach=[source.reach_of(row) for row in sums.rows],
        poor=sums.doubt(0.95, most_excess(0.95)) is not None,
        question=question,
        mean=_answer(Mean(question.domain), source),  # type: ignore[arg-type]
        slack=_slack_of_variance(source, sums.values),
    )


def _ends(question: Question) -> tuple[float, float]:
    """The ends of a domain of numbers."""
    return float(question.domain.low), float(question.domain.high)  # type: ignore[attr-defined]


def _slack_of_variance(source: DistributionEvidence, values: Floats) -> float:
    """How far the variance may be off: answers at most `room` from the middle of their bucket, by Cauchy's inequality.

    With d the distance from the middle, the variance of m + d is that of m plus 2 Cov(m, d) + Var(d), where an even
    spread is allowed for already.
    """
    room, spread = source.buckets.room, max(0.0, float(values[1] - values[0] ** 2))
    return 2 * math.sqrt(spread) * room + room**2


def _shown(point: Any) -> object:
    return point if isinstance(point, (str, int)) else f"{float(point):g}"


def read(evidence: Evidence, source: DistributionEvidence, shares: Floats) -> Floats:
    """What shares of buckets, such as those of a decoder, answer to the question of some evidence."""
    if isinstance(evidence, AnswerEvidence):
        return evidence.read(shares)
    mean = float(source.buckets.numbers() @ shares)
    if isinstance(evidence, VarianceEvidence):
        return np.array([float(source.buckets.squares(mean) @ shares)])
    return np.array([mean])
