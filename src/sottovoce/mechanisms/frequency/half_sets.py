"""Public half-sets: one of a few sets of answers, and a randomized bit that says whether it holds the answer."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Block, ListedSets
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import HalfSets
from sottovoce.core.question.half_sets import FLIPPED, MAX_ANSWERS
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.frequency.common import categories


def build(domain: Domain, *, epsilon: Any, count: Any = None, seed: Any = 0, sets: Any = ()) -> Mechanism:
    """Randomized response about one of a few public half-sets: a test of many categories.

    Law: r public sets hold about half of the k answers each. The report is the number of a uniform set and a bit, which
        says with p = e**epsilon / (e**epsilon + 1) whether the set holds the answer, else the opposite.
    Privacy: p / (1 - p) = e**epsilon; the number of the set does not depend on the answer.
    Estimator: 1/2 + r (share of reports "inside" less share of reports "outside", of this set) / (2 (2 p - 1)).
    Cost: one byte. The shares of single answers cannot be estimated. Where many answers are compared at once, a test of
        r half-sets has far more power than one of k shares.
    Reference: Acharya, Canonne, Freitag, Tyagi, "Test without trust: optimal locally private distribution testing",
        AISTATS 2019 (RAPTOR), for one set per group of participants; here one chi-square test joins all sets.
    """
    budget = check_epsilon("half-sets", epsilon)
    categories("half-sets", domain, MAX_ANSWERS)
    return bits("half-sets", HalfSets(domain, count, seed, sets), budget)


def bits(name: str, question: HalfSets, budget: Decimal) -> Mechanism:
    """The number of a public set, and a randomized bit about it."""
    rows = tuple(row for inside in question.members() for row in (inside, inside.translate(FLIPPED)))
    e = odds(budget)
    return Mechanism(name, question, Block(ListedSets(rows), floor_unit(e / (e + 1))), budget, CountOutputs())
