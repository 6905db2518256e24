"""One mean from two rounds; the first determines the mechanism of the second."""

from __future__ import annotations

import numpy as np

from sottovoce.estimate.combine import together
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Floats
from sottovoce.estimate.mean.combine import CombinedMeanEvidence
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.mean.noise import average_noise
from sottovoce.estimate.mean.single import hoeffding
from sottovoce.estimate.request import IntervalRequest, Target

MUCH = 0.25  # of the variance of a mean: one round's part, which must then be well known


class SequentialMeanEvidence(CombinedMeanEvidence):
    """Two means and their weights, which are known once the first round is over.

    Given the first round the second mean is unbiased and its weight a constant, so all bias comes from the correlation
    of the first weight with the first mean. It is of the order 1 / n, with a standard error of the order 1 / sqrt(n).
    The Hoeffding interval holds for any such weights: both means are near the truth at once.
    """

    __slots__ = ()

    @property
    def _excess(self) -> float:
        """How much more the first round weighs than the participants in it; for the sample mean that is an error."""
        first, _ = self.parts
        return float(self.weights[0]) - first.n / self.n

    def variances(self, target: Target) -> Floats:
        """For the sample, the choice of who is asked first adds variance: rounds are not weighted by participants."""
        if target == Target.POPULATION:
            return CombinedMeanEvidence.variances(self, target)
        noise = sum(w**2 * average_noise(part) / part.n for w, part in zip(self.weights, self.parts, strict=True))
        spread = min(part.spread - float(part.grid.variances.min()) for part in self.parts)
        low, high = self.limits
        answers = min(max(spread, 0.0), (high - low) ** 2 / 4)
        first, second = self.parts
        return np.array([noise + self._excess**2 * answers * (1 / first.n + 1 / second.n)])

    def other_interval(self, request: IntervalRequest) -> Bounds:
        first, second = self.parts
        events = 2 if request.target == Target.POPULATION else 3
        level = 1 - (1 - request.level) / events
        half = sum(w * hoeffding(part.reach, part.n, level) for w, part in zip(self.weights, self.parts, strict=True))
        if request.target == Target.SAMPLE:
            # Mean answers of the rounds differ by n / n_2 times the first one's distance from all; drawing without
            # replacement keeps Hoeffding's bound.
            low, high = self.limits
            half += abs(self._excess) * self.n / second.n * hoeffding(high - low, first.n, level)
        return Bounds(self.values() - half, self.values() + half)

    def _poor_rounds(self) -> list[MeanEvidence]:
        """Rounds whose own variance is poorly known and which contribute much to that of the mean."""
        contributions = self.weights**2 * self._variances(Target.POPULATION)
        much = contributions > MUCH * contributions.sum()
        return [part for part, makes in zip(self.parts, much, strict=True) if makes and part.poor]

    @property
    def poor(self) -> bool:
        return bool(self._poor_rounds())

    def warning(self) -> str | None:
        if not self.poor:
            return None
        few = self._poor_rounds()[0].n
        return (
            f"The normal interval is poor for these rounds: {few} reports are too few to know their own variance."
            " The Hoeffding interval holds."
        )


def weights_of(participants: tuple[int, int], variances: tuple[float, float]) -> tuple[float, float]:
    """Inverse variances of two means, as shares."""
    first, second = (n / variance for n, variance in zip(participants, variances, strict=True))
    return first / (first + second), second / (first + second)


def two_rounds(first: Estimate, second: Estimate, variances: tuple[float, float]) -> Estimate:
    """The mean of both rounds, weighted by participants over the variance of one report predicted for each round."""
    rounds = first, second
    parts = tuple(mean.evidence for mean in rounds if isinstance(mean.evidence, MeanEvidence))
    return together(SequentialMeanEvidence(parts, np.array(weights_of((first.n, second.n), variances))), rounds)
