"""The variance of numbers whose values were counted one by one."""

from __future__ import annotations

from fractions import Fraction

from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import Variance
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.mean.of_shares import coded_numbers, mean_of_shares
from sottovoce.estimate.shares.base import SharesEvidence
from sottovoce.estimate.variance.errors import MeanPart, ReadingNoise
from sottovoce.estimate.variance.spread import VarianceEvidence


def variance_of_shares(found: SharesEvidence, domain: Domain) -> VarianceEvidence | None:
    """Each report is read twice, as a number and as the square of its distance from the middle of the domain."""
    numbers, mean = coded_numbers(found, domain), mean_of_shares(found, domain)
    if numbers is None or mean is None:
        return None
    n, shares, moments = found.n, found.values(), found.second_moments()
    if n < 2:
        raise ParameterError("A variance needs at least two reports.")
    away, squares = numbers.away, numbers.away**2
    farthest = float(squares.max())

    def mixed(left: Floats, right: Floats) -> float:
        """The mean product of two readings of a report."""
        return float(left @ moments @ right)

    def covariance(left: Floats, right: Floats) -> Fraction:
        return Fraction((mixed(left, right) - float(left @ shares) * float(right @ shares)) * n / (n - 1))

    def part(weights: Floats, centre: float, ends: tuple[float, float]) -> MeanPart:
        own = Fraction(centre) + Fraction(float(weights @ shares))
        return MeanPart(n, own, covariance(weights, weights), found.reach_of(weights), ends, mean.poor)

    def noise() -> ReadingNoise:
        pairs = ((away, away), (squares, squares), (away, squares))
        return ReadingNoise(*(mixed(left, right) - float((left * right) @ shares) for left, right in pairs))

    return VarianceEvidence(
        part(away, numbers.centre, numbers.ends),
        part(squares, 0.0, (0.0, farthest)),
        Fraction(numbers.centre),
        numbers.ends,
        joint=covariance(away, squares),
        noise=noise,
        question=Variance(domain),
        also=(mean,),
    )
