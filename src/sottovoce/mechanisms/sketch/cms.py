"""Apple's count-mean sketch: a noisy one-hot vector of a hash that the report's id chooses."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import Bits, Public
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.mechanisms.rappor.common import kept
from sottovoce.mechanisms.sketch.common import rows as sketch_rows


def build(domain: Domain, *, epsilon: Any, width: int | None = None, rows: int | None = None) -> Mechanism:
    """The count-mean sketch with balanced rows, so that its estimate is unbiased given the hash functions.

    Law: the report's id chooses a row; bit h(v) of m is 1 with p = e**(epsilon/2) / (e**(epsilon/2) + 1), every other
        one with 1 - p.
    Privacy: p**2 / (1-p)**2 = e**epsilon: two values differ in two bits.
    Estimator: (count / n - q) / (p - q) with q = p/m + (1 - p) (1 - 1/m), where count is the number of reports whose
        bit h(v) is 1; over an open domain a least-squares fit of the candidates.
    Cost: m bits beside the id; a tally has m + 1 cells for each row. Balanced rows are at least as many as codes.
    Reference: Differential Privacy Team, Apple, "Learning with privacy at scale", 2017, whose rows are random.
    """
    budget = check_epsilon("cms", epsilon)
    p = kept(budget)
    chosen = sketch_rows("cms", domain, width, lambda wide: wide + 1, hashed=rows)
    return Mechanism("cms", Frequency(domain), Public(chosen, Bits(chosen.g, p, UNIT - p)), budget, CountCohorts())
