"""Basic RAPPOR: one bit per category, randomized once for each value and again in each report."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.frequency.common import categories
from sottovoce.mechanisms.published_common import budget_of, given_instead, probability
from sottovoce.mechanisms.rappor.common import kept, lifetime, published_rounds, two_rounds


def build(
    domain: Domain, *, epsilon: Any = None, epsilon_forever: Any = None, f: Any = None, p: Any = None, q: Any = None
) -> Mechanism:
    """Basic RAPPOR: permanent and instantaneous rounds on one bit per category.

    Law: a device keeps for each value a permanent mask, in which bit v is right with 1 - f/2; each report sets a bit of
        that mask with p if it is set there, else with q. Together p* = (1 - f/2) p + (f/2) q for the true code
        and q* = (f/2) p + (1 - f/2) q for others.
    Privacy: p* (1-q*) / (q* (1-p*)) = e**epsilon for one report, ((1 - f/2) / (f/2))**2 = e**epsilon_forever for all
        reports of one unchanged value; the latter is 2 epsilon unless it is given. Each further value spends it again,
        and reports also tell when a value changed. With published f, p and q both budgets follow from these.
    Estimator: (count / n - q*) / (p* - q*).
    Cost: k bits, and a file on the device. p* = 1/2 as in OUE if e**(epsilon_forever/2) > (e**epsilon + 1) / 2.
    Reference: Erlingsson, Pihur, Korolova, "RAPPOR: randomized aggregatable privacy-preserving ordinal response",
        CCS 2014.
    """
    k = categories("basic-rappor", domain, 1 << 12)
    if given_instead("basic-rappor", epsilon, f=f, p=p, q=q):
        right = UNIT - probability("f", "basic-rappor", f) // 2
        channel = published_rounds("basic-rappor", Bits(k, right, UNIT - right), epsilon_forever, p, q)
        budget, forever = (budget_of("basic-rappor", one.ratio()) for one in (channel, channel.first))
    else:
        budget = check_epsilon("basic-rappor", epsilon)
        forever = lifetime("basic-rappor", budget, epsilon_forever)
        right = kept(forever)
        channel = two_rounds(Bits(k, right, UNIT - right), budget)
    return Mechanism("basic-rappor", Frequency(domain), channel, budget, CountSupports(), claimed_forever=forever)
