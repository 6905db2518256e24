"""Randomized response: a yes or no with a biased coin."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Subset
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.frequency.common import categories


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Randomized response to a question with two answers.

    Law: the true answer with p = e**epsilon / (e**epsilon + 1), else the other one.
    Privacy: p / (1 - p) = e**epsilon.
    Estimator: (count / n - (1 - p)) / (2 p - 1).
    Cost: one byte.
    Reference: Warner, "Randomized response: a survey technique for eliminating evasive answer bias", JASA 1965.
        ("Answer at random with probability 1 - s" is the same law with s = (e**epsilon - 1) / (e**epsilon + 1).)
    """
    budget = check_epsilon("rr", epsilon)
    categories("rr", domain, 2)
    e = odds(budget)
    return Mechanism("rr", Frequency(domain), Subset(2, 1, floor_unit(e / (e + 1))), budget, CountOutputs())
