"""Shares within groups by randomized response on the group and, where it keeps the group, on the answer."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Table
from sottovoce.core.domain.cells import Cells
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, reject
from sottovoce.core.question import WithinGroups
from sottovoce.core.statistic.outputs import CountOutputs

NAME = "keyed-response"
MOST_CELLS = 64  # of a table whose square is sent to devices


def build(question: WithinGroups, *, epsilon: Any, value_epsilon: Any = None) -> Mechanism:
    """Algorithm 3 of the paper on group means with a frequency oracle for the answer, as one table of cells.

    Law: the true group is kept with e**epsilon1 against 1 for each other group. Where it is kept, the answer is kept
        with e**epsilon2 against 1 for each other answer; else the answer is drawn evenly. Other groups, and reasons
        for giving no answer, are cells too; a reason is one cell.
    Privacy: the largest of three ratios, between the true cell, others of its group, and those of other groups; with
        value_epsilon = epsilon2 the first of these is given and the second one is epsilon.
    Estimator: the inverse of the table, for the shares of cells; shares within groups are ratios of these.
    Cost: one byte; a specification grows with the square of the cells, of which there are at most 64. The variance of
        a share within a group is least with epsilon2 = epsilon, the default: randomized response on all cells.
    Reference: Raab, Bohr, Klede, Gmeiner, Eskofier, PoPETs 2025(4), section 6.3.4.
    """
    budget = check_epsilon(NAME, epsilon)
    pair: Any = question.domain
    cells = Cells(pair, question.reasons)
    if not question.counts_answers or cells.size > MOST_CELLS or cells.groups < 2 or cells.values < 2:
        raise ParameterError(
            f"{NAME} is for shares within groups, with at least two groups and at most {MOST_CELLS} cells."
        )
    part = budget if value_epsilon is None else check_decimal("value_epsilon", NAME, value_epsilon)
    if not 0 < part <= budget:
        raise reject("value_epsilon", NAME, f"a number in (0, {budget}]", value_epsilon)
    return Mechanism(NAME, question, _table(cells, odds(budget), odds(part)), budget, CountOutputs(), cells)


def _table(cells: Cells, e: Fraction, inner: Fraction) -> Table:
    """Rows of three weights: the own cell, other cells of the group, and all other cells.

    The own cell is e times as likely as one of another group and `inner` times as likely as another of its group. A
    reason is a group of one cell.
    """
    size, width = cells.size, cells.values
    rows = []
    for cell in range(size):
        group = range(cell - cell % width, cell - cell % width + width)
        if cell >= cells.groups * width:
            group = range(cell, cell + 1)
        whole = e + (len(group) - 1) * e / inner + (size - len(group))
        away, near = ceil(UNIT / whole), ceil(UNIT * e / inner / whole)
        row = [near if one in group else away for one in range(size)]
        row[cell] += UNIT - sum(row)
        rows.append(row)
    return _kept(rows, e)


def _kept(rows: list[list[int]], e: Fraction) -> Table:
    """Raise the least weight of a column where rounding or a row of another length left the ratio above e."""
    for place in range(len(rows)):
        least = max(ceil(row[place] / e) for row in rows)
        for row in rows:
            if row[place] < least:
                short = least - row[place]
                row[place] = least
                row[max(range(len(row)), key=row.__getitem__)] -= short
    return Table(rows)
