"""Shares of buckets from a count of each output, through the law of the channel."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.distribution.base import DistributionEvidence, Functional
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.transition import BucketMixture, Transition, transition_of
from sottovoce.estimate.evidence import Counted, Offer

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class OutputsEvidence(DistributionEvidence):
    """`cells` counts the outputs of n reports, whose law given the bucket is `transition`.

    A functional is the mean of a score of the outputs. The scores are those of least variance if all buckets are
    equally common, among all that are unbiased for every distribution over the buckets.
    """

    buckets: Buckets
    n: int
    cells: Ints
    transition: Transition
    counted: Counted | None = None

    def scores(self, weights: Floats) -> Floats:
        """The score of each output, one row for each functional."""
        return np.asarray(np.atleast_2d(weights) @ linear_decoder(self._mechanism, len(self.buckets)))

    @property
    def _mechanism(self) -> Mechanism:
        if self.counted is None:
            raise ParameterError("Evidence about a distribution needs the tally that it was read from.")
        return self.counted.mechanism

    def values(self) -> Floats:
        return self.functional(np.eye(len(self.buckets))).values

    def covariance(self, target: str) -> Floats:
        return self.functional(np.eye(len(self.buckets)), target).covariance

    def functional(self, weights: Floats, target: str = "population") -> Functional:
        rows = np.atleast_2d(weights)
        scores, rates = self.scores(rows), self.cells / self.n
        values = scores @ rates
        second = (scores * rates) @ scores.T
        if target == "population":
            return Functional(values, (second - np.outer(values, values)) / self.n)
        # For these participants, the part of the spread that lies between their buckets is no error.
        held = (rows * self.values()) @ rows.T if len(rows) < len(self.buckets) else rows @ np.diag(values) @ rows.T
        return Functional(values, (second - held) / self.n)

    def reach_of(self, weights: Floats) -> float:
        return float(np.ptp(self.scores(weights)))

    @property
    def offers(self) -> frozenset[Offer]:
        return frozenset({*DistributionEvidence.offers.fget(self), Offer.LIKELIHOOD})  # type: ignore[attr-defined]

    def likelihood(self) -> BucketMixture:
        return BucketMixture(self.transition, self.cells.astype(np.float64))


def linear_decoder(mechanism: Mechanism, buckets: int) -> Floats:
    """The unbiased linear estimate of least variance for equally common buckets: one row for each bucket."""
    return _decoder(mechanism.channel, buckets)


@lru_cache(maxsize=16)
def _decoder(channel: Hashable, buckets: int) -> Floats:
    matrix = transition_of(channel, buckets).matrix  # type: ignore[arg-type]
    weight = matrix.mean(axis=1)
    used = weight > 0
    scaled = matrix[used].T / weight[used]
    gram = scaled @ matrix[used]
    if np.linalg.cond(gram) > 1e13:
        raise ParameterError(
            f"These reports do not determine the shares of {buckets} buckets: the law of a report is the same for some"
            " of their combinations."
        )
    found = np.zeros((buckets, len(matrix)))
    found[:, used] = np.linalg.solve(gram, scaled)
    found.setflags(write=False)
    return found
