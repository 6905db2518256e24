"""What a distribution answers: cumulative shares, ranges, densities, means, variances, quantiles, directions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import singledispatch
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load
from sottovoce.core.question import (
    Cdf,
    CircularMean,
    Density,
    Distribution,
    Mean,
    Quantile,
    Question,
    Range,
    Variance,
)
from sottovoce.estimate.distribution.base import CHECKED, COMPATIBLE, GUARDED, DistributionEvidence
from sottovoce.estimate.distribution.circle.direction import DirectionAnswer
from sottovoce.estimate.distribution.linear_answers import AnswerEvidence, DensityAnswer, LinearAnswer
from sottovoce.estimate.distribution.moments import from_waves
from sottovoce.estimate.distribution.quantiles.invert import best_window, half_width, intervals, value_of
from sottovoce.estimate.evidence import MOST_EXCESS, Bounds, Evidence, deviate, most_excess
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.variance.errors import MeanPart, ReadingNoise
from sottovoce.estimate.variance.spread import VarianceEvidence

Floats = NDArray[np.float64]
EVEN = "even"  # the method for quantiles of answers that are spread evenly
UNEVEN = 'Method "even" assumes that answers are spread evenly; round answers make its interval too narrow.'
USUAL = 0.95  # the level of the interval whose window tells standard errors


@dataclass(frozen=True, slots=True, eq=False)
class PartAnswer(LinearAnswer):
    """Shares of ranges whose ends may lie inside a bucket, or on its edge.

    All of such a bucket, or none of it, may belong to the range: many answers may share the number at its edge. So the
    interval reaches from that of the buckets that lie inside (`inner`) to that of all that are touched (`outer`).
    """

    inner: Floats = field(kw_only=True)
    outer: Floats = field(kw_only=True)

    @property
    def methods(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.source.curve_methods

    @property
    def known(self) -> bool:
        """Whether each bucket lies inside or outside as a whole."""
        return bool((self.inner == self.outer).all())

    def interval(self, level: float, method: str, target: str) -> Bounds:
        if method == COMPATIBLE:
            return Bounds(*load("estimate.distribution.compatible:shares")(self, level, target))
        if self.known:
            return LinearAnswer.interval(self, level, method, target)
        inner, outer = (
            LinearAnswer.interval(replace(self, weights=part), level, method, target)
            for part in (self.inner, self.outer)
        )
        values = self.values()  # which may lie beyond both, where shares are far from what shares can be
        return Bounds(
            np.minimum(values, np.minimum(inner.low, outer.low)), np.maximum(values, np.maximum(inner.high, outer.high))
        )

    @property
    def rows(self) -> Floats:
        return self.weights if self.known else np.vstack([self.inner, self.outer])

    def doubt(self, method: str, level: float, most: float = MOST_EXCESS) -> str | None:
        if method == COMPATIBLE:
            return self.source.few()
        return self.source.unevenness or LinearAnswer.doubt(self, method, level, most)


@dataclass(frozen=True, slots=True, eq=False)
class QuantileAnswer(AnswerEvidence):
    """Quantiles of the unbiased cumulative shares, averaged over a window of neighbouring edges and made rising.

    An interval holds all values whose own interval of the cumulative share, averaged over a window of neighbours,
    contains the wanted one (`quantiles/invert.py`). It is right wherever answers lie: many may share one number. Method
    "even" is narrower, and right where answers are spread evenly over the window, as round numbers are not.
    """

    quality: ClassVar[str] = "those of the unbiased cumulative shares"
    noun: ClassVar[str] = "quantile"
    source: DistributionEvidence
    question: Quantile

    @property
    def methods(self) -> tuple[str, ...]:  # type: ignore[override]
        return *(method for method in self.source.curve_methods if method != GUARDED), EVEN

    @property
    def labels(self) -> Sequence[object]:  # type: ignore[override]
        return [f"{float(share):g}" for share in self.question.shares]

    @property
    def limits(self) -> tuple[float, float]:
        return float(self.source.edges[0]), float(self.source.edges[-1])

    def values(self) -> Floats:
        heights, spreads = self._curve("population")
        windows = [best_window(heights, spreads, part, USUAL) for part in self.parts]
        pairs = zip(windows, self.parts, strict=True)
        return np.array([value_of(self.source.buckets, heights, window, part) for window, part in pairs])

    @property
    def parts(self) -> list[float]:
        """The shares whose quantiles are asked for."""
        return [float(part) for part in self.question.shares]

    def interval(self, level: float, method: str, target: str) -> Bounds:
        buckets, parts = self.source.buckets, self.parts
        if method == COMPATIBLE:
            low, high = load("estimate.distribution.compatible:quantiles")(self.source, parts, level, target)
        else:
            low, high = intervals(buckets, *self._curve(target), parts, level, even=method == EVEN)
        return Bounds(np.minimum(low, self.values()), np.maximum(high, self.values()))

    @property
    def rows(self) -> Floats:
        return self._heights(0.95)

    def _heights(self, level: float) -> Floats:
        """The cumulative shares up to the edges near the quantiles, as weights of the buckets."""
        low, high = self.interval(level, "normal", "population")
        edges, d = self.source.edges, len(self.source.buckets)
        near = [(edges >= a) & (edges <= b) for a, b in zip(low, high, strict=True)]
        places = np.flatnonzero(np.any(near, axis=0)[1:-1]) + 1
        places = places[:: -(-max(len(places), 1) // CHECKED)]
        return np.asarray(np.arange(d) < places[:, None], np.float64).reshape(-1, d)

    def doubt(self, method: str, level: float, most: float = MOST_EXCESS) -> str | None:
        if method == COMPATIBLE:
            return self.source.few()
        if method == EVEN and not self._single_answers(level):
            return UNEVEN
        return self.source.unevenness or self.source.doubt_of(self._heights(level), level, max(most, MOST_EXCESS))

    def _single_answers(self, level: float) -> bool:
        """Whether method "even" spreads nothing: each bucket is one possible answer, and no edges are averaged."""
        buckets = self.source.buckets
        if buckets.room > 1e-9 * (buckets.step or 0):
            return False
        heights, spreads = self._curve("population")
        return all(best_window(heights, spreads, part, level, even=True).width == 1 for part in self.parts)

    def variances(self, target: str) -> Floats:
        """Squared standard errors: the error of the averaged cumulative share over the density around the quantile.

        In a tail with few reports the density is poorly known. There the part of the interval that errors explain,
        which is what the window does not, is larger, and counts.
        """
        heights, spreads = self._curve(target)
        buckets, factor = self.source.buckets, deviate(USUAL)
        windows = [best_window(heights, spreads, part, USUAL) for part in self.parts]
        smooth = np.array([half_width(buckets, window, even=True) for window in windows])
        low, high = intervals(buckets, heights, spreads, self.parts, USUAL)
        wide = np.array([window.width for window in windows]) * (buckets.edges[-1] - buckets.edges[0]) / len(buckets)
        return np.asarray((np.maximum(smooth, (high - low - wide) / 2) / factor) ** 2)

    def _curve(self, target: str) -> tuple[Floats, Callable[[Floats], Floats]]:
        """The unbiased cumulative share at each edge, and the variances of sums of shares."""
        heights = np.concatenate([[0.0], np.cumsum(self.source.values())[:-1], [1.0]])
        return heights, lambda rows: self.source.spreads(rows, target)


@dataclass(frozen=True, slots=True, eq=False)
class SpreadAnswer(AnswerEvidence):
    """The distance of two quantiles; its interval holds where both of theirs do."""

    quality: ClassVar[str] = QuantileAnswer.quality
    methods: ClassVar[tuple[str, ...]] = ("normal",)
    noun: ClassVar[str] = "interquartile range"
    labels: ClassVar[tuple[str, ...]] = ("interquartile range",)  # type: ignore[misc]
    quantiles: QuantileAnswer

    @property
    def source(self) -> DistributionEvidence:  # type: ignore[override]
        return self.quantiles.source

    @property
    def limits(self) -> tuple[float, float]:
        low, high = self.quantiles.limits
        return 0.0, high - low

    def values(self) -> Floats:
        low, high = self.quantiles.values()
        return np.array([high - low])

    def interval(self, level: float, method: str, target: str) -> Bounds:
        low, high = self.quantiles.interval(1 - (1 - level) / 2, method, target)
        return Bounds(np.maximum(low[1:] - high[:1], 0), high[1:] - low[:1])

    def doubt(self, method: str, level: float, most: float = MOST_EXCESS) -> str | None:
        return self.quantiles.doubt(method, level, most)

    def variances(self, target: str) -> Floats:
        return np.array([self.quantiles.variances(target).sum()])


# --- which question, which answer ----------------------------------------------------------------------------------
def answer(found: DistributionEvidence, question: Question) -> Evidence | None:
    """The answer to a question about the same domain; None if it is another question."""
    if question.domain != found.buckets.domain:
        return None
    return _answer(question, found)


@singledispatch
def _answer(question: Question, found: DistributionEvidence) -> Evidence | None:
    return None


@_answer.register
def _(question: Distribution, found: DistributionEvidence) -> Evidence | None:
    return found


@_answer.register
def _(question: Cdf, found: DistributionEvidence) -> Evidence | None:
    buckets, points = found.buckets, question.points
    weights, inner, outer = (
        np.array(rows)
        for rows in (
            [buckets.up_to(point) for point in points],
            [buckets.sure(None, point) for point in points],
            [buckets.touched(None, point) for point in points],
        )
    )
    weights = np.where(inner == outer, inner, weights)  # a bucket may end so little above a point that it ends with it
    return PartAnswer(found, weights, _shown(points), (0.0, 1.0), question, inner=inner, outer=outer)


@_answer.register
def _(question: Range, found: DistributionEvidence) -> Evidence | None:
    ends, buckets = (question.low, question.high), found.buckets
    weights, inner, outer = (part(*ends).reshape(1, -1) for part in (buckets.between, buckets.sure, buckets.touched))
    low, high = _shown(ends)
    weights = np.where(inner == outer, inner, weights)
    return PartAnswer(found, weights, [f"{low} to {high}"], (0.0, 1.0), question, inner=inner, outer=outer)


@_answer.register
def _(question: Density, found: DistributionEvidence) -> Evidence | None:
    return DensityAnswer(found, question)


@_answer.register
def _(question: Mean, found: DistributionEvidence) -> Evidence | None:
    read = from_waves(found, question)
    if read is not None:
        return read
    numbers = found.buckets.numbers()
    ends = float(question.domain.low), float(question.domain.high)  # type: ignore[attr-defined]
    return LinearAnswer(found, numbers.reshape(1, -1), ["mean"], ends, question, found.buckets.room)


@_answer.register
def _(question: Quantile, found: DistributionEvidence) -> Evidence | None:
    return QuantileAnswer(found, question)


@_answer.register
def _(question: CircularMean, found: DistributionEvidence) -> Evidence | None:
    return DirectionAnswer(found, question)


@_answer.register
def _(question: Variance, found: DistributionEvidence) -> Evidence | None:
    """Each report is read as a number and as the square of its distance from the middle of the domain."""
    known = from_waves(found, question)
    if known is not None:
        return known
    if found.n < 2:
        raise ParameterError("A variance needs at least two reports.")
    low, high = float(question.domain.low), float(question.domain.high)  # type: ignore[attr-defined]
    centre, n = (low + high) / 2, found.n
    weights = np.array([found.buckets.numbers() - centre, found.buckets.squares(centre)])
    crowd = found.functional(weights)
    each = crowd.covariance * n * n / (n - 1)
    poor = found.doubt_of(weights, 0.95, most_excess(0.95)) is not None
    number, square = (
        MeanPart(n, Fraction(start + value), Fraction(spread), found.reach_of(row), ends, poor)
        for start, value, spread, row, ends in zip(
            (centre, 0.0),
            crowd.values,
            np.diag(each),
            weights,
            ((low, high), (0.0, (high - low) ** 2 / 4)),
            strict=True,
        )
    )

    def noise() -> ReadingNoise:
        own = found.functional(weights, "sample").covariance * n
        return ReadingNoise(own[0, 0], own[1, 1], own[0, 1])

    mean = answer(found, Mean(question.domain))
    return VarianceEvidence(
        *(number, square, Fraction(centre), (low, high)),
        joint=Fraction(each[0, 1]),
        noise=noise,
        question=question,
        also=() if mean is None else (mean,),
        slack=_slack_of_variance(found, crowd.values),
    )


def _slack_of_variance(found: DistributionEvidence, values: Floats) -> float:
    """How far the variance may be off: answers at most `room` from the middle of their bucket, by Cauchy's inequality.

    With d the distance from the middle, the variance of m + d is that of m plus 2 Cov(m, d) + Var(d), where an even
    spread is allowed for already.
    """
    room, spread = found.buckets.room, max(0.0, float(values[1] - values[0] ** 2))
    return 2 * math.sqrt(spread) * room + room**2


def _shown(points: Sequence[Any]) -> list[object]:
    return [point if isinstance(point, (str, int)) else f"{float(point):g}" for point in points]


# --- the same of other shares --------------------------------------------------------------------------------------
def read(found: Evidence, source: DistributionEvidence, shares: Floats) -> Floats:
    """What shares of buckets, such as those of a decoder, answer to the question of some evidence."""
    buckets = source.buckets
    if isinstance(found, LinearAnswer):
        return np.asarray(found.weights @ shares)
    if isinstance(found, DensityAnswer):
        return np.asarray(shares / buckets.widths)
    if isinstance(found, MeanEvidence):
        return np.array([float(buckets.numbers() @ shares)])
    if isinstance(found, QuantileAnswer):
        return np.array([buckets.quantile(shares, float(part)) for part in found.question.shares])
    if isinstance(found, SpreadAnswer):
        low, high = read(found.quantiles, source, shares)
        return np.array([high - low])
    if isinstance(found, DirectionAnswer):
        cosine, sine = np.array(buckets.directions()) @ shares
        period = float(buckets.edges[-1] - buckets.edges[0])
        return np.array([math.atan2(sine, cosine) % (2 * math.pi) / (2 * math.pi) * period])
    if isinstance(found, VarianceEvidence):
        centre = float(buckets.numbers() @ shares)
        return np.array([float(buckets.squares(centre) @ shares)])
    raise ParameterError(f"A {found.noun} is not read from shares.")
