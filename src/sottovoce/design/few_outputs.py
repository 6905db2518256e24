"""The N-output mechanism: the best channel for a mean whose reports are one of a few numbers."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from sottovoce.core.channel import Table, Then
from sottovoce.core.domain import Domain
from sottovoce.core.errors import SottovoceError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.design.designed import MAX_INPUTS, Design, check_budget, count_inputs, shipped, uniform
from sottovoce.design.layout import Layout
from sottovoce.design.program import Program, Solution
from sottovoce.design.rows import EMPTY, Rows
from sottovoce.mechanisms.mean.common import scale

NAME = "n-output"
OUTPUTS = ((Decimal(5), 31), (Decimal(3), 15), (Decimal(0), 7))  # above which epsilon how many are usual
MAX_OUTPUTS = 32
TRIES = 32  # of the outermost report, before its best neighbourhood is searched
SCOUTS = 17  # inputs while searching; the outermost report depends little on them
_FINE = 52  # binary digits of a slope: half a step of it still is a number of 53 digits


def build(domain: Domain, *, epsilon: Any, outputs: Any = None, inputs: Any = None) -> Mechanism:
    """The unbiased channel of least average variance that reports one of at most N numbers.

    Law: a number is rounded, without bias, to one of `inputs` points of its range, so that each probability is
        piecewise linear in it; point i draws one of at most `outputs` equally spaced numbers, symmetric about the
        middle, from a table that minimises the average variance over evenly spread numbers. The outermost report is
        found by search. Two outputs are the Bernoulli mechanism; `three-output` minimises the worst case instead.
    Privacy: no column has a ratio above e**epsilon, compared in integers.
    Estimator: the mean report, mapped by the line that the rows follow exactly; unbiased for any answers.
    Cost: log2(N) bits; by default N = 7, 15 for epsilon above 3, 31 above 5. `designed` has the lower
        variance and spends a few bits more.
    Reference: Baek, Chung, "N-output mechanism: estimating statistical information from numerical data under local
        differential privacy", 2025 (arXiv 2510.11116). There reports may be unequally spaced, which is worth a few
        percent for four or five of them; here equal steps keep the mean report exactly linear in the number.
    """
    budget = check_budget(NAME, epsilon)
    scale(NAME, domain, 1)  # refuses a domain without numbers before anything is solved
    count, between = count_inputs(NAME, domain, inputs, budget)
    table = design(budget, outputs=outputs, inputs=count, between=between)
    grid = scale(NAME, domain, table.layout.inputs - 1)
    return Mechanism(NAME, Mean(domain), Then(grid, Table(table.rows)), budget, CountOutputs())


def design(epsilon: Any, *, outputs: Any = None, inputs: int = 33, between: bool = True) -> Design:
    """The table of `build` and its cost, for numbers on [-1, 1]. Two outputs always have two inputs."""
    check_integer("inputs", NAME, inputs, 2, MAX_INPUTS)
    budget = check_budget(NAME, epsilon)
    usual = next(count for least, count in OUTPUTS if budget > least)
    width = check_integer("outputs", NAME, usual if outputs is None else outputs, 2, MAX_OUTPUTS)
    layout, rows, symmetric, value = _solved(budget, width, inputs, between)
    between = between or layout.inputs != inputs
    rounding = layout.step**2 / 6 if between else 0.0
    return Design("balanced", layout, rows, symmetric, value, rounding, between)


@lru_cache(maxsize=256)
def _solved(budget: Decimal, outputs: int, inputs: int, between: bool) -> tuple[Layout, Rows, bool, float]:
    """One output less is tried as well: a middle one can be worth more than a further pair."""
    return shipped(
        NAME,
        {"outputs": outputs, "inputs": inputs, "between": between},
        budget,
        lambda ratio: min(
            (_best(ratio, width, inputs, between) for width in {outputs, max(2, outputs - 1)}),
            key=lambda solution: _total(solution, between),
        ),
        symmetric=True,
    )


def _total(solution: Solution, between: bool) -> float:
    return solution.value + (solution.layout.step**2 / 6 if between else 0.0)


def _best(ratio: float, outputs: int, inputs: int, between: bool) -> Solution:
    """The best table of a number of outputs, less those that would never be reported."""
    if outputs == 2:
        return _two(ratio)
    reach = _best_reach(ratio, outputs, min(inputs, SCOUTS) if between else inputs, between)
    solution = _average(ratio, outputs, inputs, reach, between)
    used = np.flatnonzero(solution.law.max(axis=0) > EMPTY)
    gap = int(np.gcd.reduce(np.diff(used)))
    if gap == 1:
        return solution
    fewer = int(used[-1] - used[0]) // gap + 1
    return _best(ratio, fewer, inputs, between)


def _two(ratio: float) -> Solution:
    """Two outputs need no program: their probabilities are lines, and two inputs give their ends to the last unit."""
    layout = Layout(2, 2, Fraction(math.floor((ratio - 1) / (ratio + 1) * 2**_FINE), 2**_FINE))
    likely = float(layout.mean(1))
    law = np.array([[likely, 1 - likely], [1 - likely, likely]])
    return Solution(layout, law, float(Solution(layout, law, 0.0).variances.mean()))


def _average(ratio: float, outputs: int, inputs: int, reach: float, between: bool) -> Solution:
    # Rounded down, so that no output lies nearer than asked: below 1 / tanh(epsilon / 2) nothing is unbiased.
    slope = Fraction(math.floor((outputs - 1) / (inputs - 1) / reach * 2**_FINE), 2**_FINE)
    program = Program(Layout(inputs, outputs, slope), ratio)
    return program.average(uniform(inputs, between=between).tolist())


def _best_reach(ratio: float, outputs: int, inputs: int, between: bool) -> float:
    """The outermost report of least average variance, which may have several local minima."""
    least = (ratio + 1) / (ratio - 1)

    def value(reach: float) -> float:
        try:
            return _average(ratio, outputs, inputs, float(reach), between).value
        except SottovoceError:  # near the least reach a large budget is almost infeasible
            return math.inf

    tries = np.linspace(least, 1.5 * least + 0.5, TRIES)
    values = [value(reach) for reach in tries]
    best = int(np.argmin(values))
    around = (tries[max(best - 1, 0)], tries[min(best + 1, TRIES - 1)])
    minimum = minimize_scalar(value, bounds=around, method="bounded", options={"xatol": 1e-4 * least})
    return float(minimum.x) if minimum.fun < values[best] else float(tries[best])
