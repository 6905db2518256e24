"""One attribute of a record, hidden among uniform values for the others."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Fakes, Subset
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.statistic.each import CountEach
from sottovoce.mechanisms.attributes.common import attributes
from sottovoce.mechanisms.frequency.common import categories


def build(domain: Domain, *, epsilon: Any) -> Mechanism:
    """One attribute of a record through randomized response, and a uniform value for each other attribute.

    Law: a coin chooses one of d attributes, which goes through k-ary randomized response with epsilon; every other
        attribute is reported as a uniform value. The report does not show which one was chosen.
    Privacy: the probability of a report is a sum over the attributes; for two records that differ in all of them the
        ratio is e**epsilon. The published larger budget ln(d (e**epsilon - 1) + 1) of the chosen attribute holds only
        for records that differ in a single one.
    Estimator: (share of a value - q) / (p - q), with the rates p, q of randomized response, mixed with d - 1 parts of
        the uniform law; unbiased.
    Cost: d indices. The fakes add noise that splitting participants does not have; only the choice is hidden.
    Reference: Arcolezi, Couchot, Al Bouna, Xiao, "Random sampling plus fake data: multidimensional frequency estimates
        with local differential privacy", CIKM 2021.
    """
    budget, question = check_epsilon("fake-attributes", epsilon), attributes("fake-attributes", domain)
    e = odds(budget)
    sizes = [categories("fake-attributes", part) for _, part in question.fields_of]
    channels = tuple(Subset(k, 1, floor_unit(e / (e + k - 1))) for k in sizes)
    return Mechanism("fake-attributes", question, Fakes(channels), budget, CountEach())
