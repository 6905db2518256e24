"""Projective geometry response: one point of a projective space, mostly from the hyperplane of the code."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.field import is_prime
from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Block, ProjectiveSets
from sottovoce.core.channel.finite.sets import MAX_POINTS, spaces
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.frequency.common import average_variance, categories

MAX_DIGITS = 22
MAX_DECODED = 1 << 24  # numbers of a Fourier transform; with three digits sets are small enough to do without


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Projective geometry response over the prime field of least average variance.

    Law: the K = (g**t - 1) / (g - 1) >= k points of a projective space over g elements are the outputs, and the codes.
        The set of a code are the s = (g**(t-1) - 1) / (g - 1) points orthogonal to it. With
        p = e**epsilon s / (e**epsilon s + K - s) a uniform output of the set, else one outside.
    Privacy: p (K - s) / ((1 - p) s) = e**epsilon.
    Estimator: (count / n - q) / (p - q), where count is the number of reports in the set; two sets have
        c = (g**(t-2) - 1) / (g - 1) points in common, so q = p c / s + (1 - p) (s - c) / (K - s).
    Cost: one to three bytes, decoded by a Fourier transform over g**t numbers. Where g is near e**epsilon + 1 the
        variance is that of subset selection; where no K of such a g is near k the tally is up to g times larger than k.
    Reference: Feldman, Nelson, Nguyen, Talwar, "Private frequency estimation via projective geometry", ICML 2022.
    """
    budget = check_epsilon("projective", epsilon)
    k = categories("projective", domain, MAX_POINTS >> 2)
    e = odds(budget)
    sets = min((ProjectiveSets(k, g, t) for g, t in _spaces(k, e)), key=lambda one: _variance(one, e))
    return Mechanism("projective", Frequency(domain), Block(sets, floor_unit(_inside(sets, e))), budget, CountOutputs())


def _spaces(k: int, e: Fraction) -> Iterator[tuple[int, int]]:
    """Candidates by number of coordinates: the smallest field with enough points, and those near e**epsilon + 1."""
    wanted = min(int(e) + 1, MAX_POINTS)
    for digits in range(2, MAX_DIGITS + 1):
        enough = bisect_left(range(MAX_POINTS), k, key=lambda order: sum(order**place for place in range(digits)))
        least = _prime(enough, 1)
        for order in {least, max(least, _prime(wanted, -1)), max(least, _prime(wanted + 1, 1))}:
            few = digits <= 3 or order**digits <= MAX_DECODED
            if few and spaces(order, digits)[digits] <= MAX_POINTS:
                yield order, digits


def _prime(start: int, step: int) -> int:
    """The first prime from a number on, upwards or downwards; 2 if there is none."""
    while start > 2 and not is_prime(start):
        start += step
    return max(start, 2)


def _inside(sets: ProjectiveSets, e: Fraction) -> Fraction:
    return e * sets.size / (e * sets.size + sets.outputs - sets.size)


def _variance(sets: ProjectiveSets, e: Fraction) -> tuple[Fraction, int]:
    return average_variance(sets.rates(_inside(sets, e)), sets.codes), sets.outputs
