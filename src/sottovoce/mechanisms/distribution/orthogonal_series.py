"""Coefficients of an orthogonal series: each participant reports a sign about one wave of the series."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from math import cos, pi, sin
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds
from sottovoce.core.channel import Table
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, check_people, reject
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.distribution.common import check_domain
from sottovoce.mechanisms.distribution.tree_common import leaves, one_of

BASES = ("trigonometric", "cosine")
BUCKETS = 64  # of a continuum, where no other number is asked for
MOST_FUNCTIONS = 64
PARTICIPANTS = 100_000
SMOOTHNESS = 2
_PLACES = 1 << 32  # a wave is rounded to this part of its height, so that all machines build one table


def build(
    domain: Domain,
    *,
    epsilon: Any,
    functions: int | None = None,
    basis: str = "trigonometric",
    smoothness: int = SMOOTHNESS,
    participants: int = PARTICIPANTS,
    buckets: int | None = None,
    workload: str = "cdf",
) -> Mechanism:
    """A truncated orthogonal series: one sign about one of its first k waves, for each participant.

    Law: with the bucket c of d, waves cos(2 pi j (c + 1/2) / d) and sin(2 pi j (c + 1/2) / d), j = 1, 2, ..., or
        "cosine" ones, cos(pi j (c + 1/2) / d), each scaled to reach from -1 to 1. A coin chooses one of the first k.
        The report is the wave's number and a sign, + with probability (1 + h (e**epsilon - 1) / (e**epsilon + 1)) / 2
        where the wave is h.
    Privacy: a sign has probability e**epsilon / (e**epsilon + 1) at most and 1 / (e**epsilon + 1) at least.
    Estimator: the coefficient of each wave from its own reports, and the series of these k. It is unbiased for the
        projection of the distribution onto constants and k waves; finer waves are left out. Decoders such as "simplex"
        give distributions.
    Cost: 1 + log2(k) bits; a variance of about k ((e**epsilon + 1) / (e**epsilon - 1))**2 / n for each coefficient. One
        sign about each wave at once, as published, has 1 to 2 times that for epsilon up to 1, and about pi / 2 times
        for many waves. Without `functions`, k is (4 n)**(1 / (2 s + 2)) ((e**epsilon - 1) / (e**epsilon + 1))**(1 / (s
        + 1)) for n `participants` and a density with s = `smoothness` derivatives.
    Reference: Duchi, Jordan, Wainwright, "Minimax optimal procedures for locally private estimation", JASA 2018,
        section 4.2 (density estimation in Sobolev classes).
    """
    name = "orthogonal-series"
    budget = check_epsilon(name, epsilon)
    if basis not in BASES:
        raise reject("basis", name, f"one of {', '.join(BASES)}", basis)
    if check_domain(name, domain).circular and basis != BASES[0]:
        raise ParameterError(f"The 'basis' parameter of {name} must be trigonometric on a circle.")
    smooth = check_integer("smoothness", name, smoothness, 1, 16)
    crowd = check_people("participants", name, participants)
    sized = buckets is None and domain.choices is None
    view = leaves(name, domain, min(domain.points or BUCKETS, BUCKETS) if sized else buckets)
    codes = view.size or 2
    most = min(codes - 1, MOST_FUNCTIONS)
    chosen = min(_functions(budget, crowd, smooth), most) if functions is None else functions
    count = check_integer("functions", name, chosen, 1, most)
    e = odds(budget)
    if 2 * floor_unit(e / (e + 1)) <= UNIT:
        raise reject("epsilon", name, "larger: its reports would carry no information", epsilon)
    channel = one_of([_sign(wave, e) for wave in waves(codes, count, basis)])
    return Mechanism(name, Distribution(domain, workload, buckets), channel, budget, CountOutputs(), view)


def waves(codes: int, count: int, basis: str) -> list[list[Fraction]]:
    """The heights of the first waves in the middle of each bucket."""
    middles = [(2 * code + 1) / (2 * codes) for code in range(codes)]
    if basis == "cosine":
        return [[_rounded(cos(pi * j * x)) for x in middles] for j in range(1, count + 1)]
    heights = []
    for j in range(1, codes // 2 + 1):
        # With half a wave in each bucket, all cosines are zero in the middle.
        heights += [[_rounded(f(2 * pi * j * x)) for x in middles] for f in ((cos, sin) if 2 * j < codes else (sin,))]
    return heights[:count]


def _rounded(height: float) -> Fraction:
    return Fraction(round(height * _PLACES), _PLACES)


def _sign(wave: list[Fraction], e: Fraction) -> Table:
    """Minus or plus; the least and the largest height use the budget up."""
    high = floor_unit(e / (e + 1))
    low, least, most = UNIT - high, min(wave), max(wave)
    plus = [low + round((high - low) * (height - least) / (most - least)) for height in wave]
    return Table([UNIT - one, one] for one in plus)


def _functions(budget: Decimal, participants: int, smoothness: int) -> int:
    """The number of waves that makes noise and truncation error about equal for so smooth a density."""
    e = float(odds(budget))
    reports = 4 * participants * ((e - 1) / (e + 1)) ** 2  # participants times epsilon**2, where epsilon is small
    return max(1, round(math.pow(reports, 1 / (2 * smoothness + 2))))
