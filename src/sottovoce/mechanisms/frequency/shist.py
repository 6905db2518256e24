"""Succinct histogram: one entry of a public matrix with many rows, with its sign randomized."""

from __future__ import annotations

from decimal import Decimal
from math import ceil, log
from typing import Any

from sottovoce.core.arithmetic.field import digits
from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import PoolMap, Public, Subset
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import MAX_CELLS, Mechanism
from sottovoce.core.params import check_epsilon, check_fraction, check_people, reject
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.mechanisms.frequency.common import categories


def build(domain: Domain, *, epsilon: Any, participants: int = 1000, beta: Any = "0.05") -> Mechanism:
    """A matrix whose number of rows is chosen for a number of participants and a probability of a larger error.

    Law: with m = ln(k+1) ln(2/beta) epsilon**2 n / ln(2k/beta), rounded up to a power of two of at least k, the
        report's id chooses a row of a matrix of m x k signs; the sign at the code goes through randomized response,
        p = e**epsilon / (e**epsilon + 1).
    Privacy: that of the randomized response, e**epsilon; the row is public.
    Estimator: (count / n - 1/2) / (p - 1/2), where count is the number of reports whose sign is that of v in their row.
    Cost: one byte beside the id, a tally of 2 m cells; variance (e**epsilon + 1)**2 / (n (e**epsilon - 1)**2) for every
        value. The columns are those of a Hadamard matrix, exactly orthogonal. With independent random signs, as in the
        original, they are so on average only: estimates are biased given the matrix, by up to about 1 / sqrt(m).
        So rows beyond the first power of two change nothing, and `hrr` has the same error with fewer.
    Reference: Bassily, Smith, "Local, private, efficient protocols for succinct histograms", STOC 2015.
    """
    budget = check_epsilon("shist", epsilon)
    k = categories("shist", domain, MAX_CELLS // 2)
    n = check_people("participants", "shist", participants)
    risk = check_fraction("beta", "shist", beta)
    if not 0 < risk < 1:
        raise reject("beta", "shist", "a number in (0, 1)", beta)
    places = max(digits(k, 2), (rows(k, budget, n, float(risk)) - 1).bit_length())
    if 2 << places > MAX_CELLS:
        raise reject("participants", "shist", "so few that the matrix has at most 2**23 rows", participants)
    e = odds(budget)
    channel = Public(PoolMap(k, 2, places), Subset(2, 1, floor_unit(e / (e + 1))))
    return Mechanism("shist", Frequency(domain), channel, budget, CountSeeds())


def rows(k: int, budget: Decimal, n: int, beta: float) -> int:
    """The number of rows for which random signs keep the error bound of n participants with probability 1 - beta."""
    return max(2, ceil(log(k + 1) * log(2 / beta) * float(budget) ** 2 * n / log(2 * k / beta)))
