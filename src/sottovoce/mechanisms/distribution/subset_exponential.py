"""Subset exponential mechanism: a random set of ordered answers, likelier the nearer its nearest member is."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, floor
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, odds, within
from sottovoce.core.channel import Table
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.distribution.common import check_domain, coded

NAME = "subset-exponential"
BUCKETS = 8  # where no listed answers are near each other
MOST_BUCKETS = 64
MOST_SETS = 1 << 10  # each is a column of a table that is sent to devices


def build(
    domain: Domain, *, epsilon: Any, w: int | None = None, buckets: int | None = None, workload: str = "cdf"
) -> Mechanism:
    """SEM, for answers in an order: one of the sets of w of the d answers, likelier the nearer its nearest member is.

    Law: a set whose nearest member is r steps away has a weight proportional to e**(-t r), with the same factor for all
        answers. Ends of the scale have fewer near sets than its middle; the rest is the probability of an empty report.
        On a circle steps go around it, and there is no rest and no empty report, as in the circling mechanism (CSEM).
    Privacy: e**epsilon with t = epsilon / r for the farthest set of any answer, r = d - w on a line. The ratio between
        answers s steps apart is at most e**(t s), up to rounding. The paper's budget is t, that of one step.
    Estimator: least squares on the counts of the sets; the published one uses counts of members only.
    Cost: d choose w columns of a table, at most 1,024. By default w = d / (e**(epsilon / 2) + 1), rounded up: nearly
        the least variance, for which the paper searches. It is several times that of a wave, which may tell neighbours
        apart as well as distant answers.
    Reference: Wang, Nie, Wang, Xu, Yang, Huang, "Local private ordinal data distribution estimation", INFOCOM 2017.
    """
    budget = check_epsilon(NAME, epsilon)
    unlisted = buckets is None and (check_domain(NAME, domain).points or MOST_BUCKETS + 1) > MOST_BUCKETS
    view = coded(NAME, domain, BUCKETS if unlisted else buckets)
    codes = check_integer("buckets", NAME, view.size, 2, MOST_BUCKETS)
    size = usual_size(codes, budget) if w is None else check_integer("w", NAME, w, 1, codes // 2)
    if comb(codes, size) > MOST_SETS:
        raise ParameterError(f"The sets of {NAME} must be at most {MOST_SETS}. Got {size} of {codes} answers.")
    table = exponential_sets(codes, size, budget, around=domain.circular)
    if table.ratio() == 1 or not within(table.ratio(), budget):
        raise reject("epsilon", NAME, "larger: probabilities of 53 bits cannot express it", epsilon)
    return Mechanism(NAME, Distribution(domain, workload, buckets), table, budget, CountOutputs(), view)


def usual_size(codes: int, budget: Decimal) -> int:
    """The size of sets with nearly the least variance, among those with few enough sets."""
    most = max(size for size in range(1, codes // 2 + 1) if comb(codes, size) <= MOST_SETS)
    return min(most, ceil(codes / (odds(budget / 2) + 1)))


def exponential_sets(codes: int, size: int, budget: Decimal, *, around: bool) -> Table:
    """A row of weights for each answer, of all sets and of the empty one."""
    sets = list(combinations(range(codes), size))
    away = [[min(steps(codes, code, member, around) for member in one) for one in sets] for code in range(codes)]
    farthest = max(map(max, away))
    step = odds(budget / farthest)
    weights = [step ** (farthest - r) for r in range(farthest + 1)]
    totals = [sum((weights[r] for r in row), Fraction(0)) for row in away]
    low = floor(UNIT / _whole(totals, step))
    units = [floor(low * weight) for weight in weights]
    rows = [[units[r] for r in row] for row in away]
    if len(set(totals)) > 1:
        return Table([*row, UNIT - sum(row)] for row in rows)
    return Table(_filled(row) for row in rows)


def _filled(row: list[int]) -> list[int]:
    """What rounding leaves goes to the farthest sets, which makes them a little likelier."""
    least, rest = min(row), UNIT - sum(row)
    share, more = divmod(rest, row.count(least))
    filled = []
    for weight in row:
        far = weight == least
        filled.append(weight + far * (share + (more > 0)))
        more -= far
    return filled


def steps(codes: int, one: int, other: int, around: bool) -> int:
    """The number of steps between two answers."""
    apart = abs(one - other)
    return min(apart, codes - apart) if around else apart


def _whole(totals: list[Fraction], step: Fraction) -> Fraction:
    """The least sum of all weights at which empty reports tell answers s steps apart by the ratio step**s at most."""
    whole = max(totals)
    for one, own in enumerate(totals):
        for other, its in enumerate(totals):
            if own > its:
                ratio = step ** abs(one - other)
                whole = max(whole, (ratio * own - its) / (ratio - 1))
    return whole
