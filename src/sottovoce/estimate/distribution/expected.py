"""What a mechanism for distributions will say, before anyone has answered: the interval of each question to expect.

Most are read from the tally that is expected, by the code that reads real ones. The ends of a quantile's interval are
ends of buckets, which the noise of a whole curve moves; so theirs is the mean over curves that are drawn with the exact
covariance, and so is that of a range which ends inside a bucket. The draws are always the same.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Distribution, Quantile, Question
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.distribution.answers import PartAnswer
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.evidence import (
    buckets_of,
    from_cells,
    functional_covariance,
    functional_variances,
)
from sottovoce.estimate.distribution.quantiles.invert import intervals
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.estimate.evidence import Floats, deviate
from sottovoce.estimate.prior import Prior
from sottovoce.estimate.request import IntervalRequest

DRAWS = 500  # curves: the mean width of an interval is then known to about one percent
QUANTILE_DRAWS = 50  # of them, for quantiles, whose intervals take longer: known to about three percent
SEED = 1


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedDistribution:
    """A mechanism whose reports are counted, and the shares of its buckets that are expected."""

    mechanism: Mechanism
    buckets: Buckets
    shares: Floats
    _curves: dict[str, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, mechanism: Mechanism, prior: Prior | Floats | None = None) -> ExpectedDistribution:
        """The distribution expected for answers of a prior, by default spread evenly, or for shares of categories."""
        if not isinstance(mechanism.statistic, CountOutputs):
            raise ParameterError(f"What {mechanism.name} will say is not predicted: its reports are not counted.")
        buckets = buckets_of(mechanism, 1)
        return cls(mechanism, buckets, shares_of(buckets, prior))

    def half_width(self, question: Question, n: int, level: float) -> float:
        """Half the width of the interval to expect, root mean square over the values of the answer."""
        if isinstance(question, Quantile):
            return self._of_quantiles(question, n, level)
        if isinstance(question, Distribution):
            return deviate(level) * math.sqrt(float(np.mean(self._variances(lines_of(self.buckets)))) / n)
        answer = self.evidence(n).answer(question)
        if isinstance(answer, PartAnswer) and not answer.known:
            return self._of_parts(answer, n, level)
        low, high = answer.interval(IntervalRequest(level, answer.default))
        return _root_mean_square((high - low) / 2)

    def evidence(self, n: int) -> DistributionEvidence:
        """The evidence of the expected tally."""
        rates = transition_of(self.mechanism.channel, len(self.shares)).forward(self.shares)
        cells = n * rates
        if rounding_of(self.mechanism.channel) is not None:
            # Reports that are read as numbers are counted in whole numbers; neighbours make up for what is cut off.
            cells = np.diff(np.floor(np.concatenate([[0.0], np.cumsum(cells)]) + 0.5)).astype(np.int64)
        return from_cells(self.mechanism, n, cells)  # type: ignore[arg-type]  # elsewhere any numbers will do

    def _of_quantiles(self, question: Quantile, n: int, level: float) -> float:
        """The mean over drawn curves: the window of an interval, and where it ends, depend on the curve."""
        curves = np.cumsum(self.shares)[:-1] + self._noise()[:: DRAWS // QUANTILE_DRAWS] / math.sqrt(n)
        parts = [float(part) for part in question.shares]
        halves = []
        for curve in curves:
            heights = np.concatenate([[0.0], curve, [1.0]])
            low, high = intervals(self.buckets, heights, lambda rows: self._variances(rows) / n, parts, level)
            halves.append((high - low) / 2)
        return _root_mean_square(np.mean(halves, axis=0))

    def _variances(self, rows: Floats) -> Floats:
        """Variances of sums of shares for one participant; the same sums come again for each curve and number."""
        key = hashlib.sha256(rows.tobytes()).hexdigest()
        if key not in self._curves:
            self._curves[key] = functional_variances(self.mechanism, rows, self.shares)
        return self._curves[key]

    def _of_parts(self, answer: PartAnswer, n: int, level: float) -> float:
        """The noise of a bucket that is cut moves the ends of the interval apart."""
        curves = self._noise() / math.sqrt(n)
        drawn = self.shares + np.diff(curves, axis=1, prepend=0.0, append=0.0)
        ends = []
        for weights in (answer.inner, answer.outer):
            errors = np.sqrt(functional_variances(self.mechanism, weights, self.shares) / n)
            ends.append((drawn @ weights.T, deviate(level) * errors))
        high = np.maximum(*(values + half for values, half in ends))
        low = np.minimum(*(values - half for values, half in ends))
        return _root_mean_square(np.mean((high - low) / 2, axis=0))

    def _noise(self) -> Floats:
        """Drawn errors of the cumulative shares of one participant."""
        if "noise" not in self._curves:
            d = len(self.shares)
            covariance = functional_covariance(self.mechanism, np.tri(d - 1, d), self.shares)
            values, vectors = np.linalg.eigh(covariance)
            drawn = np.random.default_rng(SEED).standard_normal((DRAWS // 2, d - 1))
            half = drawn @ (vectors * np.sqrt(np.maximum(values, 0))).T
            self._curves["noise"] = np.concatenate([half, -half])  # both signs, so that the mean curve is the true one
        return self._curves["noise"]


def lines_of(buckets: Buckets) -> Floats:
    """The weights of what a distribution is reported as: cumulative shares, on a circle the share of each bucket."""
    d = len(buckets)
    return np.eye(d) if buckets.circular else np.tri(d - 1, d)


def cumulative(source: DistributionEvidence) -> PartAnswer:
    """The share of the answers up to the end of each bucket but the last; answers of the next bucket may lie there."""
    if source.circular:
        raise ParameterError("Values on a circle have no order, so they have no cumulative shares.")
    labels: list[object] = [f"{edge:.10g}" for edge in source.buckets.largest_answers[:-1]]
    if len(source.buckets) == source.buckets.domain.size:
        labels = list(source.labels[:-1])
    question = Distribution(source.buckets.domain)
    lines, d = lines_of(source.buckets), len(source.buckets)
    outer = np.tri(d - 1, d, 1) if source.buckets.step is None else lines
    return PartAnswer(source, lines, Axes.of("point", labels), (0.0, 1.0), question, inner=lines, outer=outer)


def shares_of(buckets: Buckets, prior: Prior | Floats | None) -> Floats:
    """The shares of the buckets that a prior expects."""
    if prior is None:
        return np.asarray(buckets.widths / buckets.widths.sum())
    if not isinstance(prior, Prior):
        shares = np.asarray(prior, float)
        if shares.shape != (len(buckets),) or not shares.min() >= 0 or abs(shares.sum() - 1) > 1e-9:
            raise ParameterError(f"The expected shares must be {len(buckets)} numbers that sum to 1.")
        return shares
    at = np.asarray(prior.values)
    if at.min() < buckets.edges[0] or at.max() > buckets.edges[-1]:
        raise ParameterError("The prior has values outside the domain.")
    return np.asarray(np.histogram(at, buckets.edges, weights=prior.weights)[0])


def _root_mean_square(values: Floats) -> float:
    return float(np.sqrt(np.mean(np.asarray(values) ** 2)))
