"""Identity tests by the squared distance between estimated and stated shares."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.comparison.chi_square import LARGE, check_shares, stated_shares
from sottovoce.estimate.comparison.null_law import covariance_at
from sottovoce.estimate.comparison.tails import Cumulants, upper_tail
from sottovoce.estimate.comparison.test import Effect, Test
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats

NONE = 1e-9  # of the largest eigenvalue, below which a direction has no variance


def identity_test(estimate: Estimate, shares: Any) -> Test:
    """Test that the population has stated shares, by the squared distance from them.

    All differences weigh the same, so that a few large ones are seen better than by `goodness_of_fit`, whose chi-square
    statistic weighs each direction by its precision. The null law is that of a weighted sum of squares of normal
    numbers; its weights are the eigenvalues of the covariance of the mechanism at the stated shares. The published test
    bounds the tail by the variance instead, and so needs more participants.

    Args:
        estimate: estimated shares of all categories, of one mechanism.
        shares: the stated shares: a mapping from each label, or one number per label in their order. They sum to 1.

    Returns:
        A `Test`; its statistic is n times the squared distance, and its effect the distance, corrected for noise.

    Reference: Sheffet, "Locally private hypothesis testing", ICML 2018; the tests by RAPPOR and Hadamard response of
    Acharya, Canonne, Freitag, Tyagi, "Test without trust: optimal locally private distribution testing", AISTATS 2019,
    have the same statistic.

    Examples:
        >>> from sottovoce.estimate.comparison.identity import identity_test
        >>> m = sv.mechanism("sue", sv.Categories(["lark", "owl", "neither"]), epsilon=1)
        >>> estimate = m.estimate(sv.simulate_counts(m, [6_000, 2_000, 2_000], seed=1))
        >>> identity_test(estimate, [0.4, 0.3, 0.3]).p_value < 0.01
        True
    """
    check_shares(estimate, "identity_test")
    stated = stated_shares(estimate, shares)
    weights = _null_weights(estimate.mechanism, tuple(stated.tolist()))
    away = estimate.evidence.values() - stated
    statistic = estimate.n * float(away @ away)
    distance = Effect("distance of the shares", float(np.sqrt(max(0.0, (statistic - weights.sum()) / estimate.n))))
    return Test(
        "The shares of the population are the stated ones.",
        statistic,
        squares_tail(weights, statistic),
        "squared distance",
        effect=distance,
        valid_given=LARGE,
        sources=estimate.sources,
        simulated=estimate.simulated,
    )


@lru_cache(maxsize=8)
def _null_weights(mechanism: Mechanism, stated: tuple[float, ...]) -> Floats:
    """The weights of the squares; many samples are often tested for the same shares."""
    return directions(covariance_at(mechanism, np.array(stated)))[0]


def directions(covariance: Floats) -> tuple[Floats, Floats]:
    """The variances of independent directions of the shares, and these directions as columns."""
    values, vectors = np.linalg.eigh(covariance)
    varies = values > NONE * values[-1]
    return values[varies], vectors[:, varies]


def squares_tail(weights: Any, x: float, shifts: Any = 0.0) -> float:
    """P(sum of weights times squares of independent normal numbers >= x); their means have these squares."""
    largest = float(weights.max())

    def cumulants(t: float) -> Cumulants:
        left = 1 - 2 * t * weights
        scaled, moved = weights / left, shifts / left
        value = -0.5 * float(np.log(left).sum()) + t * float((scaled * shifts).sum())
        first = float((scaled * (1 + moved)).sum())
        return Cumulants(value, first, 2 * float((scaled**2 * (1 + 2 * moved)).sum()))

    second = 2 * float((weights**2 * (1 + 2 * shifts)).sum())
    skewness = 8 * float((weights**3 * (1 + 3 * shifts)).sum()) / second**1.5
    return upper_tail(cumulants, x, skewness, (-np.inf, 1 / (2 * largest)))
