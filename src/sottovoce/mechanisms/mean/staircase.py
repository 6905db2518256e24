"""The staircase mechanism: noise in steps, with the width of the central one that has the least variance."""

from __future__ import annotations

from math import exp
from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.mean.common import bands, power_of_two, staircase


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Noise in steps, optimal up to rounding among noise that does not depend on the number.

    Law: the number rounded to a grid, plus noise of constant likelihood up to gamma of the range to either side, and
        in steps of the length of the range beyond, each e**epsilon less likely; with b = e**(-epsilon), gamma = -b /
        (1 - b) + (b - 2 b**2 + 2 b**4 - b**5)**(1/3) / (2**(1/3) (1 - b)**2).
    Privacy: numbers at most one range apart are at most one step apart, e**epsilon.
    Estimator: the mean report; clamping biases it by less than 1e-9 of the range.
    Cost: two bytes or more; for large budgets far less variance than Laplace noise.
    Reference: Geng, Kairouz, Oh, Viswanath, "The staircase mechanism in differential privacy", IEEE JSTSP 2015; the
        survey prints the width that makes the mean absolute noise least.
    """
    budget = check_epsilon("staircase", epsilon)
    bands("staircase", budget)  # also refuses a budget too small for floats
    share = centre(float(budget))
    channel = staircase("staircase", domain, budget, share, power_of_two(8 / share))
    return Mechanism("staircase", Mean(domain), channel, budget, CountOutputs())


def centre(epsilon: float) -> float:
    """Half the width of the central step, in lengths of the range."""
    b = exp(-epsilon)
    root = (b - 2 * b**2 + 2 * b**4 - b**5) ** (1 / 3)
    share: float = -b / (1 - b) + root / (2 ** (1 / 3) * (1 - b) ** 2)
    return share
