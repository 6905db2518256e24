"""Truncated series: reports that tell the means of a few functions of the answer, and nothing else.

They determine the projection of the distribution onto constants and these functions. All values, errors and intervals
are those of the projection: what the distribution has beside it is not in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Mix, Table
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import Question
from sottovoce.estimate.distribution.circle.direction import DirectionAnswer
from sottovoce.estimate.distribution.linear_answers import DensityAnswer, LinearAnswer
from sottovoce.estimate.distribution.outputs import OutputsEvidence
from sottovoce.estimate.distribution.transition import Transition
from sottovoce.estimate.evidence import Evidence, Functional
from sottovoce.estimate.mean.scores import ScoreMoments
from sottovoce.estimate.reading import MatrixReading

Floats = NDArray[np.float64]
_LEAST = 1e-9  # of the length of a function, that must lie outside the functions before it


def functions_of(channel: Channel) -> tuple[Table, ...]:
    """The tables of two reports each, one of which a participant answers through; none for any other channel."""
    tables = channel.channels if isinstance(channel, Mix) else (channel,)
    found = tuple(one for one in tables if isinstance(one, Table) and one.outputs == 2)
    return found if len(found) == len(tables) else ()


def is_projection(channel: Channel) -> bool:
    """Whether reports tell fewer functions than there are shares."""
    return 0 < len(functions_of(channel)) < channel.inputs - 1


class ProjectedDecode(MatrixReading):
    """Scores of least variance for equal shares, among those that are unbiased for the projection."""

    def __init__(self, channel: Channel, transition: Transition) -> None:
        tables = functions_of(channel)
        heights = np.array([[row[1] for row in table.rows] for table in tables], float).T
        heights = (heights - heights.mean(axis=0)) / np.ptp(heights, axis=0)
        basis, lengths = np.linalg.qr(np.column_stack([np.ones(len(heights)), heights]))
        if np.abs(np.diag(lengths)).min() < _LEAST * np.abs(lengths).max():
            raise ParameterError("The functions of these reports depend on each other.")
        law = transition.matrix @ basis
        scaled = law.T / transition.matrix.mean(axis=1)
        self.projection: Floats = basis @ basis.T
        self.matrix = basis @ np.linalg.solve(scaled @ law, scaled)

    def between(self, shares: Floats) -> Floats:
        return np.asarray(self.projection**2 @ shares)


@dataclass(frozen=True, slots=True, eq=False)
class SeriesEvidence(OutputsEvidence):
    """Counts of the signs of a few functions.

    Which part of the variance lies between the answers of these participants is not known from a few functions, so
    errors for them are those for the population, which are larger by at most one part in the variance of a sign.
    """

    pools: ClassVar[bool] = False

    @property
    def projection(self) -> Floats:
        """The matrix that takes the shares of all buckets to those that are estimated."""
        decode = self.decode
        if not isinstance(decode, ProjectedDecode):
            raise TypeError("A truncated series is decoded by its projection.")
        return decode.projection

    @property
    def quality(self) -> str:  # type: ignore[override]
        waves = len(functions_of(self.counted.mechanism.channel))
        return f"unbiased for the projection of the distribution onto the {waves} functions that were asked about"

    @property
    def limits(self) -> tuple[Floats, Floats]:  # type: ignore[override]
        """A projection of shares may be negative."""
        return self.projection.min(axis=1), self.projection.max(axis=1)

    @property
    def rises(self) -> bool:
        return False

    def variances(self, target: str) -> Floats:
        return OutputsEvidence.variances(self, "population")

    def functional(self, weights: Floats, target: str = "population") -> Functional:
        return OutputsEvidence.functional(self, weights, "population")

    def fitted(self, weights: Floats, target: str = "population") -> Functional:
        """Each function has a large part of all reports, so errors are well known from the counts."""
        return self.functional(weights)

    def spreads(self, weights: Floats, target: str = "population") -> Floats:
        return OutputsEvidence.spreads(self, weights, "population")

    def limits_of(self, weights: Floats) -> tuple[Floats, Floats]:
        projected = weights @ self.projection
        return projected.min(axis=1), projected.max(axis=1)

    def moments_of(self, weights: Floats, target: str) -> ScoreMoments | None:
        return OutputsEvidence.moments_of(self, weights, "population")

    def answer(self, question: Question) -> Evidence:
        found = OutputsEvidence.answer(self, question)
        if not isinstance(found, (SeriesEvidence, LinearAnswer, DensityAnswer, DirectionAnswer)):
            raise ParameterError(
                f"A truncated series tells shares, cumulative shares, ranges, densities and means of its projection; a"
                f" {question.noun} is that of a distribution, which a projection need not be."
            )
        return found
