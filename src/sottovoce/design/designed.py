"""Designed tables: the channel for a mean that a linear program finds best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Table, Then
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON, check_epsilon, check_integer, reject
from sottovoce.core.question import Mean
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.design.layout import Floats, Layout, wide
from sottovoce.design.program import BULGE, Program, Solution, worst_variance
from sottovoce.design.rows import RepairError, Rows, check_rows, integer_rows, trimmed
from sottovoce.design.stored import stored
from sottovoce.estimate.prior import Prior
from sottovoce.mechanisms.mean.common import scale

OBJECTIVES = ("balanced", "worst-case", "prior")
INPUTS = 33
# Rounding to few inputs would cost more than the noise of a large budget: from which epsilon on to take how many.
MORE_INPUTS = ((Decimal(7), 129), (Decimal(5), 65))
MAX_INPUTS = 257
LEAST_EPSILON = Decimal("0.001")
# How far above the optimum the worst case of a balanced table may be.
PRICE = 1.1
# Relative part of the odds left unused, so that integers can be adjusted; tried in turn, all below the 1e-6 allowed.
SHAVES = (2e-7, 5e-7, 9e-7)
PLACES = 12  # digits of a prior's weights, in the key of a design


@dataclass(frozen=True, slots=True)
class Design:
    """A designed table and what it costs, in the numbers of the range [-1, 1].

    `value` is the optimum of the program: the largest variance for "worst-case", an average else. For the
    averages it leaves out `rounding`, the average variance that rounding to the inputs adds. `variances` and `worst`
    are those of the integer rows that are shipped; `worst` is over every number of the range.
    """

    objective: str
    layout: Layout
    rows: Rows
    symmetric: bool
    value: float
    rounding: float
    between: bool

    @property
    def variances(self) -> Floats:
        """Variances of a report at each input."""
        gaps = self.layout.y[None, :] - self.layout.x[:, None]
        return np.asarray((np.array(self.rows, float) / UNIT * gaps**2).sum(axis=1))

    @property
    def worst(self) -> float:
        """The largest variance over every number that can be answered, rounding included."""
        return worst_variance(self.variances, self.layout.step, between=self.between)


def build(
    domain: Domain, *, epsilon: Any, objective: str = "balanced", inputs: Any = None, prior: Prior | None = None
) -> Mechanism:
    """The unbiased channel of least variance that a budget allows, found by a linear program.

    Law: a number is rounded, without bias, to one of `inputs` points of its range; point i draws report y with the
        probability q(y|i) of a table. The table solves: minimise the objective over q and m subject to
        m_y <= q(y|i) <= e**epsilon m_y, rows that sum to 1, and mean reports that are linear in i. "worst-case" has the
        least largest variance over every number; "prior" the least average over a belief `prior`; "balanced" the
        least average over evenly spread numbers whose worst case is within 10 % of the least.
    Privacy: no column has a ratio above e**epsilon, compared in integers; at most 1e-6 of epsilon is left unused.
    Estimator: the mean report, mapped by the line that the rows follow exactly; unbiased for any answers.
    Cost: one byte; the table is part of the specification, 33 rows of 35 to 105 integers (65 rows for epsilon above 5,
        129 above 7, where rounding to fewer inputs would cost more than the noise). Under "prior" numbers that
        are rare in the prior can have a large variance; the estimate stays unbiased.
    Reference: the corrected program of Wei et al., "AAA: an adaptive mechanism for locally differentially private mean
        estimation", VLDB 2024, on one output grid that all inputs share (see decision 010).
    """
    budget = check_budget("designed", epsilon)
    scale("designed", domain, 1)  # refuses a domain without numbers before anything is solved
    count, between = count_inputs("designed", domain, inputs, budget)
    if prior is not None and domain.numbers is not None:
        low, high, origin = domain.numbers
        prior = _check_prior(prior).scaled(float(low + origin), float(high + origin))
    table = design(budget, objective=objective, inputs=count, prior=prior, between=between)
    return Mechanism(
        "designed", Mean(domain), Then(scale("designed", domain, count - 1), Table(table.rows)), budget, CountOutputs()
    )


def design(
    epsilon: Any, *, objective: str = "balanced", inputs: int = INPUTS, prior: Prior | None = None, between: bool = True
) -> Design:
    """The table of `build` and its cost, for numbers and a prior on [-1, 1].

    With `between=False` every answer is an input, so rounding costs nothing.
    """
    budget = check_budget("designed", epsilon)
    check_integer("inputs", "designed", inputs, 2, MAX_INPUTS)
    if objective not in OBJECTIVES:
        raise reject("objective", "designed", f"one of {', '.join(OBJECTIVES)}", objective)
    if (objective == "prior") != (prior is not None):
        raise ParameterError("The 'prior' parameter of designed must be given with objective='prior', and only then.")
    if prior is None:
        weights = uniform(inputs, between=between)
        rounding = Layout(inputs, 2, Fraction(1)).step ** 2 / 6 if between else 0.0
    else:
        weights = _check_prior(prior).rounded(-1, 1, inputs - 1)
        rounding = max(0.0, float(weights @ Layout(inputs, 2, Fraction(1)).x ** 2) - prior.second_moment)
    key = None if prior is None else _key(weights)
    layout, rows, symmetric, value = _solved(budget, objective, inputs, key, between)
    return Design(objective, layout, rows, symmetric, value, rounding, between)


def check_budget(owner: str, epsilon: Any) -> Decimal:
    """A budget that leaves room for the solver's floats."""
    budget = check_epsilon(owner, epsilon)
    if budget < LEAST_EPSILON:
        raise reject("epsilon", owner, f"a number in [{LEAST_EPSILON}, {MAX_EPSILON}]", epsilon)
    return budget


