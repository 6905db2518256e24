"""The Bernoulli mechanism: round the number to one of the two ends of its range, then randomized response."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import Then
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.mean.common import coin, scale


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """One bit: the upper end of the range or the lower one.

    Law: with x scaled to [-1, 1], the upper end with probability 1/2 + (x/2) (e**epsilon - 1) / (e**epsilon + 1).
    Privacy: the odds of the ends are e**epsilon and its inverse.
    Estimator: the mean of +B and -B with B = (e**epsilon + 1) / (e**epsilon - 1), scaled back to the range.
    Cost: one bit; variance B**2 - x**2, largest in the middle of the range and least at its ends.
    Reference: Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation", JASA 2018 (one
        dimension); Nguyen et al., "Collecting and analyzing data from smart device users with local differential
        privacy" (Harmony), 2016; Ding, Kulkarni, Yekhanin, "Collecting telemetry data privately" (1BitMean), NeurIPS
        2017: all three are this law.
    """
    budget = check_epsilon("bernoulli", epsilon)
    channel = Then(scale("bernoulli", domain, 1), coin(odds(budget)))
    return Mechanism("bernoulli", Mean(domain), channel, budget, CountOutputs())
