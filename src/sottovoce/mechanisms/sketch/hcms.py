"""Apple's Hadamard count-mean sketch: one noisy entry of the Hadamard transform of a row."""

from __future__ import annotations

from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Block, HadamardSets, Public
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.mechanisms.sketch.common import rows as sketch_rows


def build(domain: Domain, *, epsilon: Any, width: int | None = None, rows: int | None = None) -> Mechanism:
    """The Hadamard count-mean sketch with balanced rows, so that its estimate is unbiased given the hash functions.

    Law: the report's id chooses a row. An entry of the transform and its sign are one of 2 m outputs; with
        p = e**epsilon / (e**epsilon + 1) a uniform one of the m that agree with h(v), else one of the others.
    Privacy: p / (1 - p) = e**epsilon.
    Estimator: (count / n - q) / (p - q) with q = p/m + (1 - 1/m) / 2, where count is the number of reports that agree
        with h(v); over an open domain a least-squares fit of the candidates.
    Cost: log2(2 m) bits beside the id; a tally has 2 m cells for each row. Balanced rows are at least as many as codes.
    Reference: Differential Privacy Team, Apple, "Learning with privacy at scale", 2017, whose rows are random.
    """
    budget = check_epsilon("hcms", epsilon)
    e = odds(budget)
    chosen = sketch_rows("hcms", domain, width, lambda wide: 2 * wide, hashed=rows)
    inner = Block(HadamardSets(chosen.g, 2 * chosen.g, 1), floor_unit(e / (e + 1)))
    return Mechanism("hcms", Frequency(domain), Public(chosen, inner), budget, CountSeeds())
