"""Private count sketch: a hash and a sign in a public row, hidden among fair bits."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds
from sottovoce.core.channel import Bits, Public
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.mechanisms.sketch.common import rows as sketch_rows


def build(domain: Domain, *, epsilon: Any, width: int | None = None, rows: int | None = None) -> Mechanism:
    """The private count sketch with balanced rows, so that its estimate is unbiased given the hash functions.

    Law: the report's id chooses a row, which gives the value a position h(v) of m and a sign s(v). The bit there agrees
        with the sign with p = e**epsilon / (e**epsilon + 1); every other bit is fair.
    Privacy: p / (1 - p) = e**epsilon: two values differ in one bit by p / (1 - p), or in two by 2 p and 1 / (2 - 2 p).
    Estimator: (count / n - 1/2) / (p - 1/2), where count is the number of reports whose bit h(v) agrees with s(v):
        values with the same position agree or differ in sign equally often, so that they cancel out; over an open
        domain a least-squares fit of the candidates.
    Cost: m bits beside the id; a tally has m + 1 cells for each row. Balanced rows are at least as many as codes.
    Reference: Charikar, Chen, Farach-Colton, "Finding frequent items in data streams", ICALP 2002, with the
        randomizer of Bassily, Smith, "Local, private, efficient protocols for succinct histograms", STOC 2015.
    """
    budget = check_epsilon("pcs", epsilon)
    e = odds(budget)
    chosen = sketch_rows("pcs", domain, width, lambda wide: wide + 1, values=2, hashed=rows)
    inner = Bits(chosen.g // 2, floor_unit(e / (e + 1)), UNIT // 2, "signed")
    return Mechanism("pcs", Frequency(domain), Public(chosen, inner), budget, CountCohorts())
