"""Which of two stated distributions the answers come from: the likelihood ratio of the reports."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.comparison.chi_square import check_shares, stated_shares
from sottovoce.estimate.comparison.half_sets import answers_of_sets, counted_sets, is_about_half_sets
from sottovoce.estimate.comparison.tails import Cumulants, upper_tail
from sottovoce.estimate.comparison.test import Effect, Test
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats, Offer, OutputTally
from sottovoce.estimate.frequency.laws import output_law

VALID = "reports of different people whose answers come from one of the two stated distributions."


def likelihood_ratio(estimate: Estimate, shares: Any, other: Any) -> Test:
    """Test one stated distribution against another one.

    No other test of these reports has more power at the same level (Neyman and Pearson). The logarithm of the ratio of
    one report is at most epsilon in size, so that local privacy itself clamps the statistic; clamping and adding noise
    at the collector, as under central privacy, would only lose power.

    Args:
        estimate: estimated shares of a mechanism that counts each report that can be sent, such as grr or hadamard; or
            the estimate of `one-bit`, which asks which of the two distributions makes an answer likelier.
        shares: the distribution of the hypothesis: one share per label, or a mapping.
        other: the distribution that is suspected instead.

    Returns:
        A `Test`; its statistic is the log-likelihood ratio, and large ones speak for `other`. The p-value is from the
        exact cumulants of the statistic (saddlepoint approximation).

    Reference: Canonne, Kamath, McMillan, Smith, Ullman, "The structure of optimal private tests for simple hypotheses",
    STOC 2019; locally private: Joseph, Mao, Neel, Roth, "The role of interactivity in local differential privacy",
    FOCS 2019.

    Examples:
        >>> from sottovoce.estimate.comparison.simple_hypotheses import likelihood_ratio
        >>> m = sv.mechanism("grr", sv.Categories(["lark", "owl"]), epsilon=1)
        >>> estimate = m.estimate(sv.simulate_counts(m, [3_300, 2_700], seed=1))
        >>> likelihood_ratio(estimate, [0.5, 0.5], [0.55, 0.45]).p_value < 0.05
        True
    """
    is_about_sets = is_about_half_sets(estimate)
    law, cells = OutputTally(*counted_sets(estimate)) if is_about_sets else _counted(estimate)
    stated = answers_of_sets if is_about_sets else stated_shares
    scores = _scores(law, stated(estimate, shares), stated(estimate, other))
    statistic = float(scores.ratios @ cells)
    gain = Effect("log-likelihood ratio of one report", statistic / estimate.n)
    return Test(
        "The answers come from the first stated distribution.",
        statistic,
        scores.tail(statistic, estimate.n),
        "log-likelihood ratio",
        effect=gain,
        valid_given=VALID,
        sources=estimate.sources,
        simulated=estimate.simulated,
    )


def _counted(estimate: Estimate) -> OutputTally:
    """The law of each report that can be sent, and how many were."""
    check_shares(estimate, "likelihood_ratio")
    if Offer.OUTPUT_TALLIES not in estimate.evidence.offers:
        raise ParameterError(
            "A likelihood ratio of two distributions needs a tally that counts each report that can be sent, such as"
            " that of grr or hadamard."
        )
    (tally,) = estimate.evidence.output_tallies()
    return tally


def likelihood_ratio_power(mechanism: Mechanism, shares: Any, other: Any, n: int, level: float = 0.95) -> float:
    """The probability that `likelihood_ratio` finds the other distribution, by the exact mean and variance."""
    if not isinstance(mechanism.statistic, CountOutputs) or mechanism.channel.publics:
        raise ParameterError("The power of a likelihood ratio needs a mechanism that counts each report, such as grr.")
    scores = _scores(output_law(mechanism.channel), np.asarray(shares, float), np.asarray(other, float))
    mean, variance = scores.moments(scores.rates)
    shifted, spread = scores.moments(scores.other_rates)
    if spread == 0:  # the reports do not tell the distributions apart
        return 1 - level
    least = n * mean + float(ndtri(level)) * math.sqrt(n * variance)
    return float(ndtr((n * shifted - least) / math.sqrt(n * spread)))


class _Scores(NamedTuple):
    """The log-likelihood ratio of each report, and how often each is sent under both distributions."""

    ratios: Floats
    rates: Floats
    other_rates: Floats

    def moments(self, rates: Floats) -> tuple[float, float]:
        """Mean and variance of one report."""
        mean = float(self.ratios @ rates)
        return mean, float((self.ratios - mean) ** 2 @ rates)

    def tail(self, x: float, n: int) -> float:
        """P(sum of n reports >= x) under the first distribution."""
        mean, variance = self.moments(self.rates)
        if variance == 0:
            return 1.0
        third = float((self.ratios - mean) ** 3 @ self.rates)

        def cumulants(t: float) -> Cumulants:
            tilted = self.rates * np.exp(t * self.ratios)
            total = float(tilted.sum())
            first, second = (float(self.ratios**power @ tilted) / total for power in (1, 2))
            return Cumulants(n * math.log(total), n * first, n * max(second - first**2, 1e-300))

        return upper_tail(cumulants, x, third / variance**1.5 / math.sqrt(n), (-math.inf, math.inf))


def _scores(law: Floats, shares: Floats, other: Floats) -> _Scores:
    rates, other_rates = shares @ law, other @ law
    return _Scores(np.log(other_rates / rates), rates, other_rates)
