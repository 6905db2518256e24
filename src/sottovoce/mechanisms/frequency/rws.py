"""Random wheel spinner: a place on a wheel, mostly just after a public multiple of the code."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.field import is_prime
from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import ArcSets, Block, MultiplierMap, Public
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.frequency.common import average_variance, categories


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Subset selection whose sets are public, so that a report is a single place.

    Law: with K the least prime >= k, the report's id chooses a number a from 1 to K - 1; with
        p = e**epsilon w / (e**epsilon w + K - w) the report is one of the w places a v, a v + 1, ..., a v + w - 1
        modulo K, else one of the others. w is the better of the two whole numbers next to K / (e**epsilon + 1).
    Privacy: p (K - w) / ((1 - p) w) = e**epsilon; the number is public.
    Estimator: (count / n - q) / (p - q), where count is the number of reports y with (y - a v) mod K < w, and
        q = (w - p) / (K - 1): the distance of two codes is any multiple of a but 0, so q is exact for all pairs.
    Cost: one to three bytes; a tally visits the w codes that a report supports. The variance is that of subset
        selection for K categories.
    Reference: Fang, Chen, Liu, "Further study on frequency estimation under local differential privacy", USENIX
        Security 2025, with multiples modulo a prime in place of pseudorandom sets.
    """
    budget = check_epsilon("rws", epsilon)
    k, e = categories("rws", domain, 1 << 20), odds(budget)
    order = next(number for number in range(k, 2 * k) if is_prime(number))

    multiples, size_below = MultiplierMap(k, order), int(order / (e + 1))

    def inside(size: int) -> Fraction:
        return e * size / (e * size + order - size)

    sizes = sorted({min(max(1, size), order - 1) for size in (size_below, size_below + 1)})
    best = min(sizes, key=lambda size: average_variance(multiples.rates_of_sets(inside(size), size), k))
    channel = Public(multiples, Block(ArcSets(order, order, best), floor_unit(inside(best))))
    return Mechanism("rws", Frequency(domain), channel, budget, CountSupports())
