"""Evidence of weighted reports: shares, means, coordinates and distributions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from sottovoce.core.declared import delegated
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.distribution.sums import SumsDistribution
from sottovoce.estimate.evidence import (
    MOST_EXCESS,
    POOR_BELOW,
    Bounds,
    Counted,
    Evidence,
    Flags,
    Floats,
    Functional,
    Offer,
    most_excess,
)
from sottovoce.estimate.frequency.asked import AskedEvidence
from sottovoce.estimate.frequency.matrix import MatrixEvidence
from sottovoce.estimate.frequency.read import ReadSharesEvidence
from sottovoce.estimate.frequency.supports import BitsEvidence
from sottovoce.estimate.from_tally import unbiased
from sottovoce.estimate.mean.scores import skewness_excess
from sottovoce.estimate.mean.single import ReadMean
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.survey.units import Units
from sottovoce.tally.tally import Tally
from sottovoce.tally.weighted import WeightedTally

FEW_DRAWS = 40  # degrees of freedom under which intervals without Student's quantiles are doubted
WEIGHED = (ReadMean, ReadSharesEvidence, MatrixEvidence, OutputsEvidence, SumsDistribution)


@dataclass(frozen=True, slots=True, eq=False)
class PartScores:
    """Scores of reports of equal weight, of which there is evidence."""

    evidence: Evidence

    def first(self) -> Floats:
        return self.evidence.values()

    def second(self) -> Floats:
        return self.evidence.values()

    def spread(self, rows: Floats | None, target: Target) -> Floats:
        return _spread(self.evidence, rows, target)


@dataclass(frozen=True, eq=False)
class EvidenceScores:
    """Scores of the reports of a weighted tally, read like the evidence of all reports."""

    tally: WeightedTally
    like: Evidence

    @cached_property
    def _first(self) -> Evidence:
        return _evidence(self.like, self.tally.weighted, self.tally.weighted.n)

    @cached_property
    def _second(self) -> Evidence:
        """Evidence with squared weights; where errors add a few reports, to as many as the weights are worth."""
        worth = self.tally.weighted.n**2 / self.tally.squared.n
        return _evidence(self.like, self.tally.squared, max(1, round(worth)))

    def first(self) -> Floats:
        return self._first.values()

    def second(self) -> Floats:
        return self._second.values()

    def spread(self, rows: Floats | None, target: Target) -> Floats:
        return _spread(self._second, rows, target)


def _spread(evidence: Evidence, rows: Floats | None, target: Target) -> Floats:
    """The covariance of the score of one report."""
    n = float(np.sum(evidence.n))
    spread = evidence.variances(target) if rows is None else evidence.functional(rows, target).covariance
    if isinstance(evidence, ReadMean) and target == Target.POPULATION:
        return np.asarray((n - 1) * spread)  # the sample variance, without its correction for few reports
    return np.asarray(n * spread)


def _evidence(like: Evidence, tally: Tally, n: int) -> Evidence:
    """The evidence of a tally, in the buckets of other evidence; counts of buckets are scaled to n reports."""
    if isinstance(like, OutputsEvidence):
        cells = tally.cells * (n / tally.n)
        return replace(like, n=n, cells=cells, counted=Counted(tally.mechanism, n, cells))  # type: ignore[arg-type]
    return unbiased(tally.mechanism, tally).evidence


class WeighedEvidence(Evidence):
    """Values and errors of a survey design."""

    units: Units

    @property
    def n(self) -> int:
        return self.units.n

    def values(self) -> Floats:
        return self._values

    @cached_property
    def _values(self) -> Floats:
        return self.units.values()

    def variances(self, target: Target) -> Floats:
        return np.maximum(self.units.covariance(None, target), 0)

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        rows = np.atleast_2d(weights)
        return Functional(rows @ self.values(), self.units.covariance(rows, target))

    def covariance(self, target: Target) -> Floats:
        return self.functional(np.eye(len(self.values())), target).covariance

    def student(self, request: IntervalRequest) -> Bounds:
        """Intervals with Student's quantiles, for as many degrees of freedom as the design has."""
        half = -stdtrit(self.units.free, (1 - request.level) / 2) * np.sqrt(self.variances(request.target))
        return Bounds(self.values() - half, self.values() + half)