def count_inputs(owner: str, domain: Domain, inputs: Any, budget: Decimal) -> tuple[int, bool]:
    """How many points of the range have a row, and whether an answer can lie between two of them."""
    numbers = domain.numbers
    possible = domain.size if numbers is not None and domain.size == numbers.high - numbers.low + 1 else None
    usual = next((count for least, count in MORE_INPUTS if budget > least), INPUTS)
    count = min(usual, possible or usual) if inputs is None else check_integer("inputs", owner, inputs, 2, MAX_INPUTS)
    return count, count != possible


def uniform(inputs: int, *, between: bool) -> Floats:
    """How often each input is drawn if answers are evenly spread: over the range, or over the inputs."""
    if not between:
        return np.full(inputs, 1 / inputs)
    weights = np.full(inputs, 1 / (inputs - 1))
    weights[[0, -1]] /= 2
    return weights


def _check_prior(prior: Any) -> Prior:
    if not isinstance(prior, Prior):
        raise reject("prior", "designed", "a Prior, such as Prior.normal(5, 1, 0, 10)", prior)
    return prior


def _key(weights: Floats) -> tuple[float, ...]:
    """Weights in round numbers; those of a symmetric prior exactly symmetric."""
    if np.abs(weights - weights[::-1]).max() < 10.0**-PLACES:
        weights = (weights + weights[::-1]) / 2
    return tuple(round(float(weight), PLACES) for weight in weights)


@lru_cache(maxsize=256)
def _solved(
    budget: Decimal, objective: str, inputs: int, weights: tuple[float, ...] | None, between: bool
) -> tuple[Layout, Rows, bool, float]:
    """Grid, rows, symmetry and the program's value; they do not depend on the range."""
    symmetric = weights is None or weights == weights[::-1]
    layout = wide(inputs, float(budget))
    asked = {"objective": objective, "inputs": inputs, "weights": weights, "between": between}

    def solve(ratio: float) -> Solution:
        program = Program(layout, ratio, symmetric=symmetric)
        if weights is not None:
            return program.average(weights)
        least = program.worst(between=between)
        if objective == "worst-case":
            return least
        bound = PRICE * least.value - (BULGE * layout.step**2 if between else 0)
        return program.average(uniform(inputs, between=between).tolist(), bound=bound, between=between)

    return shipped("designed", asked, budget, solve, symmetric=symmetric)


def shipped(
    name: str, asked: Mapping[str, Any], budget: Decimal, solve: Callable[[float], Solution], *, symmetric: bool
) -> tuple[Layout, Rows, bool, float]:
    """The rows of `integer_table`, from the disk if they were found before; checked in both cases."""

    def plain() -> dict[str, Any]:
        layout, rows, value = integer_table(budget, solve, symmetric=symmetric)
        sizes = {"inputs": layout.inputs, "outputs": layout.outputs}
        return {**sizes, "slope": layout.slope.as_integer_ratio(), "rows": rows, "value": value.hex()}

    def read(content: Any) -> tuple[Layout, Rows, bool, float]:
        layout = Layout(int(content["inputs"]), int(content["outputs"]), Fraction(*map(int, content["slope"])))
        rows = tuple(tuple(map(int, row)) for row in content["rows"])
        if layout.inputs not in (asked["inputs"], 2):  # two outputs need two inputs only
            raise RepairError("A designed table has another number of inputs than was asked for.")
        check_rows(layout, rows, odds(budget), symmetric=symmetric)
        return layout, rows, symmetric, float.fromhex(content["value"])

    return stored(name, {**asked, "epsilon": str(budget), "symmetric": symmetric}, plain, read)


def integer_table(
    budget: Decimal, solve: Callable[[float], Solution], *, symmetric: bool
) -> tuple[Layout, Rows, float]:
    """The first solution whose integer rows pass all checks, for odds further and further below e**epsilon."""
    most = odds(budget)
    failure = ""
    for shave in SHAVES:
        solution = solve(float(most) * (1 - shave * min(1.0, float(budget))))
        layout, law = trimmed(solution.layout, solution.law)
        try:
            return layout, integer_rows(layout, law, most, symmetric=symmetric), float(solution.value)
        except RepairError as error:
            failure = str(error)
    raise SottovoceError(f"No exact table was found for epsilon {budget} and these inputs: {failure}")
