"""Shares of buckets from a count of each output, through the law of the channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.declared import delegated
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import Question
from sottovoce.estimate.distribution.base import EARLY, DistributionEvidence
from sottovoce.estimate.distribution.buckets import Buckets
from sottovoce.estimate.distribution.combine import least_variance
from sottovoce.estimate.distribution.iterate import iterate
from sottovoce.estimate.distribution.moments import from_waves
from sottovoce.estimate.distribution.readings.decode import linear_decode
from sottovoce.estimate.distribution.readings.transition import Transition, WaveTransition
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.evidence import Contributions, Counted, Evidence, Floats, Functional, Ints, Offer
from sottovoce.estimate.frequency.mixture import Mixture
from sottovoce.estimate.mean.scores import MOST_SCORES, ReportScores, ScoreMoments
from sottovoce.estimate.reading import OutputReading
from sottovoce.estimate.request import Method, Target

MOST_COMPATIBLE = 256  # buckets
MORE = 4  # reports that are added for errors: about the square of the normal quantile of 95 %
MOST_UPDATES = 100  # of EM, for the errors of bands


@dataclass(frozen=True, eq=False)
class OutputsEvidence(DistributionEvidence):
    """`cells` counts the outputs of n reports, whose law given the bucket is `transition`.

    A functional is the mean of a score of the outputs. The scores are those of least variance if all buckets are
    equally common, among all that are unbiased for every distribution over the buckets.
    """

    pools: ClassVar[bool] = True  # whether shares of several tallies can be combined
    curve_decoder: ClassVar[str] = "bayes"
    buckets: Buckets
    n: int
    cells: Ints
    transition: Transition
    counted: Counted
    channel = delegated("counted.mechanism.channel")
    reach_of = delegated("decode.reach")

    @cached_property
    def decode(self) -> OutputReading:
        """The scores of the outputs."""
        return linear_decode(self.channel, len(self.buckets))

    def pooled(self, others: Sequence[Evidence], weights: Sequence[float] | None = None) -> DistributionEvidence:
        parts = tuple(one for one in (self, *others) if isinstance(one, OutputsEvidence) and one.pools)
        if len(parts) <= len(others):
            return DistributionEvidence.pooled(self, others)
        if weights is not None:
            raise ParameterError("Distributions are combined with weights of least variance only.")
        return least_variance(parts)

    @cached_property
    def _shares(self) -> Floats:
        return self.decode.values(self.cells / self.n)

    def values(self) -> Floats:
        return self._shares.copy()

    @cached_property
    def rates(self) -> Floats:
        """The rates of the outputs that errors are computed for: with a few more reports, from equally common buckets.

        Where all reports say the same of a share, as with a large epsilon, their own rates would promise certainty.
        """
        return np.asarray((self.cells + MORE * self.transition.uniform) / (self.n + MORE))

    def variances(self, target: Target) -> Floats:
        return np.maximum(self.decode.variances(self.rates, target), 0) / self.n

    def covariance(self, target: Target) -> Floats:
        self.check_together("The covariance")
        return self.functional(np.eye(len(self.buckets)), target).covariance

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        rows = np.atleast_2d(weights)
        return Functional(rows @ self.values(), self.decode.covariance(rows, self.rates, target) / self.n)

    def fitted(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        """From counts themselves, an error would be known as poorly as the few outputs that it depends on; the rates of
        all outputs together follow from the shares of EM.
        """
        rows, d = np.atleast_2d(weights), len(self.buckets)
        shares = (self.n * self.likely_shares() + MORE / d) / (self.n + MORE)
        spread = self.decode.covariance(rows, self.transition.forward(shares), target, shares)
        return Functional(rows @ self.values(), spread / self.n)

    def likely_shares(self) -> Floats:
        return self._likely

    @cached_property
    def _likely(self) -> Floats:
        stop = self.early_stop or EARLY
        return iterate(self.likelihood(), stop=stop, smooth=False, max_iterations=MOST_UPDATES)[0]

    def spreads(self, weights: Floats, target: Target = Target.POPULATION) -> Floats:
        return self.decode.spreads(weights, self.rates, target) / self.n

    @property
    def is_small(self) -> bool:
        return len(self.buckets) * len(self.cells) <= MOST_SCORES

    def scores_of(self, rows: Floats) -> ReportScores | None:
        if len(rows) * len(self.cells) > MOST_SCORES:
            return None
        return ReportScores(self.decode.scores(rows), self.cells.astype(np.float64), self.rates, self.n)

    def moments_of(self, sums: ShareSums, target: Target) -> ScoreMoments | None:
        if sums.scores is None:
            return None
        if target == Target.POPULATION or not self.is_small:
            return sums.scores.moments()
        return sums.scores.noise(sums.rows, self.transition.matrix, self.decode.values(self.rates))

    def read_as_numbers(self, question: Question) -> Evidence | None:
        return from_waves(self, question)

    def contributions(self) -> Contributions:
        self.check_together("The effect of single reports")
        return self.contributions_of(np.eye(len(self.buckets)))

    def contributions_of(self, weights: Floats) -> Contributions:
        """An output is read as its score."""
        return self.decode.contributions(weights, self.n)

    @property
    def curve_methods(self) -> tuple[Method, ...]:
        wave = isinstance(self.transition, WaveTransition) and not self.circular
        return (*self.methods, Method.COMPATIBLE) if wave and 1 < len(self.buckets) <= MOST_COMPATIBLE else self.methods

    @property
    def unevenness(self) -> str | None:
        if self.buckets.step is not None or rounding_of(self.channel) is None:
            return None
        return (
            "This interval is right where answers are spread evenly inside each bucket. If many people may share a"
            " number, ask through a mechanism that puts answers into buckets first, such as square-wave-discrete."
        )

    @property
    def offers(self) -> frozenset[Offer]:
        return super().offers | {Offer.LIKELIHOOD}

    def likelihood(self) -> Mixture:
        return self.transition.likelihood(self.cells.astype(np.float64))


@dataclass(frozen=True, eq=False)
class ApproximateEvidence(OutputsEvidence):
    """Counts of outputs of which some, with a probability up to delta, come from a few buckets only.

    An output of few buckets is rare and tells much, so unbiased shares use it, and most counts have none of it. So
    errors are those of a law that is fitted to all counts.
    """

    @cached_property
    def rates(self) -> Floats:
        return self.transition.forward(self.likely_shares())
