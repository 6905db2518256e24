"""Evidence about a distribution: the shares of buckets, for any shape of the law.

A shape derives from `DistributionEvidence` and has `buckets`, `n`, `values()`, the unbiased shares of the buckets, and
`covariance(target)`, their joint covariance. Everything that is asked of a distribution follows: `functional(weights)`
gives linear functionals with their covariance, `spreads(weights)` their variances alone, and `answer` reads cumulative
shares, ranges, quantiles, means, variances and densities from them (`estimate/distribution/answers.py`). A shape that
can do without the matrix of all covariances overrides `functional` and `spreads`; one that has a likelihood of shares
overrides `likelihood` and says so in `offers`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.declared import delegated
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.distribution.answers import answer
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.share_sums import CHECKED, ShareSums, kept_inside
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import (
    MOST_EXCESS,
    POOR_BELOW,
    Bounds,
    Contributions,
    Counted,
    Evidence,
    Flags,
    Floats,
    Functional,
    Offer,
    most_excess,
)
from sottovoce.estimate.mean.scores import ReportScores, ScoreMoments, excess
from sottovoce.estimate.of_distribution import OfDistribution
from sottovoce.estimate.request import IntervalRequest, Method, Target

if TYPE_CHECKING:
    import pandas as pd


EARLY = 1e-3  # change of the total log-likelihood, times e**epsilon, at which EM ends
MOST_TOGETHER = 1 << 11  # buckets, all covariances of whose shares are computed


class DistributionEstimate(Estimate, OfDistribution):
    """An estimate of the shares of the buckets of a distribution."""

    __slots__ = ()


class DistributionEvidence(Evidence):
    """Evidence about the shares of `buckets`."""

    noun: ClassVar[str] = "share"
    picture: ClassVar[str] = "estimate.distribution.picture:plot"
    estimate_class: ClassVar[type[Estimate]] = DistributionEstimate
    buckets: Buckets
    counted: Counted | None
    edges = delegated("buckets.edges")
    circular = delegated("buckets.circular")

    @property
    def methods(self) -> tuple[Method, ...]:
        return Method.NORMAL, Method.GUARDED

    @property
    def axes(self) -> Axes:
        return Axes.of("value", self.buckets.labels())

    @property
    def question(self) -> Question | None:
        return None if self.counted is None else self.counted.mechanism.question

    @property
    def distribution(self) -> DistributionEvidence:
        return self

    @property
    def limits(self) -> tuple[Any, Any]:
        return 0.0, 1.0

    @property
    def offers(self) -> frozenset[Offer]:
        return frozenset({Offer.ALL_SHARES, Offer.COVARIANCE, Offer.ORDER})

    def variances(self, target: Target) -> Floats:
        return np.maximum(np.diag(self.covariance(target)), 0)

    def fitted(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        """Functionals with their covariance where the shares are likely ones: what bands are made of.

        A band holds if the largest of many deviations stays within it. Errors that are themselves poorly known would
        make the largest one of them, in standard errors, larger than that of normal deviations.
        """
        return self.functional(weights, target)

    @property
    def channel(self) -> Channel:
        """The channel of the reports, where they are counts of outputs."""
        raise ParameterError(f"A {self.noun} from these reports is not that of one channel.")

    def likely_shares(self) -> Floats:
        """Shares that a likelihood finds, for errors."""
        raise ParameterError("Only counts of outputs tell which distributions are compatible with them.")

    def pooled(self, others: Sequence[Evidence], weights: Sequence[float] | None = None) -> DistributionEvidence:
        raise ParameterError("Distributions are combined from reports that are counted one by one, of no series.")

    def check_together(self, what: str) -> None:
        """Refuse what needs all covariances of too many buckets."""
        if len(self.buckets) > MOST_TOGETHER:
            raise TooLargeError(
                f"{what} over {len(self.buckets)} buckets needs too large a matrix; {MOST_TOGETHER} are possible."
                " Intervals of shares, cumulative shares and quantiles work for any number."
            )

    def spreads(self, weights: Floats, target: Target = Target.POPULATION) -> Floats:
        """The variances of functionals alone."""
        return np.maximum(np.diag(self.functional(weights, target).covariance), 0)

    def contributions_of(self, weights: Floats) -> Contributions | None:
        """How far one report can move linear functionals of the shares, if they are means of one number from each."""
        return None

    def reach_of(self, weights: Floats) -> float:
        """A bound on the range of the readings of one report, for these weights."""
        return math.inf

    def answer(self, question: Question) -> Evidence:
        return answer(self, question) or super().answer(question)

    def read_as_numbers(self, question: Question) -> Evidence | None:
        """The mean or variance of reports that are read as numbers, where that needs no buckets."""
        return None

    @property
    def curve_decoder(self) -> str:
        """The decoder of curves, such as pictures show: unbiased shares of many buckets are negative here and there."""
        return "simplex"

    @property
    def curve_methods(self) -> tuple[Method, ...]:
        """The methods of intervals of cumulative shares, ranges and quantiles, and of bands."""
        return self.methods

    @property
    def rises(self) -> bool:
        """Whether what is estimated is a distribution, so that its cumulative shares rise from 0 to 1."""
        return True

    @property
    def unevenness(self) -> str | None:
        """The warning about shares of buckets where they are right for evenly spread answers only; None elsewhere."""
        return None

    @property
    def early_stop(self) -> float | None:
        """EM ends early, as its authors propose: shares of largest likelihood are rougher than the truth."""
        if self.counted is None:
            return EARLY
        return EARLY * math.exp(self.counted.mechanism.epsilon)

    # --- sums of shares, and how well the normal law fits them ------------------------------------------
    def scores_of(self, rows: Floats) -> ReportScores | None:
        """Linear functionals as means of one score from each report, if they are and there is room for them."""
        return None

    def limits_of(self, rows: Floats) -> tuple[Floats, Floats]:
        """Between which numbers linear functionals of any distribution lie."""
        return rows.min(axis=1), rows.max(axis=1)

    def moments_of(self, sums: ShareSums, target: Target) -> ScoreMoments | None:
        """The moments of the error of one report for sums of shares."""
        return None if sums.scores is None else sums.scores.moments()

    def excess_of(self, sums: ShareSums, level: float, target: Target | None) -> Floats:
        """How many times as often as promised normal intervals may miss; without a target, the worse of both."""
        if not len(sums.rows):
            return np.ones(0)
        if self.n < POOR_BELOW:
            return np.full(len(sums.rows), np.inf)
        moments = [sums.moments(one) for one in ((target,) if target else (Target.POPULATION, Target.SAMPLE))]
        known = [excess(one, self.n, level) for one in moments if one is not None]
        return np.max(known, axis=0) if known else np.ones(len(sums.rows))

    def few(self) -> str | None:
        """The warning about so few reports that no approximation is trusted."""
        return f"The normal interval is poor for {self.n} reports." if self.n < POOR_BELOW else None

    @property
    def is_small(self) -> bool:
        """Whether the scores of all buckets are held at once."""
        return len(self.buckets) <= MOST_TOGETHER

    @cached_property
    def checked(self) -> ShareSums:
        """The shares of all buckets, or of some of them where they are many."""
        places = np.arange(len(self.buckets))
        if not self.is_small:
            places = np.unique(np.linspace(0, len(places) - 1, CHECKED).astype(int))
        rows = np.zeros((len(places), len(self.buckets)))
        rows[np.arange(len(places)), places] = 1
        return ShareSums(self, rows)

    # --- intervals ---------------------------------------------------------------------------------
    @property
    def default(self) -> Method:
        return self.checked.default

    def inside(self, request: IntervalRequest) -> Bounds:
        return kept_inside(self.interval(request), self.limits)

    def interval(self, request: IntervalRequest) -> Bounds:
        bounds, guards = self.normal(request), request.method == Method.GUARDED and self.is_small
        return self.checked.guarded(bounds, request.level, request.target) if guards else bounds

    def normal_is_poor(self) -> Flags:
        poor = ~(self.checked.excess(0.95) <= most_excess(0.95))
        return poor if self.is_small else np.full(len(self.buckets), bool(poor.any()))

    def warning(self) -> str | None:
        return self.checked.doubt(0.95, most_excess(0.95))

    def doubt(self, request: IntervalRequest, most: float = MOST_EXCESS) -> str | None:
        return self.checked.doubt(request.level, most, request.method if self.is_small else Method.NORMAL)

    # --- showing -----------------------------------------------------------------------------------
    def sentence(self, estimate: Estimate, level: float) -> str:
        return (
            f"The estimates of the shares of {len(self.buckets)} buckets are {estimate.quality}; the standard error of"
            f" an unbiased share is about {np.median(estimate.std_errors):.2g}."
        )

    def framed(self, table: pd.DataFrame) -> pd.DataFrame:
        table.insert(1, "from", self.edges[:-1])
        table.insert(2, "to", self.edges[1:])
        return table
