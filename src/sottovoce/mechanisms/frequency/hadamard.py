"""Hadamard response: one output, mostly from the half of a Hadamard row that is +1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Block, HadamardSets
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.frequency.common import categories


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Hadamard response with the number of groups of least variance for a rare value.

    Law: codes lie in B groups of Hadamard rows of order b; each code has a set of s = b/2 of the K = B b
        outputs. With p = e**epsilon s / (e**epsilon s + K - s) a uniform output of the set, else one outside.
    Privacy: p (K - s) / ((1 - p) s) = e**epsilon.
    Estimator: (reports in the set - reports in the rest of its group) / (n c), with
        c = (e**epsilon - 1) / (e**epsilon + 2 B - 1).
    Cost: one to three bytes; the tally is one count per output and is decoded by a fast transform. Variance
        (e**epsilon + 2 B - 1)**2 / (n B (e**epsilon - 1)**2), so B is near (e**epsilon - 1) / 2.
    Reference: Acharya, Sun, Zhang, "Hadamard response: estimating distributions privately, efficiently, and
        with little communication", AISTATS 2019.
    """
    budget = check_epsilon("hadamard", epsilon)
    k = categories("hadamard", domain, 1 << 22)
    e = odds(budget)
    groups = _best_groups(e, k)
    order = 1 << max(1, (-(-k // groups)).bit_length())
    sets = HadamardSets(k, order, groups)
    share = e * sets.size / (e * sets.size + sets.outputs - sets.size)
    return Mechanism("hadamard", Frequency(domain), Block(sets, floor_unit(share)), budget, CountOutputs())


def _best_groups(e: Fraction, k: int) -> int:
    """The power of two, at most k / 2, with the smallest variance."""
    candidates = [1 << exponent for exponent in range(k.bit_length() - 1)]
    return min(candidates, key=lambda groups: (e + 2 * groups - 1) ** 2 / groups)
