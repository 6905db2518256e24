"""Numbers whose values were counted one by one: their mean is a weighted sum of shares.

A report has a score for each code, unbiased for "holds the code". Weighted with the numbers of the codes, less a public
centre, the scores of a report sum to a number whose mean is that of the answers. So shares give a mean, and with
squares as weights a variance, like reports that are read as numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from sottovoce.core.domain.base import Domain
from sottovoce.core.question import Mean, Question
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.frequency.base import SharesEvidence
from sottovoce.estimate.mean.single import SingleMean
from sottovoce.estimate.request import Method, Target


class CodedNumbers(NamedTuple):
    """The numbers of a domain as its codes, from the middle of the domain on."""

    centre: float
    away: Floats

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest number."""
        return self.centre + float(self.away[0]), self.centre + float(self.away[-1])


def coded_numbers(shares: SharesEvidence, domain: Domain) -> CodedNumbers | None:
    """The numbers of the codes, if shares are those of a domain of whole numbers."""
    if shares.question is None or shares.question.domain != domain or domain.numbers is None or domain.size is None:
        return None
    low, high, origin = domain.numbers
    middle = (low + high) / 2
    return CodedNumbers(float(middle + origin), np.array([float(low + code - middle) for code in range(domain.size)]))


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSharesEvidence(SingleMean):
    """The mean reading of reports, by their scores for all codes.

    `square` is the mean square of these readings about the centre, `held` that of the answers.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL, Method.HOEFFDING)
    why_poor: ClassVar[str] = "too few are expected to support some values. The hoeffding"
    n: int
    centre: float
    away: float
    square: float
    held: float
    reach: float
    ends: tuple[float, float]
    poor: bool
    question: Question | None = None

    def values(self) -> Floats:
        return np.array([self.centre + self.away])

    @property
    def spread(self) -> float:
        return (self.square - self.away**2) * self.n / (self.n - 1) if self.n > 1 else self.reach**2 / 4

    def variances(self, target: Target) -> Floats:
        """For the sample, the squares of the answers are not noise."""
        spread = self.spread if target == Target.POPULATION else min(self.square - self.held, self.spread)
        return np.array([max(spread, 0.0) / self.n])


def mean_of_shares(shares: SharesEvidence, domain: Domain) -> WeightedSharesEvidence | None:
    """The mean of numbers from evidence about their shares."""
    numbers = coded_numbers(shares, domain)
    if numbers is None:
        return None
    away, values = numbers.away, shares.values()
    return WeightedSharesEvidence(
        shares.n,
        numbers.centre,
        float(away @ values),
        float(away @ shares.second_moments() @ away),
        float(away**2 @ values),
        shares.reach_of(away),
        numbers.ends,
        bool(shares.normal_is_poor().any()),
        Mean(domain),
    )
