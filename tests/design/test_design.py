"""Designed tables: the published targets, exact integers, and optima that others certify."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import cvxpy
import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, loss, odds
from sottovoce.core.channel import Rounding, Table, Then
from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.design import designed, few_outputs
from sottovoce.design.designed import design
from sottovoce.design.layout import Layout, wide
from sottovoce.design.program import Program, worst_variance
from sottovoce.design.rows import RepairError, check_rows, integer_rows
from sottovoce.estimate.prior import Prior

pytestmark = pytest.mark.slow  # linear programs and simulations; the quick part has the contract

EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
PRIORS = {
    "normal": Prior.normal(0, 0.1, -1, 1),
    "exponential": Prior.exponential(6, -1, 1),
    "beta": Prior.beta(0.5, 0.5, -1, 1),
    "even": Prior.uniform(-1, 1),
}
GOALS = [("worst-case", None), ("balanced", None), ("prior", "normal"), ("prior", "exponential"), ("prior", "beta")]


def exactly(found: designed.Design, epsilon: str) -> None:
    """Everything a table promises, counted again without the checks of the package."""
    most = odds(Decimal(epsilon))
    rows = found.rows
    assert all(type(weight) is int and weight >= 0 for row in rows for weight in row)
    assert all(sum(row) == UNIT for row in rows)
    means = [Fraction(sum(y * weight for y, weight in enumerate(row)), UNIT) for row in rows]
    assert all(later - earlier == found.layout.slope for earlier, later in pairwise(means))
    assert means[0] + means[-1] == found.layout.outputs - 1
    ratios = [Fraction(max(column), min(column)) for column in zip(*rows, strict=True) if max(column)]
    assert max(ratios) <= most
    assert Decimal(epsilon) - loss(max(ratios)) <= Decimal("1e-6")
    if found.symmetric:
        assert all(row == mirror[::-1] for row, mirror in zip(rows, rows[::-1], strict=True))


def hold(epsilon: float) -> tuple[float, float, float]:
    """The worst case of Duchi, of the piecewise and of the hybrid mechanism on [-1, 1], from their papers."""
    duchi = ((math.exp(epsilon) + 1) / math.expm1(epsilon)) ** 2
    half = math.exp(epsilon / 2)
    piecewise = 4 * half / (3 * (half - 1) ** 2)
    share = 1 - math.exp(-epsilon / 2) if epsilon > 0.61 else 0.0
    at = [share * (x / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)) + (1 - share) * (duchi - x) for x in (0, 1)]
    return duchi, piecewise, max(at)


# --- targets ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("epsilon", "target"), [("0.5", 16.01), ("1", 3.995), ("2", 0.868), ("4", 0.1290), ("6", 0.0290)]
)
def test_worst_case_of_the_shipped_table(epsilon, target):
    found = design(epsilon, objective="worst-case")
    assert found.layout.inputs == 33
    assert found.worst <= target
    assert found.value <= found.worst * (1 + 1e-6)
    fine = [variance_at(found, x) for x in np.linspace(-1, 1, 1001)]
    assert max(fine) <= found.worst * (1 + 1e-12)
    assert found.worst == pytest.approx(max(fine), rel=1e-3)


def variance_at(found: designed.Design, x: float) -> float:
    """E[y**2] - x**2 of the two rows beside x: another way to the same number."""
    place = min(int((x + 1) / found.layout.step), found.layout.inputs - 2)
    up = (x + 1) / found.layout.step - place
    law = np.array(found.rows[place], float) * (1 - up) + np.array(found.rows[place + 1], float) * up
    return float(law @ found.layout.y**2 / UNIT - x**2)


@pytest.mark.parametrize(
    ("epsilon", "name", "target"),
    [
        ("1", "normal", 3.362),
        ("1", "exponential", 3.796),
        ("1", "beta", 3.948),
        ("4", "normal", 0.0480),
        ("4", "exponential", 0.0823),
        ("4", "beta", 0.1193),
    ],
)
def test_prior_weighted_variance(epsilon, name, target):
    prior = PRIORS[name]
    found = design(epsilon, objective="prior", inputs=17, prior=prior)
    assert found.layout.slope == 1
    assert found.value == pytest.approx(target, rel=0.01)
    weights = prior.rounded(-1, 1, 16)
    assert weights @ found.variances == pytest.approx(found.value, rel=1e-6)
    place = (np.array(prior.values) + 1) * 8
    up = place - np.floor(place)
    assert found.rounding == pytest.approx(np.array(prior.weights) @ (up * (1 - up)) / 64, rel=1e-6)
    starts = np.arange(0, len(prior.values), 16)
    total = [variance_at(found, prior.values[start]) for start in starts]
    share = np.add.reduceat(prior.weights, starts)
    assert share @ total == pytest.approx(found.value + found.rounding, rel=0.01)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 4, 6])
def test_worst_case_is_below_the_closed_forms(epsilon):
    assert design(epsilon, objective="worst-case").worst < min(hold(epsilon))
    if epsilon >= 1:
        assert design(epsilon).worst < 1.1 * min(hold(epsilon))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_balanced_pays_a_tenth_of_the_worst_case_for_the_average(epsilon):
    least, balanced = design(epsilon, objective="worst-case"), design(epsilon)
    weights = designed.uniform(33, between=True)
    assert balanced.worst <= 1.1 * least.worst
    assert weights @ balanced.variances <= weights @ least.variances * (1 + 1e-9)
    assert design(epsilon, objective="prior", prior=PRIORS["even"]).value <= balanced.value * (1 + 1e-9)


def test_a_prior_design_is_the_best_for_its_prior():
    found = {name: design(2, objective="prior", inputs=17, prior=prior) for name, prior in PRIORS.items()}
    found["balanced"], found["worst-case"] = design(2, inputs=17), design(2, objective="worst-case", inputs=17)
    for name, prior in PRIORS.items():
        weights = prior.rounded(-1, 1, 16)
        average = {other: weights @ table.variances for other, table in found.items()}
        assert min(average, key=average.get) == name


# --- exact integers ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("objective", "name"), GOALS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_tables_are_exact(epsilon, objective, name):
    found = design(epsilon, objective=objective, prior=None if name is None else PRIORS[name])
    exactly(found, epsilon)
    assert found.symmetric == (name != "exponential")
    assert found.layout.outputs < 130


@pytest.mark.parametrize("inputs", [2, 3, 5, 8, 9, 17])
@pytest.mark.parametrize("epsilon", ["0.001", "0.01", "0.3", "3", "12", "16", "19.565", "20"])
def test_tables_are_exact_at_the_ends_of_the_budget(epsilon, inputs):
    exactly(design(epsilon, objective="worst-case", inputs=inputs), epsilon)
    exactly(design(epsilon, inputs=inputs, between=False), epsilon)


def test_large_budgets_nearly_tell_the_truth():
    for inputs in (32, 33):
        assert design(20, inputs=inputs).value < 1e-6


def test_same_parameters_give_the_same_rows():
    first = design("1.0")
    designed._solved.cache_clear()
    assert design(Decimal("1.00")).rows == first.rows
    assert design(1).rows is design("1").rows


def test_nothing_unchecked_is_let_out():
    layout = Layout(3, 3, Fraction(1, 4))
    most = odds(Decimal(1))
    solution = Program(layout, float(most) * (1 - 2e-7)).worst()
    rows = [list(row) for row in integer_rows(layout, solution.law, most, symmetric=True)]
    check_rows(layout, rows, most, symmetric=True)
    for change, words in [((1, 0, 0), "sum"), ((1, -1, 0), "biased")]:
        wrong = [[a + b for a, b in zip(rows[0], change, strict=True)], *rows[1:]]
        with pytest.raises(RepairError, match=words):
            check_rows(layout, wrong, most)
    with pytest.raises(RepairError, match="budget"):
        check_rows(layout, rows, most * (1 - Fraction(1, 10**6)))
    with pytest.raises(RepairError, match="budget"):
        integer_rows(layout, Program(layout, 2 * float(most)).worst().law, most, symmetric=True)


def test_a_failed_repair_is_one_sentence():
    def solve(ratio):
        return Program(Layout(3, 3, Fraction(1, 2)), 2 * ratio).worst()

    with pytest.raises(SottovoceError, match="No exact table was found for epsilon 1 and these inputs") as caught:
        designed.shipped("designed", {}, Decimal(1), solve, symmetric=True)
    assert str(caught.value).count(".") == 1


# --- optimality -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_an_independent_solver_finds_the_same_optimum(epsilon):
    """The program as it is written down, all rows, other variables and another solver."""
    layout = wide(9, epsilon)
    weights = Prior.exponential(3, -1, 1).rounded(-1, 1, 8)
    gaps = (layout.y[None, :] - layout.x[:, None]) ** 2
    law = cvxpy.Variable((9, layout.outputs), nonneg=True)
    least = cvxpy.Variable((1, layout.outputs), nonneg=True)
    ones = np.ones((9, 1))
    rules = [law >= ones @ least, law <= math.exp(epsilon) * (ones @ least)]
    rules += [cvxpy.sum(law, axis=1) == 1, law @ layout.y == layout.x]
    variances = cvxpy.sum(cvxpy.multiply(law, gaps), axis=1)
    quarters = [(1 - f) * variances[:-1] + f * variances[1:] + f * (1 - f) * layout.step**2 for f in (0.25, 0.5, 0.75)]
    worst = cvxpy.maximum(cvxpy.max(variances), *[cvxpy.max(part) for part in quarters])
    for objective, mine in [
        (worst, Program(layout, math.exp(epsilon)).worst()),
        (weights @ variances, Program(layout, math.exp(epsilon), symmetric=False).average(weights)),
    ]:
        problem = cvxpy.Problem(cvxpy.Minimize(objective), rules)
        problem.solve(solver=cvxpy.CLARABEL)
        assert problem.value == pytest.approx(mine.value, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_a_wider_or_finer_grid_of_outputs_gains_little(epsilon):
    """That the reach is enough shows in an unchanged optimum; a grid twice as fine is worth less than two percent."""
    layout, ratio = wide(17, epsilon), math.exp(epsilon)
    wider = Layout(17, 2 * round(0.7 * layout.outputs) + 1, layout.slope)
    finer = Layout(17, 2 * layout.outputs - 1, 2 * layout.slope)
    weights = PRIORS["exponential"].rounded(-1, 1, 16)
    for symmetric in (True, False):
        values = []
        for grid in (layout, wider, finer):
            program = Program(grid, ratio, symmetric=symmetric)
            values.append((program.worst() if symmetric else program.average(weights)).value)
        assert values[1] == pytest.approx(values[0], rel=1e-4)
        assert values[0] * 0.98 <= values[2] <= values[0] * (1 + 1e-9)


def test_half_of_the_rows_are_enough_for_symmetric_goals():
    for inputs in (8, 9):
        layout = wide(inputs, 1.0)
        half, whole = (Program(layout, math.e, symmetric=symmetric).worst() for symmetric in (True, False))
        assert half.value == pytest.approx(whole.value, rel=1e-9)
        assert half.law == pytest.approx(half.law[::-1, ::-1], abs=1e-15)


def test_variance_between_inputs_is_the_top_of_a_parabola():
    at, step = [1.0, 1.1, 0.2], 0.5
    tops = [(1 - f) * a + f * b + f * (1 - f) * step**2 for a, b in pairwise(at) for f in np.linspace(0, 1, 10001)]
    assert worst_variance(at, step) == pytest.approx(max(tops), abs=1e-9)
    assert worst_variance(at, step, between=False) == 1.1


# --- mechanisms -------------------------------------------------------------------------------------------------------
def test_the_mechanism_is_a_rounding_and_a_table():
    m = designed.build(sv.Interval("-3", "5"), epsilon=2)
    assert isinstance(m.channel, Then)
    assert m.channel.first == Rounding("-3", "5", 32)
    assert isinstance(m.channel.second, Table)
    assert m.channel.second.rows == design(2).rows
    assert m.channel.ratio() <= odds(Decimal(2))
    assert 2 - 1e-6 <= m.epsilon <= 2
    assert designed.build(sv.Interval("-3", "5"), epsilon="2.0").fingerprint == m.fingerprint


def test_whole_numbers_need_no_rounding():
    m = designed.build(sv.Integers(1, 5), epsilon=4, objective="worst-case")
    assert m.channel.first.steps == 4
    alone = design(4, objective="worst-case", inputs=5, between=False)
    assert m.channel.second.rows == alone.rows
    assert alone.rounding == 0
    assert alone.worst < design(4, objective="worst-case", inputs=5).worst
    assert designed.build(sv.Integers(1, 100), epsilon=1).channel.first.steps == 32


def test_a_prior_speaks_the_numbers_of_the_domain():
    m = designed.build(sv.Integers(10, 26), epsilon=1, objective="prior", prior=Prior.normal(18, "0.8", 10, 26))
    expected = design(1, objective="prior", inputs=17, prior=PRIORS["normal"], between=False)
    assert m.channel.second.rows == expected.rows


BOX = sv.Interval(0, 1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: designed.build(BOX, epsilon=0), "epsilon"),
        (lambda: designed.build(BOX, epsilon="0.0001"), r"a number in \[0.001, 20\]"),
        (lambda: designed.build(BOX, epsilon=1, objective="best"), "one of balanced, worst-case, prior"),
        (lambda: designed.build(BOX, epsilon=1, objective=["prior"]), "one of balanced, worst-case, prior"),
        (lambda: designed.build(BOX, epsilon=1, objective="prior"), "given with objective='prior'"),
        (lambda: designed.build(BOX, epsilon=1, prior=Prior.uniform(0, 1)), "given with objective='prior'"),
        (lambda: designed.build(BOX, epsilon=1, objective="prior", prior=[1, 2]), "a Prior"),
        (lambda: designed.build(BOX, epsilon=1, objective="prior", prior=Prior.of([2])), "outside the range"),
        (lambda: designed.build(BOX, epsilon=1, inputs=1), "integer in"),
        (lambda: designed.build(sv.Categories(["a", "b"]), epsilon=1), "domain of numbers"),
        (lambda: few_outputs.build(BOX, epsilon=1, outputs=1), "integer in"),
        (lambda: few_outputs.build(BOX, epsilon="1e-9"), "a number in"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(make, words):
    with pytest.raises(ParameterError, match=words) as caught:
        make()
    assert str(caught.value).endswith(".")


# --- few outputs ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("outputs", [2, 3, 4, 7])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "20"])
def test_few_outputs_are_exact(epsilon, outputs):
    found = few_outputs.design(epsilon, outputs=outputs)
    exactly(found, epsilon)
    assert 2 <= found.layout.outputs <= outputs


def test_two_outputs_are_the_bernoulli_mechanism():
    for epsilon in ("0.5", "2", "6"):
        found = few_outputs.design(epsilon, outputs=2)
        bound = 1 / math.tanh(float(epsilon) / 2)
        assert found.layout.y[-1] == pytest.approx(bound, rel=1e-6)
        assert found.value + found.rounding == pytest.approx(bound**2 - 1 / 3, rel=1e-6)


def test_more_outputs_are_better_and_never_better_than_designed():
    for epsilon in (1, 4):
        averages = []
        for outputs in (2, 3, 4, 5, 7):
            found = few_outputs.design(epsilon, outputs=outputs)
            averages.append(found.value + found.rounding)
        best = design(epsilon, objective="prior", prior=PRIORS["even"])
        assert averages == sorted(averages, reverse=True)
        assert averages[-1] > best.value + best.rounding


def test_three_outputs_against_the_mechanism_of_three_outputs():
    """`three-output` has the least worst case, so its average can only be larger."""
    found = few_outputs.design(2, outputs=3)
    rows = sv.mechanism("three-output", sv.Interval(-1, 1), epsilon=2).channel.second.rows
    reach = 1 / (2 * (rows[2][2] / UNIT + rows[2][1] / UNIT / 2) - 1)
    other = [reach**2 * (1 - (1 - abs(x)) * rows[1][1] / UNIT - abs(x) * rows[0][1] / UNIT) - x**2 for x in (0, 1)]
    assert found.value + found.rounding < (other[0] + other[1] + 1) / 2 - 1 / 3


def test_the_n_output_mechanism():
    m = few_outputs.build(sv.Interval(0, 10), epsilon=1, outputs=5)
    assert m.name == "n-output"
    assert m.channel.outputs == 5
    assert few_outputs.build(sv.Interval(0, 10), epsilon=1, outputs=2).channel.first.steps == 1
