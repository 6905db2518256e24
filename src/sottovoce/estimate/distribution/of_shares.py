"""A distribution from evidence about the shares of single values, by any frequency oracle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.declared import delegated
from sottovoce.core.question import Question
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets, coded_buckets
from sottovoce.estimate.distribution.outputs import MORE
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.evidence import Counted, Floats, Offer
from sottovoce.estimate.frequency.base import SharesEvidence
from sottovoce.estimate.frequency.laws import left_inverse, output_law
from sottovoce.estimate.frequency.matrix import MatrixEvidence
from sottovoce.estimate.mean.scores import ReportScores, ScoreMoments
from sottovoce.estimate.request import IntervalRequest, Method, Target

MOST_LISTED = 256  # values, the law of whose reports is written down


class CountedLaw(NamedTuple):
    """The law of the outputs, one column for each value, and the matrix from their rates to unbiased shares."""

    law: Floats
    inverse: Floats


@lru_cache(maxsize=8)
def _counted_law(channel: Channel) -> CountedLaw:
    return CountedLaw(output_law(channel).T, left_inverse(channel))


@dataclass(frozen=True, eq=False)
class SharesDistribution(DistributionEvidence):
    """Each value is a bucket."""

    buckets: Buckets
    shares: SharesEvidence
    asked: Question
    counted: Counted | None = None
    n = delegated("shares.n")
    question = delegated("asked")
    values = delegated("shares.values")
    covariance = delegated("shares.covariance")
    interval = delegated("shares.interval")
    inside = delegated("shares.inside")
    doubt = delegated("shares.doubt")
    reach_of = delegated("shares.reach_of")
    likelihood = delegated("shares.likelihood")

    @property
    def methods(self) -> tuple[Method, ...]:
        """Intervals of single values are those of the frequency oracle; a general table has none but the normal one."""
        return (Method.NORMAL,) if isinstance(self.shares, MatrixEvidence) else self.shares.methods

    @property
    def default(self) -> Method:
        return self.methods[0]

    @property
    def curve_methods(self) -> tuple[Method, ...]:
        return super().methods

    def scores_of(self, rows: Floats) -> ReportScores | None:
        """Where the reports are counted one by one, as by randomized response."""
        known = self._law
        if known is None or self.counted is None:
            return None
        more = MORE * known.law.mean(axis=1)
        likely = (self.counted.cells + more) / (self.n + MORE)
        return ReportScores(rows @ known.inverse, self.counted.cells.astype(np.float64), likely, self.n)

    def moments_of(self, sums: ShareSums, target: Target) -> ScoreMoments | None:
        known, scores = self._law, sums.scores
        if scores is None or known is None or target == Target.POPULATION:
            return DistributionEvidence.moments_of(self, sums, target)
        return scores.noise(sums.rows, known.law, known.inverse @ scores.rates)

    @cached_property
    def _law(self) -> CountedLaw | None:
        own = self.counted
        if own is None or Offer.OUTPUT_TALLIES not in self.shares.offers or len(self.buckets) > MOST_LISTED:
            return None
        law = _counted_law(own.mechanism.channel)
        return law if np.allclose(law.inverse @ own.cells, self.n * self.values()) else None

    def excess_of(self, sums: ShareSums, level: float, target: Target | None) -> Floats:
        """Without a law of single reports, as often as for the worst of the single values that a sum is made of."""
        if self._law is not None:
            return DistributionEvidence.excess_of(self, sums, level, target)
        single = self.shares.excess(IntervalRequest(level, Method.NORMAL))
        return np.array([single[row != 0].max(initial=1.0) for row in sums.rows])

    @property
    def offers(self) -> frozenset[Offer]:
        return super().offers | ({Offer.LIKELIHOOD} & self.shares.offers)


def of_shares(shares: SharesEvidence, question: Question) -> SharesDistribution | None:
    """The distribution over the values that a frequency oracle counted, if it counted those of the domain."""
    own = shares.counted
    if own is None or own.codes is not None or own.mechanism.question.domain != question.domain:
        return None
    return SharesDistribution(coded_buckets(own.mechanism.domain), shares, question, own)
