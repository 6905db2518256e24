"""One-time RAPPOR: a Bloom filter in a public cohort, randomized once."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Public
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.mechanisms.published_common import budget_of, given_instead, probability
from sottovoce.mechanisms.rappor.common import MAX_HASHES, MORE_COHORTS, bits_of, each_hash, functions, kept


def build(
    domain: Domain,
    *,
    epsilon: Any = None,
    hashes: int = 2,
    bits: int | None = None,
    cohorts: int | None = None,
    f: Any = None,
) -> Mechanism:
    """One-time RAPPOR: the permanent round of RAPPOR alone, for a single report.

    Law: the report's id chooses a cohort, whose h hashes set one bit each in h blocks of g; every bit is flipped with
        f/2 = 1 / (e**(epsilon/(2h)) + 1).
    Privacy: 2 h ln((1 - f/2) / (f/2)) = epsilon: two values differ in at most 2 h bits. A published f gives epsilon.
    Estimator: the bits that a value sets in each cohort, less 1/g of all bits of the block, over h (1 - 1/g) (1 - f) n.
    Cost: h g bits beside the id. Closed domains have up to 1,024 codes, whose cohorts are balanced, so that the
        estimate is unbiased; open ones are estimated for a list of candidates. One hash has about half the variance
        of two.
    Reference: Erlingsson, Pihur, Korolova, "RAPPOR: randomized aggregatable privacy-preserving ordinal response",
        CCS 2014.
    """
    several = check_integer("hashes", "one-time-rappor", hashes, 1, MAX_HASHES)
    chosen = functions("one-time-rappor", domain, several, bits, cohorts, MORE_COHORTS)
    if given_instead("one-time-rappor", epsilon, f=f):
        p = UNIT - probability("f", "one-time-rappor", f) // 2
        budget = budget_of("one-time-rappor", bits_of(chosen, several, p, UNIT - p).ratio())
    else:
        budget = check_epsilon("one-time-rappor", epsilon)
        p = kept(each_hash(budget, several))
    channel = Public(chosen, bits_of(chosen, several, p, UNIT - p))
    return Mechanism("one-time-rappor", Frequency(domain), channel, budget, CountCohorts())
