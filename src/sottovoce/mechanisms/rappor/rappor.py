"""RAPPOR: Bloom filters in cohorts, randomized once for each value and again in each report."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Cohorts
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.mechanisms.published_common import budget_of, given_instead, probability
from sottovoce.mechanisms.rappor.common import (
    MAX_HASHES,
    bits_of,
    each_hash,
    functions,
    kept,
    lifetime,
    published_rounds,
    two_rounds,
)


def build(
    domain: Domain,
    *,
    epsilon: Any = None,
    epsilon_forever: Any = None,
    hashes: int = 2,
    bits: int | None = None,
    cohorts: int | None = None,
    f: Any = None,
    p: Any = None,
    q: Any = None,
) -> Mechanism:
    """RAPPOR: Bloom filters with h hashes, cohorts, a permanent and an instantaneous round.

    Law: a device keeps a cohort, whose h hashes set one bit each in h blocks of g, and for each value a permanent mask
        in which a bit is right with 1 - f/2; each report sets a bit of that mask with p if it is set there, else
        with q. Together p* = (1 - f/2) p + (f/2) q for the bits of the value and q* = (f/2) p + (1 - f/2) q for others.
    Privacy: h ln(p* (1-q*) / (q* (1-p*))) = epsilon for one report, 2 h ln((1 - f/2) / (f/2)) = epsilon_forever for all
        reports of one unchanged value; the latter is 2 epsilon unless it is given. Each further value spends it again,
        and reports also tell when a value changed. With published f, p and q both budgets follow from these.
    Estimator: the bits that a value sets in each cohort, less 1/g of all bits of the block, over
        h (1 - 1/g) (p* - q*) n.
    Cost: h g bits beside the id, and a file on the device. Closed domains have up to 1,024 codes, whose cohorts are
        balanced, so that the estimate is unbiased; open ones are estimated for a list of candidates.
    Reference: Erlingsson, Pihur, Korolova, "RAPPOR: randomized aggregatable privacy-preserving ordinal response",
        CCS 2014.
    """
    several = check_integer("hashes", "rappor", hashes, 1, MAX_HASHES)
    chosen = functions("rappor", domain, several, bits, cohorts)
    if given_instead("rappor", epsilon, f=f, p=p, q=q):
        right = UNIT - probability("f", "rappor", f) // 2
        inner = published_rounds("rappor", bits_of(chosen, several, right, UNIT - right), epsilon_forever, p, q)
        channel = Cohorts(chosen, inner)
        budget, forever = (budget_of("rappor", one.ratio()) for one in (channel, inner.first))
    else:
        budget = check_epsilon("rappor", epsilon)
        forever = lifetime("rappor", budget, epsilon_forever)
        right = kept(each_hash(forever, several))
        channel = Cohorts(chosen, two_rounds(bits_of(chosen, several, right, UNIT - right), each_hash(budget, several)))
    return Mechanism("rappor", Frequency(domain), channel, budget, CountCohorts(), claimed_forever=forever)
