"""The piecewise mechanism: a report near the number is likely, one far from it less so."""

from __future__ import annotations

from math import exp
from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import Then
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.mean.common import scale, window


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """A window of likely reports that moves with the number.

    Law: with x scaled to [-1, 1] and C = (e**(epsilon/2) + 1) / (e**(epsilon/2) - 1), the report lies in a window of
        length C - 1 that moves linearly from the lower end of [-C, C] to the upper one, with probability
        e**(epsilon/2) / (e**(epsilon/2) + 1), and else anywhere outside it; all on a grid of 1024 steps of the range,
        more for epsilon above 8.
    Privacy: the densities inside and outside differ by e**epsilon.
    Estimator: the mean report; it is linear in the number, exactly so on the grid.
    Cost: two bytes; variance x**2 / (e**(epsilon/2) - 1) + (e**(epsilon/2) + 3) / (3 (e**(epsilon/2) - 1)**2), least
        in the middle of the range and largest at its ends.
    Reference: Wang et al., "Collecting and analyzing multidimensional data with local differential privacy", ICDE
        2019.
    """
    return windowed("piecewise", domain, epsilon, 1 / 2)


def windowed(name: str, domain: Domain, epsilon: Any, power: float) -> Mechanism:
    """A window narrower than its way by the factor e**(power epsilon)."""
    budget = check_epsilon(name, epsilon)
    second = window(odds(budget), exp(power * float(budget)))
    channel = Then(scale(name, domain, second.k - 1), second)
    return Mechanism(name, Mean(domain), channel, budget, CountOutputs())
