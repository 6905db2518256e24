"""Noise in steps as Soria-Comas and Domingo-Ferrer cut the Laplace distribution."""

from __future__ import annotations

from math import expm1
from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.mean.common import bands, power_of_two, staircase


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Laplace noise levelled within steps as long as the range.

    Law: the number rounded to a grid, plus noise of constant likelihood up to 1/epsilon - 1/(e**epsilon - 1) of the
        range to either side, and in steps of the length of the range beyond, each e**epsilon less likely.
    Privacy: numbers at most one range apart are at most one step apart, e**epsilon.
    Estimator: the mean report; clamping biases it by less than 1e-9 of the range.
    Cost: two bytes or more; less variance than Laplace noise, whatever the number is.
    Reference: Soria-Comas, Domingo-Ferrer, "Optimal data-independent noise for differential privacy", Information
        Sciences 2013; the survey's Eq. (33) prints the outer steps one factor e**epsilon too likely.
    """
    budget = check_epsilon("scdf", epsilon)
    bands("scdf", budget)  # also refuses a budget too small for floats
    e = float(budget)
    channel = staircase("scdf", domain, budget, 1 / e - 1 / expm1(e), power_of_two(max(16, 200 * e)))
    return Mechanism("scdf", Mean(domain), channel, budget, CountOutputs())
