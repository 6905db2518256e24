"""Chi-square tests of public half-sets: far more power than a test of all shares where there are many categories.

Given how many reports are about each set, the bits are independent and binomial. So each set has Pearson's statistic,
in score form, and their sum has a chi-square law.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtrc, chdtri

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.comparison.test import Effect, Test
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats, Ints, Offer
from sottovoce.estimate.frequency.laws import output_law
from sottovoce.estimate.half_sets.evidence import HalfSetsEvidence, shares_of_sets

VALID = (
    "reports of different people about the same public half-sets, which were chosen without looking at the answers. The"
    " test cannot see differences that cancel inside every half-set."
)


def is_about_half_sets(estimate: object) -> bool:
    """Whether an estimate is about the shares of half-sets."""
    return isinstance(estimate, Estimate) and Offer.HALF_SETS in estimate.evidence.offers


def half_sets_fit(estimate: Estimate, shares: Any) -> Test:
    """Test that the population has stated shares of all answers, by the shares of half-sets (RAPTOR with many sets)."""
    (evidence,) = _evidences([estimate])
    stated = shares_of_sets(estimate.mechanism, _in_order(estimate, shares), "goodness_of_fit")
    reports = evidence.counts.sum(axis=1)
    rates = 0.5 + evidence.slope * (stated - 0.5)
    known = reports > 0
    scores = (evidence.counts[:, 0] - reports * rates)[known] / np.sqrt(reports * rates * (1 - rates))[known]
    distance = Effect("largest distance of the share of a half-set", float(np.abs(evidence.values() - stated).max()))
    return _result("The shares of the population are the stated ones.", scores**2, 1, distance, [estimate])


def counted_sets(estimate: Estimate) -> tuple[Floats, Ints]:
    """The law of each report about a set, and how many were counted."""
    (evidence,) = _evidences([estimate])
    return output_law(estimate.mechanism.channel), evidence.cells


def answers_of_sets(estimate: Estimate, shares: Any) -> Floats:
    """Stated shares of all answers, in their order, for an estimate of the shares of sets."""
    listed = _in_order(estimate, shares)
    shares_of_sets(estimate.mechanism, listed, "likelihood_ratio")
    return np.asarray(listed, float)


def equal_half_sets(estimates: Sequence[Estimate]) -> Test:
    """Test that several samples of different people have the same shares, by the shares of half-sets."""
    evidences = _evidences(estimates)
    counts = np.stack([one.counts for one in evidences]).astype(float)  # [sample, set, bit]
    known = (counts.sum(axis=0) > 0).all(axis=1) & (counts.sum(axis=2) > 0).all(axis=0)
    counts = counts[:, known]
    expected = counts.sum(axis=2, keepdims=True) * counts.sum(axis=0) / counts.sum(axis=(0, 2))[:, None]
    statistics = ((counts - expected) ** 2 / expected).sum(axis=(0, 2))
    values = np.stack([one.values() for one in evidences])
    spread = Effect("largest difference of the share of a half-set", float(np.ptp(values, axis=0).max()))
    return _result("All samples have the same shares.", statistics, len(estimates) - 1, spread, estimates)


def half_sets_power(scaled: float, sets: int, level: float) -> float:
    """The power of a test of so many half-sets, averaged over the choice of the sets.

    `scaled` is the variance of the z-score of one set that a difference of the shares adds to its own variance of one.
    """
    return float(chdtrc(sets, chdtri(sets, 1 - level) / (1 + scaled)))


def half_sets_scaled(power: float, sets: int, level: float) -> float:
    """The variance that `half_sets_power` needs for a power."""
    return float(chdtri(sets, 1 - level) / chdtri(sets, power) - 1)


def _evidences(estimates: Sequence[Estimate]) -> list[HalfSetsEvidence]:
    prints = {one.mechanism.fingerprint if len(one.sources) == 1 else None for one in estimates}
    if not all(map(is_about_half_sets, estimates)) or len(prints) > 1 or None in prints:
        raise ParameterError("A test of half-sets needs estimates of one mechanism, the same for all samples.")
    evidences: list[Any] = [one.evidence for one in estimates]
    return evidences


def _in_order(estimate: Estimate, shares: Any) -> Any:
    if not hasattr(shares, "keys"):
        return shares
    labels = list(estimate.mechanism.domain.labels())
    if {*shares} != {*labels}:
        raise ParameterError("The 'shares' parameter of goodness_of_fit must name each category once.")
    return [shares[label] for label in labels]


def _result(said: str, statistics: Floats, degrees: int, effect: Effect, estimates: Sequence[Estimate]) -> Test:
    total, degrees = float(statistics.sum()), degrees * len(statistics)
    sources = tuple(source for one in estimates for source in one.sources)
    simulated = any(one.simulated for one in estimates)
    p_value = float(chdtrc(degrees, total)) if degrees else 1.0
    return Test(said, total, p_value, "chi-square", degrees, effect, VALID, sources=sources, simulated=simulated)
