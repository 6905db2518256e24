"""Numbers whose values were counted one by one: their mean is a weighted sum of shares.

A report has a score for each code, unbiased for "holds the code". Weighted with the numbers of the codes, less a public
centre, the scores of a report sum to a number whose mean is that of the answers. So shares give a mean, and with
squares as weights a variance, like reports that are read as numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain.base import Domain
from sottovoce.core.question import Mean, Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import Bounds, Evidence
from sottovoce.estimate.mean.bounds import hoeffding
from sottovoce.estimate.shares.base import SharesEvidence

Floats = NDArray[np.float64]


class CodedNumbers(NamedTuple):
    """The numbers of a domain as its codes, from the middle of the domain on."""

    centre: float
    away: Floats

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest number."""
        return self.centre + float(self.away[0]), self.centre + float(self.away[-1])


def coded_numbers(found: SharesEvidence, domain: Domain) -> CodedNumbers | None:
    """The numbers of the codes, if shares are those of a domain of whole numbers."""
    if found.question is None or found.question.domain != domain or domain.numbers is None or domain.size is None:
        return None
    low, high, origin = domain.numbers
    if high - low != domain.size - 1:
        return None
    middle = (low + high) / 2
    return CodedNumbers(float(middle + origin), np.array([float(low + code - middle) for code in range(domain.size)]))


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSharesEvidence(Evidence):
    """The mean reading of reports, by their scores for all codes.

    `square` is the mean square of these readings about the centre, `held` that of the answers.
    """

    methods: ClassVar[tuple[str, ...]] = ("normal", "hoeffding")
    default: ClassVar[str] = "normal"
    noun: ClassVar[str] = "mean"
    axes: ClassVar[Axes] = Axes.of("value", ("mean",))  # type: ignore[misc]
    n: int
    centre: float
    away: float
    square: float
    held: float
    reach: float
    ends: tuple[float, float]
    poor: bool
    question: Question | None = None

    @property
    def limits(self) -> tuple[float, float]:
        return self.ends

    def values(self) -> Floats:
        return np.array([self.centre + self.away])

    @property
    def spread(self) -> float:
        """The sample variance of the readings; for a single reading, the largest possible variance."""
        return (self.square - self.away**2) * self.n / (self.n - 1) if self.n > 1 else self.reach**2 / 4

    def variances(self, target: str) -> Floats:
        """For the sample, the squares of the answers are not noise."""
        each = self.spread if target == "population" else min(self.square - self.held, self.spread)
        return np.array([max(each, 0.0) / self.n])

    def interval(self, level: float, method: str, target: str) -> Bounds:
        if method == "normal":
            return self.normal(level, target)
        half = hoeffding(self.reach, self.n, level)
        return Bounds(self.values() - half, self.values() + half)

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.array([self.poor])

    def warning(self) -> str | None:
        if not self.poor:
            return None
        return (
            f"The normal interval is poor for these {self.n} reports: too few are expected to support some values. The"
            " hoeffding interval holds."
        )


def mean_of_shares(found: SharesEvidence, domain: Domain) -> WeightedSharesEvidence | None:
    """The mean of numbers from evidence about their shares."""
    numbers = coded_numbers(found, domain)
    if numbers is None:
        return None
    away, shares = numbers.away, found.values()
    return WeightedSharesEvidence(
        found.n,
        numbers.centre,
        float(away @ shares),
        float(away @ found.second_moments() @ away),
        float(away**2 @ shares),
        found.reach_of(away),
        numbers.ends,
        bool(found.normal_is_poor().any()),
        Mean(domain),
    )
