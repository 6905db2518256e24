"""A distribution from evidence about the shares of single values, by any frequency oracle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.question import Question
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets, coded_buckets
from sottovoce.estimate.evidence import Counted, Offer
from sottovoce.estimate.shares.base import SharesEvidence
from sottovoce.estimate.shares.mixture import Mixture

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SharesDistribution(DistributionEvidence):
    """Each value is a bucket."""

    buckets: Buckets
    shares: SharesEvidence
    asked: Question
    counted: Counted | None = None

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.shares.n

    @property
    def question(self) -> Question:  # type: ignore[override]
        return self.asked

    def values(self) -> Floats:
        return self.shares.values()

    def covariance(self, target: str) -> Floats:
        return self.shares.covariance(target)

    def reach_of(self, weights: Floats) -> float:
        return self.shares.reach_of(weights)

    @property
    def offers(self) -> frozenset[Offer]:
        own: frozenset[Offer] = DistributionEvidence.offers.fget(self)  # type: ignore[attr-defined]
        return own | ({Offer.LIKELIHOOD} & self.shares.offers)

    def likelihood(self) -> Mixture:
        return self.shares.likelihood()


def of_shares(found: SharesEvidence, question: Question) -> SharesDistribution | None:
    """The distribution over the values that a frequency oracle counted, if it counted those of the domain."""
    own = found.counted
    if own is None or own.codes is not None or own.mechanism.question.domain != question.domain:
        return None
    return SharesDistribution(coded_buckets(own.mechanism.domain), found, question, own)
