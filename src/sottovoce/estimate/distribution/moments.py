"""Mean and variance of numbers from the reports of a wave, without buckets.

The mean report of a window is exactly linear in the number, and its mean square exactly quadratic. So a report is read
as a number and as a square whose means are those of the answers, however these lie inside a bucket. Shares of buckets
give about five percent less variance, but only where answers are spread evenly inside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sottovoce.core.channel import Window
from sottovoce.core.channel.facets import outputs_of, readings, rounding_of, scales_of
from sottovoce.core.channel.shapes import after_rounding
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Mean, Question, Variance
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.mean.evidence import MeanEvidence, from_cells
from sottovoce.estimate.mean.moments import profile
from sottovoce.estimate.variance.spread import VarianceEvidence, from_readings

if TYPE_CHECKING:
    from sottovoce.estimate.distribution.outputs import OutputsEvidence


def from_waves(evidence: OutputsEvidence, question: Question) -> MeanEvidence | VarianceEvidence | None:
    """The mean or variance from the readings of reports; None where they are not those of a rounded number's wave."""
    own = evidence.counted.mechanism
    if evidence.buckets.domain.numbers is None or not isinstance(after_rounding(own.channel), Window):
        return None
    twin = Mechanism(own.name, Mean(question.domain), own.channel, own.claimed, own.statistic)
    mean = from_cells(twin, evidence.n, evidence.cells)
    return mean if isinstance(question, Mean) else _variance(evidence, mean, question)


def square_readings(mechanism: Mechanism, centre: float) -> tuple[Floats, Floats]:
    """Each report as a distance from the centre, and as a squared distance; both without bias at points of the grid.

    With R the reading of a number x, E[R**2] = x**2 + v(x), where the variance v is a parabola a + b x + c x**2 about
    the centre; so (R**2 - a - b R) / (1 + c) has the mean x**2. Rounding to a grid adds at most a quarter of the square
    of its step.
    """
    channel, grid = mechanism.channel, rounding_of(mechanism.channel)
    scales, known = scales_of(channel), profile(channel)
    if grid is None or scales is None:
        raise ParameterError("Reports of this mechanism are not read as numbers: ask for a distribution.")
    number = np.array([float(one) for one in readings(scales, outputs_of(channel) or 0)]) - centre
    half, last = grid.steps // 2, grid.steps // 2 * 2
    reach = float(grid.step) * half
    low, middle, high = (float(known.variances[place]) for place in (0, half, last))
    away = float(grid.low) + reach - centre  # of the middle of the parabola, which is that of the range
    slope, bend = (high - low) / (2 * reach), (high + low - 2 * middle) / (2 * reach**2)
    level = middle - slope * away + bend * away**2
    return number, (number**2 - level - (slope - 2 * bend * away) * number) / (1 + bend)


def _variance(evidence: OutputsEvidence, mean: MeanEvidence, question: Question) -> VarianceEvidence:
    rates, centre = evidence.cells / evidence.n, mean.centre
    scores = np.array(square_readings(evidence.counted.mechanism, centre))
    values, second = scores @ rates, (scores * rates) @ scores.T

    def noise() -> Floats:
        powers = [evidence.buckets.powers(centre, power) @ evidence.values() for power in (2, 3, 4)]
        return np.asarray(second - np.array([powers[:2], powers[1:]]))

    return from_readings(
        *(evidence.n, mean.ends, values, second - np.outer(values, values), noise),
        reach=[float(np.ptp(row)) for row in scores],
        lowest=[start + float(row.min()) for start, row in zip((centre, 0.0), scores, strict=True)],
        poor=mean.poor,
        question=Variance(question.domain),
        mean=mean,
    )
