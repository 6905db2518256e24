"""Every attribute of a record in one report, with a share of the budget each."""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from sottovoce.core.channel import Each
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, reject
from sottovoce.core.question import Frequency, Mean
from sottovoce.core.registry import mechanism, names
from sottovoce.core.statistic.each import CountEach
from sottovoce.mechanisms.attributes.common import attributes

FEW = 64  # categories up to which a subset is taken


def build(domain: Domain, *, epsilon: Any, shares: str | None = None, means: str = "piecewise") -> Mechanism:
    """Every attribute of a record, with an equal share of the budget.

    Law: each of d attributes goes through a mechanism of its own with epsilon / d, independently: categories through
        `shares` (by default `subset`, or `oue` for more than 64 of them), numbers without a list of values through
        `means`.
    Privacy: two records may differ in every attribute, so the ratios multiply to e**epsilon.
    Estimator: that of each mechanism; unbiased.
    Cost: d reports side by side. Splitting participants instead (`SampledAttributes`) has less error.
    Reference: the baseline "Spl" of Arcolezi, Couchot, Al Bouna, Xiao, "Random sampling plus fake data", CIKM 2021.
    """
    budget, owner = check_epsilon("split-attributes", epsilon), "split-attributes"
    question = attributes(owner, domain)
    for chosen_name, kind in ((shares, Frequency), (means, Mean)):
        if chosen_name is not None and chosen_name not in names(kind):
            raise reject(kind.noun + "s", owner, f"one of {', '.join(names(kind))}", chosen_name)
    share = Context(prec=20, rounding=ROUND_FLOOR).divide(budget, Decimal(len(question.fields_of)))
    channels = []
    for _, part in question.fields_of:
        chosen = means if part.size is None else shares or ("subset" if part.size <= FEW else "oue")
        channels.append(mechanism(chosen, part, epsilon=share).channel)
    return Mechanism(owner, question, Each(tuple(channels)), budget, CountEach())
