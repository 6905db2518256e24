"""Shares of bins from sums of noisy histograms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.declared import delegated
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.evidence import Counted, Floats, Ints
from sottovoce.estimate.frequency.sums import bins
from sottovoce.estimate.mean.scores import ScoreMoments
from sottovoce.estimate.request import Target


@dataclass(frozen=True, eq=False)
class SumsDistribution(DistributionEvidence):
    """`cells` are sums over n reports, one for each bin.

    The noise of all bins is alike and independent, so the unbiased shares of least variance are the shares of single
    bins, less an equal part of what their sum exceeds one by.
    """

    buckets: Buckets
    n: int
    cells: Ints
    counted: Counted
    channel = delegated("counted.mechanism.channel")

    def values(self) -> Floats:
        shares = bins(self.channel).values(self.cells / self.n)
        return np.asarray(shares - (shares.sum() - 1) / len(shares))

    def covariance(self, target: Target) -> Floats:
        return share_covariance(self.channel, self.values(), target) / self.n

    def moments_of(self, sums: ShareSums, target: Target) -> ScoreMoments | None:
        """Noise is symmetric, and its moments are at most those of Laplace noise."""
        rows, shares = sums.rows, simplex(self.values())
        noise = np.diag(rows @ share_covariance(self.channel, shares, Target.SAMPLE) @ rows.T)
        if target == Target.SAMPLE:
            return ScoreMoments(noise, np.zeros(len(rows)), 6 * noise**2, 90 * noise**3)
        away = rows - (rows @ shares)[:, None]
        second, third, fourth, sixth = (away**power @ shares for power in (2, 3, 4, 6))
        both = 15 * (noise * fourth + 6 * noise**2 * second)
        return ScoreMoments(
            noise + second, third, 6 * noise**2 + 6 * noise * second + fourth, 90 * noise**3 + both + sixth
        )

    def reach_of(self, weights: Floats) -> float:
        centred = weights - weights.mean()
        return float(np.abs(centred).sum() * bins(self.channel).most / bins(self.channel).slope)


def share_covariance(channel: Channel, shares: Floats, target: Target) -> Floats:
    """n times the covariance of the unbiased shares, where these are the true ones."""
    noise = np.diag(bins(channel).at(shares, Target.SAMPLE))
    centred = noise - noise.mean(axis=0) - noise.mean(axis=1)[:, None] + noise.mean()
    if target == Target.SAMPLE:
        return np.asarray(centred)
    return np.asarray(centred + np.diag(shares) - np.outer(shares, shares))