@dataclass(frozen=True, eq=False)
class SurveyEvidence(WeighedEvidence):
    """Weighted shares or means.

    Attributes:
        plain: evidence of the same reports, each counted once.
        lopsided: how many times the squared skewness of weighted sums is that of sums without weights.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    units: Units
    plain: Evidence
    lopsided: float
    noun = delegated("plain.noun")
    axes = delegated("plain.axes")
    limits = delegated("plain.limits")
    sentence = delegated("plain.sentence")
    question = delegated("plain.question")

    @property
    def offers(self) -> frozenset[Offer]:
        return self.plain.offers & {Offer.RANGE, Offer.ALL_SHARES, Offer.COVARIANCE}

    def normal(self, request: IntervalRequest) -> Bounds:
        return self.student(request)

    def normal_is_poor(self) -> Flags:
        return self._poor(IntervalRequest(0.95, Method.NORMAL), most_excess(0.95))

    def _poor(self, request: IntervalRequest, most: float) -> Flags:
        """Values whose interval may miss too often: weights make the law of a sum more skewed.

        Shares are judged by the most skewed rates that are possible: a doubt that followed the reports would be missing
        where chance hides that supports are rare.
        """
        few = self.units.effective / self.lopsided < POOR_BELOW
        if isinstance(self.plain, BitsEvidence):
            rate = self.plain.rarest
            skewed = (1 - 2 * rate) ** 2 / (rate * (1 - rate)) * self.lopsided / self.n
            poor = (skewness_excess(skewed, request.level) > most) | few
            return np.asarray(np.broadcast_to(poor, self.values().shape))
        return np.asarray(self.plain.normal_is_poor() | few)

    def warning(self) -> str | None:
        return self.doubt(IntervalRequest(0.95, Method.NORMAL), most_excess(0.95))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        poor = int(self._poor(request.by(Method.NORMAL), most).sum())
        if not poor:
            return None
        return (
            f"The normal interval is poor for {poor} of {len(self.values())} values: the reports, or the few that have"
            " large weights, are too few."
        )


@dataclass(frozen=True, eq=False)
class SurveyDistribution(WeighedEvidence, DistributionEvidence):
    """Weighted shares of buckets, and everything that is read from them."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    counted: ClassVar[None] = None  # type: ignore[misc]
    units: Units
    plain: DistributionEvidence
    lopsided: float
    question = delegated("plain.question")
    unevenness = delegated("plain.unevenness")
    rises = delegated("plain.rises")

    @property
    def buckets(self) -> Buckets:  # type: ignore[override]
        return self.plain.buckets

    def excess_of(self, sums: ShareSums, level: float, target: Target | None) -> Floats:
        plain = self.plain.excess_of(ShareSums(self.plain, sums.rows), level, target)
        return np.asarray(1 + (plain - 1) * self.lopsided)

    def few(self) -> str | None:
        if self.units.free < FEW_DRAWS:
            return f"The normal interval is poor: only {sum(self.units.draws)} clusters or people were drawn."
        if self.units.effective / self.lopsided < POOR_BELOW:
            return "The normal interval is poor: the few reports with large weights decide it."
        return None


def weighed(plain: Evidence, units_of: Callable[[Evidence], Units], lopsided: float) -> Evidence:
    """The evidence of a survey about the question of evidence that counts each report once."""
    if not isinstance(plain, WEIGHED) or isinstance(plain, AskedEvidence):
        raise ParameterError(
            f"Reports about a {plain.noun} that are counted in this way cannot be weighted yet. Weights work for shares"
            " by randomized response, bits, subsets or hashing by report, for means, groups, and distributions."
        )
    shape: Any = SurveyDistribution if isinstance(plain, DistributionEvidence) else SurveyEvidence
    evidence: Evidence = shape(units_of(plain), plain, lopsided)
    return evidence


def skewness(tallies: Sequence[WeightedTally]) -> float:
    """How many times the squared skewness of weighted sums is that of sums without weights."""
    n, square = sum(one.n for one in tallies), sum(one.squared.n for one in tallies)
    return float(n * sum(one.cubes for one in tallies) ** 2 / square**3)
