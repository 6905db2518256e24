"""Truncated series: reports that tell the means of a few functions of the answer, and nothing else.

The coefficients determine the projection of the distribution onto constants and these functions. All values, errors and
intervals are those of the projection: what the distribution has beside it is not in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.errors import ParameterError
from sottovoce.core.question import Question
from sottovoce.estimate.distribution.circle.direction import DirectionAnswer
from sottovoce.estimate.distribution.linear_answers import DensityAnswer, LinearAnswer
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce.estimate.distribution.readings.linear import ProjectedDecode, functions_of
from sottovoce.estimate.distribution.share_sums import ShareSums
from sottovoce.estimate.evidence import Evidence, Floats, Functional
from sottovoce.estimate.mean.scores import ScoreMoments
from sottovoce.estimate.request import Target


@dataclass(frozen=True, eq=False)
class SeriesEvidence(OutputsEvidence):
    """Counts of the signs of a few functions.

    Which part of the variance lies between the answers of these participants is not known from a few functions, so
    errors for them are those for the population, which are larger by at most one part in the variance of a sign.
    """

    pools: ClassVar[bool] = False
    rises: ClassVar[bool] = False

    @property
    def projection(self) -> Floats:
        """The matrix that takes the shares of all buckets to those that are estimated."""
        decode = self.decode
        if not isinstance(decode, ProjectedDecode):
            raise TypeError("A truncated series is decoded by its projection.")
        return decode.projection

    @property
    def quality(self) -> str:
        waves = len(functions_of(self.counted.mechanism.channel))
        return f"unbiased for the projection of the distribution onto the {waves} functions that were asked about"

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """A projection of shares may be negative."""
        return self.projection.min(axis=1), self.projection.max(axis=1)

    def variances(self, target: Target) -> Floats:
        return OutputsEvidence.variances(self, Target.POPULATION)

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        return OutputsEvidence.functional(self, weights, Target.POPULATION)

    def fitted(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        """Each function has a large part of all reports, so errors are well known from the counts."""
        return self.functional(weights)

    def spreads(self, weights: Floats, target: Target = Target.POPULATION) -> Floats:
        return OutputsEvidence.spreads(self, weights, Target.POPULATION)

    def limits_of(self, rows: Floats) -> tuple[Floats, Floats]:
        projected = rows @ self.projection
        return projected.min(axis=1), projected.max(axis=1)

    def moments_of(self, sums: ShareSums, target: Target) -> ScoreMoments | None:
        return OutputsEvidence.moments_of(self, sums, Target.POPULATION)

    def answer(self, question: Question) -> Evidence:
        evidence = OutputsEvidence.answer(self, question)
        if not isinstance(evidence, (SeriesEvidence, LinearAnswer, DensityAnswer, DirectionAnswer)):
            raise ParameterError(
                f"A truncated series tells shares, cumulative shares, ranges, densities and means of its projection; a"
                f" {question.noun} is that of a distribution, which a projection need not be."
            )
        return evidence
