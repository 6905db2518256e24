"""The square wave: reports near the answer are likely, all others less so, and alike."""

from __future__ import annotations

from decimal import Decimal
from math import floor
from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import Block, Then, Window
from sottovoce.core.channel.finite.block import nearest_arc
from sottovoce.core.domain import Circle, Domain, Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.distribution.common import (
    arc,
    arc_share,
    bandwidth,
    check_domain,
    coded,
    rounded,
    wave,
)

LEAST_STEPS = 1 << 10  # of the grid of reports
MOST_STEPS = 1 << 14
MOST_BUCKETS = 1 << 16
_NARROWEST = 16  # steps of a window, as far as the grid may be refined


def build(domain: Domain, *, epsilon: Any, buckets: Any = None, workload: str = "cdf") -> Mechanism:
    """The square wave of a number: first randomised, then put into buckets.

    Law: with x scaled to [0, 1], uniform in [x - b, x + b] with the density e**epsilon / (2 b e**epsilon + 1), else in
        the rest of [-b, 1 + b] with 1 / (2 b e**epsilon + 1), b = (epsilon e**epsilon - e**epsilon + 1) /
        (2 e**epsilon (e**epsilon - 1 - epsilon)); on a grid of at least 1024 steps, to which the number is rounded
        without bias. On a circle the reports form a circle too. Whole numbers, categories
        and numbers with a step are the grid themselves.
    Privacy: the two densities differ by e**epsilon.
    Estimator: EM or EMS on the counts of reports; shares, functionals and intervals by the unbiased linear decoder.
    Cost: two bytes; a tally of 1024 + 2048 b integers. The mean report is exactly linear in the number.
    Reference: Li, Wang, Lopuhaa-Zwakenberg, Li, Skoric, "Estimating numerical distributions under local differential
        privacy", SIGMOD 2020.
    """
    name = "square-wave"
    budget = check_epsilon(name, epsilon)
    if check_domain(name, domain).points is not None:
        return _coded(name, domain, budget, buckets, workload)
    question = Distribution(domain, workload, _checked(name, buckets))
    return Mechanism(name, question, _continuous(domain, budget, question.buckets), budget, CountOutputs())  # type: ignore[arg-type]


def discrete(domain: Domain, *, epsilon: Any, buckets: Any = None, workload: str = "cdf") -> Mechanism:
    """The square wave of a bucket: a number is put into a bucket first, then randomised.

    Law: with d buckets and b the largest whole number up to d times the bandwidth of the square wave, a report within b
        of the bucket has probability e**epsilon / ((2 b + 1) e**epsilon + d - 1), each other one of the d + 2 b reports
        1 / ((2 b + 1) e**epsilon + d - 1).
    Privacy: the two probabilities differ by e**epsilon.
    Estimator: as for the square wave; the unbiased shares are those of the buckets, whatever lies inside them.
    Cost: one or two bytes; a tally of d + 2 b integers.
    Reference: as for the square wave, section 5.4.
    """
    name = "square-wave-discrete"
    return _coded(name, domain, check_epsilon(name, epsilon), buckets, workload)


def _coded(name: str, domain: Domain, budget: Decimal, buckets: Any, workload: str) -> Mechanism:
    question = Distribution(check_domain(name, domain), workload, _checked(name, buckets))
    view = coded(name, domain, question.buckets)
    return Mechanism(name, question, _discrete(view, budget), budget, CountOutputs(), domain=view)


def _checked(name: str, buckets: Any) -> int | None:
    return None if buckets is None else check_integer("buckets", name, buckets, 2, MOST_BUCKETS)


def _discrete(view: Domain, budget: Decimal) -> Window | Block:
    size, e = view.size or 2, odds(budget)
    if view.root.circular:
        return arc(size, size, nearest_arc(arc_share(budget), size), e)
    return wave(size, 2 * floor(bandwidth(budget) * size) + 1, e)


def _continuous(domain: Circle | Interval, budget: Decimal, buckets: int | None) -> Then:
    """The wave on the coarsest grid of 1024 steps or more whose window has 16 steps, as far as grids are refined.

    A bucket has two steps at least: a share that changes with each step hardly shows in the points between them.
    """
    around = domain.circular
    share = arc_share(budget) if around else 2 * bandwidth(budget)
    steps = 2 * buckets if buckets else LEAST_STEPS * (2 if around else 1)
    while steps < LEAST_STEPS or (steps < MOST_STEPS and share * steps < _NARROWEST):
        steps *= 2
    e = odds(budget)
    if around:
        return Then(rounded(domain, steps), arc(steps + 1, steps, nearest_arc(share, steps), e))
    return Then(rounded(domain, steps), wave(steps + 1, max(1, round(share * steps)), e))
