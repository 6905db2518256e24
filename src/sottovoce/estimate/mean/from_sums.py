"""The mean of a number from a tally with sums and squares of reports instead of a count of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Contributions, Evidence
from sottovoce.estimate.mean.bounds import bernstein, hoeffding
from sottovoce.estimate.mean.moments import Profile, numbers_of, profile
from sottovoce.estimate.mean.readings import ReadSums, scale_of, sums_of_powers

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SummedMeanEvidence(Evidence):
    """Number, mean and variance of the readings. Betting intervals need single reports, so there are none."""

    methods: ClassVar[tuple[str, ...]] = ("normal", "hoeffding", "bernstein")
    default: ClassVar[str] = "normal"
    noun: ClassVar[str] = "mean"
    axes: ClassVar[Axes] = Axes.of("value", ("mean",))  # type: ignore[misc]
    sums: ReadSums
    ends: tuple[float, float]  # of the domain
    reached: tuple[float, float]  # the least and the largest possible reading
    origin: float
    grid: Profile
    question: Question | None = None

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.sums.n

    @property
    def limits(self) -> tuple[float, float]:
        return self.ends

    @property
    def reach(self) -> float:
        """The length of the range of possible readings."""
        return self.reached[1] - self.reached[0]

    @property
    def spread(self) -> float:
        """The sample variance of the readings; for a single reading, the largest possible variance."""
        return self.reach**2 / 4 if self.sums.variance is None else float(self.sums.variance)

    @property
    def noise(self) -> float:
        """The variance of a report given its answer, averaged over the answers: an upper bound."""
        centre = sum(self.ends) / 2
        square = self.spread * (self.n - 1) / self.n + (float(self.sums.mean) - centre) ** 2
        return min(self.grid.noise(centre - self.origin, square), self.spread)

    def values(self) -> Floats:
        return np.array([float(self.sums.mean)])

    def contributions(self) -> Contributions:
        return Contributions(*(np.array([end]) for end in (*self.reached, float(self.n))))

    def variances(self, target: str) -> Floats:
        return np.array([(self.spread if target == "population" else self.noise) / self.n])

    def interval(self, level: float, method: str, target: str) -> Bounds:
        if method == "normal":
            return self.normal(level, target)
        if method == "hoeffding":
            half = hoeffding(self.reach, self.n, level)
        else:
            half = bernstein(self.reach, self.spread, self.n, level)
        return Bounds(self.values() - half, self.values() + half)

    def normal_is_poor(self) -> NDArray[np.bool_]:
        """As for counts, with the largest kurtosis that the variance and the range of readings allow."""
        mean = float(self.sums.mean)
        farthest = max(abs(end - mean) for end in self.reached)
        few = self.n * self.spread < POOR_BELOW * farthest**2
        return np.array([few or self.spread < self.grid.variances.min() / 2])

    def warning(self) -> str | None:
        if not self.normal_is_poor()[0]:
            return None
        return (
            f"The normal interval is poor for these {self.n} reports: they are too few to know their own variance."
            " The hoeffding interval holds."
        )


def from_sums(mechanism: Mechanism, stretches: Sequence[Sequence[int]]) -> SummedMeanEvidence:
    """The evidence of n, the sum and the sum of squares of the outputs of each stretch, from its first output on."""
    low, high, origin = numbers_of(mechanism)
    scales, ends = scale_of(mechanism.channel, origin)
    borders = [s.read(output) for s, end in zip(scales, ends, strict=True) for output in (s.first, end - 1)]
    return SummedMeanEvidence(
        sums_of_powers(scales, stretches),
        (float(low + origin), float(high + origin)),
        (float(min(borders)), float(max(borders))),
        float(origin),
        profile(mechanism.channel),
        mechanism.question,
    )
