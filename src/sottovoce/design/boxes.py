"""Waves over the cells of a grid, designed for the shares of all boxes."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Block, ShiftSets
from sottovoce.core.domain import Domain
from sottovoce.core.errors import SottovoceError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.design.coded import coded_bits
from sottovoce.design.descent import Cost
from sottovoce.design.stored import stored
from sottovoce.estimate.boxes.queries import BoxQueries
from sottovoce.mechanisms.distribution.grid_common import grid_of

NAME = "torus-wave"
MOST_CELLS = 1 << 14
PATTERNS = 4


def build(domain: Domain, *, epsilon: Any, buckets: Any = None, patterns: Any = None) -> Mechanism:
    """A wave of bit patterns over the cells of a grid: likelier reports are shifts of patterns with a 1 at the answer.

    Law: the cells of a grid over several fields lie row after row on a circle, so that shifts move along every axis.
        Patterns of bits lie on the same circle. A report is a pattern and a shift. With probability
        e**epsilon ones / (e**epsilon ones + zeros) it moves a uniform one of all ones to the cell of the answer, else
        a uniform one of all zeros. The patterns make the mean variance of the shares of all boxes small.
    Privacy: a shifted pattern is likelier by e**epsilon where it has a 1.
    Estimator: the least-variance unbiased linear decoder, by the fast Fourier transform; likelihoods work too.
    Cost: two bytes; the patterns are part of the specification, four bits for each cell. Found in seconds for up to
        16,384 cells.
    Reference: ours; with one field it is `coded-wave`.
    """
    budget = check_epsilon(NAME, epsilon)
    question, view = grid_of(NAME, domain, buckets, MOST_CELLS)
    number = PATTERNS if patterns is None else check_integer("patterns", NAME, patterns, 1, 16)
    sizes = tuple(field.size or 0 for _, field in view.parts)
    return Mechanism(NAME, question, wave(budget, sizes, number), budget, CountOutputs(), domain=view)


@lru_cache(maxsize=32)
def wave(budget: Decimal, sizes: tuple[int, ...], patterns: int) -> Block:
    """The wave that a search finds for a grid with so many buckets along each axis."""
    wanted, e = BoxQueries.over(sizes), odds(budget)
    even = np.full(wanted.bins, 1 / wanted.bins)
    sets = stored(
        NAME,
        {"epsilon": str(budget), "sizes": sizes, "patterns": patterns},
        lambda: _searched(Cost(wanted, float(e), even), patterns),
        lambda texts: _read(texts, wanted.bins, patterns),
    )
    return Block(sets, floor_unit(e * sets.size / (e * sets.size + sets.outputs - sets.size)))


def _searched(price: Cost, patterns: int) -> list[str]:
    bits = coded_bits(price, price.wanted.bins, patterns)
    return ["".join("01"[int(bit)] for bit in row) for row in bits]


def _read(texts: Any, cells: int, patterns: int) -> ShiftSets:
    """The sets of what was found, which must be as large as was asked."""
    if (len(texts), {len(row) for row in texts}) != (patterns, {cells}):
        raise SottovoceError("A design has another size than was asked for.")
    return ShiftSets(cells, texts)
