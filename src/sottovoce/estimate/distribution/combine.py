"""A distribution from several tallies: of other days, other budgets, or other waves for other participants."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.evidence import Floats, Functional, Offer
from sottovoce.estimate.frequency.mixture import Mixture, Product
from sottovoce.estimate.mean.scores import ReportScores, ScoreMoments
from sottovoce.estimate.parts import OfParts
from sottovoce.estimate.request import Target

if TYPE_CHECKING:
    from sottovoce.estimate.distribution.outputs import OutputsEvidence

MOST_BUCKETS = 1 << 11  # whose weights are matrices


@dataclass(frozen=True, slots=True, eq=False)
class CombinedDistribution(OfParts, DistributionEvidence):
    """Independent shares of the same buckets. Each part has a matrix of weights; these sum to one over the parts.

    A part may know the slow waves of a distribution well and another one the quick ones, so a share of one part counts
    for its neighbours too. The weights do not depend on the reports, so the shares are unbiased if all parts are about
    the same population. With target "sample" they are about the shares of the parts' participants, weighted alike.
    """

    curve_decoder: ClassVar[str] = "bayes"

    buckets: Buckets
    parts: tuple[OutputsEvidence, ...]
    weights: tuple[Floats, ...]
    counted: None = None

    @property
    def offers(self) -> frozenset[Offer]:
        return frozenset.intersection(*(part.offers for part in self.parts)) - {Offer.LEVELS}

    def _sum(self, read: Callable[[OutputsEvidence, Floats], Any], rows: Floats) -> Any:
        """Functionals of all parts; each part is asked for its own."""
        return sum(read(part, rows @ own) for part, own in zip(self.parts, self.weights, strict=True))

    def values(self) -> Floats:
        return np.asarray(self._sum(lambda part, rows: rows @ part.values(), np.eye(len(self.buckets))))

    def covariance(self, target: Target) -> Floats:
        return self.functional(np.eye(len(self.buckets)), target).covariance

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        rows = np.atleast_2d(weights)
        spread = self._sum(lambda part, own: part.functional(own, target).covariance, rows)
        return Functional(rows @ self.values(), spread)

    def fitted(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        rows = np.atleast_2d(weights)
        return Functional(rows @ self.values(), self._sum(lambda part, own: part.fitted(own, target).covariance, rows))

    def spreads(self, weights: Floats, target: Target = Target.POPULATION) -> Floats:
        return np.asarray(self._sum(lambda part, own: part.spreads(own, target), np.atleast_2d(weights)))

    def reach_of(self, weights: Floats) -> float:
        """Reach of all reports: reach**2 / n is the sum of the squared ranges of the parts, over their reports."""
        return math.sqrt(self.n * self._sum(lambda part, own: part.reach_of(own) ** 2 / part.n, weights))

    @property
    def is_small(self) -> bool:
        return all(part.is_small for part in self.parts)

    def scores_of(self, rows: Floats) -> ReportScores | None:
        """A report of one part counts n / (its reports) times, so that the mean over all is the sum of the parts'."""
        parts = [part.scores_of(rows @ own) for part, own in zip(self.parts, self.weights, strict=True)]
        known = [one for one in parts if one is not None]
        if len(known) < len(parts):
            return None
        numbers = np.hstack([self.n / one.n * one.numbers for one in known])
        rates = np.concatenate([one.n / self.n * one.rates for one in known])
        return ReportScores(numbers, np.concatenate([one.counts for one in known]), rates, self.n)

    def moments_of(self, sums: ShareSums, target: Target) -> ScoreMoments | None:
        """Cumulants of independent parts add up."""
        second, third, fourth, sixth = (np.zeros(len(sums.rows)) for _ in range(4))
        for part, own in zip(self.parts, self.weights, strict=True):
            moments = ShareSums(part, sums.rows @ own).moments(target)
            if moments is None:
                return None
            more = self.n / part.n
            second += more * moments.second
            third += more**2 * moments.third
            fourth += more**3 * (moments.fourth - 3 * moments.second**2)
            sixth += more**5 * moments.sixth  # without products of smaller moments: it tells an error only
        return ScoreMoments(second, third, fourth + 3 * second**2, sixth)

    @property
    def early_stop(self) -> float | None:
        return min(part.early_stop or math.inf for part in self.parts)

    def likelihood(self) -> Mixture:
        """Reports of different mechanisms are independent: their likelihoods multiply."""
        return Product([part.likelihood() for part in self.parts])


def least_variance(parts: tuple[OutputsEvidence, ...]) -> CombinedDistribution:
    """Shares of buckets of least variance if all buckets are equally common, from all tallies together."""
    for part in parts:
        _check_unbiased(part)
    buckets, d = parts[0].buckets, len(parts[0].buckets)
    if any(not np.array_equal(part.buckets.edges, buckets.edges) for part in parts):
        raise ParameterError(
            "Only distributions over the same buckets can be combined: ask all with the same 'buckets'."
        )
    if d > MOST_BUCKETS:
        raise TooLargeError(f"Tallies are combined in {MOST_BUCKETS} buckets at most; these have {d}.")
    precisions = [_precision(part) for part in parts]
    whole = np.linalg.inv(reduce(np.add, precisions))
    return CombinedDistribution(buckets, parts, tuple(whole @ own for own in precisions))


def _check_unbiased(part: OutputsEvidence) -> None:
    """Shares must be unbiased wherever answers lie inside a bucket."""
    if part.buckets.step is None and rounding_of(part.counted.mechanism.channel) is not None:
        raise ParameterError(
            "Distributions are combined of mechanisms that put answers into buckets first, such as"
            " square-wave-discrete, coded-wave and designed-distribution."
        )


def _precision(part: OutputsEvidence) -> Floats:
    """The inverse of the mean products of the scores, if all buckets are equally common, times the reports.

    The sum of the shares is known, so that products in place of covariances give the same weights.
    """
    d = len(part.buckets)
    products = part.decode.products(np.eye(d), part.transition.uniform)
    return np.asarray(part.n * np.linalg.inv(products), np.float64)
