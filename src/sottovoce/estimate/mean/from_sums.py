"""The mean of a number from a tally with sums and squares of reports instead of a count of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Question
from sottovoce.estimate.evidence import POOR_BELOW
from sottovoce.estimate.mean.moments import Profile, numbers_of, profile
from sottovoce.estimate.mean.readings import ReadSums, scale_of, sums_of_powers
from sottovoce.estimate.mean.single import ReadMean


@dataclass(frozen=True, slots=True, eq=False)
class SummedMeanEvidence(ReadMean):
    """Number, mean and variance of the readings. Betting intervals need single reports, so there are none."""

    sums: ReadSums
    ends: tuple[float, float]
    reached: tuple[float, float]
    origin: float
    grid: Profile
    question: Question | None = None

    @property
    def few(self) -> bool:
        """The kurtosis is unknown, so the largest one that the variance and the range of readings allow is taken."""
        farthest = max(abs(end - float(self.sums.mean)) for end in self.reached)
        return self.n * self.spread < POOR_BELOW * farthest**2


def from_sums(mechanism: Mechanism, stretches: Sequence[Sequence[int]]) -> SummedMeanEvidence:
    """The evidence of n, the sum and the sum of squares of the outputs of each stretch, from its first output on."""
    numbers = numbers_of(mechanism)
    scales, ends = scale_of(mechanism.channel, numbers.origin)
    borders = [s.read(output) for s, end in zip(scales, ends, strict=True) for output in (s.first, end - 1)]
    return SummedMeanEvidence(
        sums_of_powers(scales, stretches),
        numbers.ends,
        (float(min(borders)), float(max(borders))),
        float(numbers.origin),
        profile(mechanism.channel),
        mechanism.question,
    )
