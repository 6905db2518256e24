"""Z-test that one number, such as a mean, is a stated one."""

from __future__ import annotations

import math
from typing import Any

from scipy.special import ndtr

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_decimal
from sottovoce.estimate.comparison.compare import deviate_reaching
from sottovoce.estimate.comparison.test import Effect, Test
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import deviate
from sottovoce.estimate.request import Method, check_level

VALID = "reports of different people."


def z_test(estimate: Estimate, stated: Any, level: float = 0.95) -> Test:
    """Test that a mean, or another single number, is a stated one.

    The p-value inverts the interval of the estimate: it is below 1 - level exactly if the interval leaves out the
    stated number. Where there is a score interval, this is the score test, whose level holds for small samples too. For
    the mean of normal answers in a wide range use the estimate of `GaussianMeanKnownSigma` or
    `GaussianMeanUnknownSigma`. Two samples are compared by `sv.compare`.

    Args:
        estimate: of one number.
        stated: the number of the hypothesis.
        level: of the interval of the difference, which is the effect.

    Returns:
        A `Test` whose statistic is a standard normal deviate.

    Reference: Gaboardi, Rogers, Sheffet, "Locally private mean estimation: Z-test and tight confidence intervals",
    AISTATS 2019.

    Examples:
        >>> from sottovoce.estimate.comparison.stated_mean import z_test
        >>> m = sv.mechanism("bernoulli", sv.Interval(0, 10), epsilon=1)
        >>> estimate = m.estimate(m.tally(m.privatize([4, 5, 9] * 2_000, seed=1)))
        >>> z_test(estimate, 5).p_value < 0.01
        True
    """
    check_level(level)
    target = float(check_decimal("stated", "z_test", stated))
    if not isinstance(estimate, Estimate) or len(estimate.labels) != 1:
        raise ParameterError("z_test needs an estimate of one number, such as a mean.")
    evidence = estimate.evidence
    method = Method.WILSON if Method.WILSON in evidence.methods else Method.NORMAL
    gap = float(evidence.values()[0]) - target

    def reach(z: float) -> float:
        if z == 0:
            return 0.0
        (low,), (high,) = estimate.quiet_ci(float(2 * ndtr(z) - 1), method=method)
        return float(evidence.values()[0] - low if gap > 0 else high - evidence.values()[0])

    z = math.copysign(deviate_reaching(reach, abs(gap)), gap)
    (low,), (high,) = estimate.quiet_ci(level, method=method)
    effect = Effect("difference", gap, float(low) - target, float(high) - target, level)
    said = f"The {evidence.noun} of the population is {target:g}."
    return Test(
        *(said, z, float(2 * ndtr(-abs(z))), "z", None, effect, VALID),
        sources=estimate.sources,
        simulated=estimate.simulated,
    )


def z_test_power(difference: float, std_error: float, level: float = 0.95) -> float:
    """The probability that a difference from the stated number is significant, from the standard error."""
    z, c = abs(difference) / std_error, deviate(level)
    return float(ndtr(z - c) + ndtr(-z - c))
