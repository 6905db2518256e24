"""Published designs for contingency tables by name, each with the rule of its authors for its parameters.

Cormode, Kulkarni and Srivastava ("Marginal release under local differential privacy", SIGMOD 2018) compare six: a
report about the input (Inp) or about one table (Marg), by parallel randomized response of all cells (RR), preferential
sampling of one cell (PS), or one Hadamard coefficient (HT). Zhang et al. ("CALM", CCS 2018) ask a few larger tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import Any

from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_fraction, check_integer
from sottovoce.core.question import Joint
from sottovoce.core.question.joint import MOST_CELLS
from sottovoce.estimate.joint.residuals import Names
from sottovoce.protocols.shares.parities import ParityBlocks
from sottovoce.protocols.shares.tables import TableDesign, TableViews

UNARY, PREFERENTIAL = "oue", "grr"
THRESHOLD = "0.001"  # of CALM: the largest squared error from noise of one table


def _input(question: Joint, epsilon: Any, oracle: str) -> TableViews:
    """One report about the cell of all fields together."""
    return TableViews(question.domain, question.tables, epsilon, [tuple(question.sizes)], [1], oracle)


def _marginals(question: Joint, epsilon: Any, oracle: str) -> TableViews:
    """One report about one of the tables, all equally likely."""
    equal = [1] * len(question.tables)
    return TableViews(question.domain, question.tables, epsilon, question.tables, equal, oracle)


def _ways(question: Joint) -> int:
    """The number of fields of each table, where all tables of so many yes/no fields are asked for."""
    ways = len(question.tables[0])
    if {*question.sizes.values()} != {2} or Joint(question.domain, ways) != question:
        raise ParameterError("Hadamard coefficients need all tables of so many fields, with two answers each.")
    return ways


def inp_rr(question: Joint, epsilon: Any) -> TableDesign:
    """InpRR: randomized bits for all cells of all fields together, with the probabilities of least variance."""
    return _input(question, epsilon, UNARY)


def inp_ps(question: Joint, epsilon: Any) -> TableDesign:
    """InpPS: randomized response on the cell of all fields together."""
    return _input(question, epsilon, PREFERENTIAL)


def inp_ht(question: Joint, epsilon: Any) -> TableDesign:
    """InpHT: one Hadamard coefficient of the input; see `ParityBlocks.inp_ht`."""
    return ParityBlocks.inp_ht(question.domain, _ways(question), epsilon)


def marg_rr(question: Joint, epsilon: Any) -> TableDesign:
    """MargRR: randomized bits for all cells of one table."""
    return _marginals(question, epsilon, UNARY)


def marg_ps(question: Joint, epsilon: Any) -> TableDesign:
    """MargPS: randomized response on the cell of one table."""
    return _marginals(question, epsilon, PREFERENTIAL)


def marg_ht(question: Joint, epsilon: Any) -> TableDesign:
    """MargHT: one Hadamard coefficient of one table; see `ParityBlocks.marg_ht`."""
    return ParityBlocks.marg_ht(question.domain, _ways(question), epsilon)


PUBLISHED: dict[str, Callable[[Joint, Any], TableDesign]] = {
    "inp-rr": inp_rr,
    "inp-ps": inp_ps,
    "inp-ht": inp_ht,
    "marg-rr": marg_rr,
    "marg-ps": marg_ps,
    "marg-ht": marg_ht,
}


def calm(question: Joint, epsilon: Any, participants: int, *, threshold: Any = THRESHOLD) -> TableViews:
    """CALM's choice of tables: m tables of l fields each, asked of an equal part of the participants.

    For each l the tables cover all pairs of fields. The largest l whose mean squared error from noise, summed over the
    cells of a table, is at most `threshold` is taken, or l = 2 if there is none. Each table is asked through the better
    of randomized response and optimised unary encoding, which has the variance of local hashing. Use the decoder
    "calm" on the result: tables that no view holds are completed by maximum entropy.
    """
    people = check_integer("participants", "calm", participants, 1, 1 << 53)
    most = float(check_fraction("threshold", "calm", threshold))
    names = tuple(question.sizes)
    chosen = None
    for size in range(2, len(names) + 1):
        views = covering(names, size)
        if any(math.prod(question.sizes[name] for name in view) > MOST_CELLS for view in views):
            break
        design = min((_asked(question, epsilon, views, oracle) for oracle in (UNARY, PREFERENTIAL)), key=_noise)
        if chosen is None or len(views) * _noise(design) / people <= most:
            chosen = design
    if chosen is None:
        raise ParameterError(f"CALM needs at least two fields with at most {MOST_CELLS:,} cells together.")
    return chosen


def _asked(question: Joint, epsilon: Any, views: list[Names], oracle: str) -> TableViews:
    """The views with equal parts of the participants. What they hold is wanted; the rest is left to the decoder."""
    held = [names for names in question.tables if any({*names} <= {*view} for view in views)]
    wanted = held or views
    return TableViews(question.domain, wanted, epsilon, views, [1] * len(views), oracle)


def _noise(design: TableViews) -> float:
    """The largest squared error of one report about a view, summed over its cells."""
    return max(design.own_variance(view) for view in design.views)


def covering(names: Names, size: int) -> list[Names]:
    """Few sets of `size` names that hold every pair of them: the set with the most new pairs is added in turn."""
    left = {frozenset(pair) for pair in combinations(names, 2)}
    views: list[Names] = []
    while left:
        chosen: set[str] = set(min(left, key=lambda pair: sorted(map(names.index, pair))))
        while len(chosen) < min(size, len(names)):
            chosen.add(max((name for name in names if name not in chosen), key=lambda name: _new(left, chosen, name)))
        left -= {frozenset(pair) for pair in combinations(chosen, 2)}
        views.append(tuple(name for name in names if name in chosen))
    return views


def _new(left: set[frozenset[str]], chosen: Iterable[str], name: str) -> int:
    return sum(frozenset((name, other)) in left for other in chosen)
