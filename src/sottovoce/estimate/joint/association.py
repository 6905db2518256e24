"""Measures of association in a table of two attributes: relative risk, odds ratio, Cramer's V.

Ratios of products of shares have intervals by inversion: all ratios r for which "top - r * bottom = 0" is not rejected,
where top and bottom are products of two linear estimates. That is Fieller's method with the exact first and second
moments of products of normal variables. It needs no logarithm of a share, which noise may make negative.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import Floats, Functional, deviate
from sottovoce.estimate.request import Target

if TYPE_CHECKING:
    from sottovoce.estimate.joint.table import TableEvidence

RISK, ODDS = "relative risk", "odds ratio"
COMMON = 3.0  # standard errors above zero at which the total of an answer must be to count in Cramer's V
LEAST_KEPT = 0.8  # part of the people whose answers must count in Cramer's V


@dataclass(frozen=True, slots=True)
class Ratio:
    """A relative risk or an odds ratio. `value` is NaN where noise leaves no positive ratio."""

    measure: str
    value: float
    low: float
    high: float  # infinite if the reports do not bound it
    level: float
    about: str

    def explain(self) -> str:
        """The ratio in one sentence."""
        value = "cannot be estimated" if np.isnan(self.value) else f"is {self.value:.3g}"
        high = "without an upper limit" if np.isinf(self.high) else f"to {self.high:.3g}"
        interval = f"{100 * self.level:g} % interval from {self.low:.3g} {high}"
        return f"The {self.measure} of {self.about} {value} ({interval})."


@dataclass(frozen=True, slots=True)
class Association:
    """Cramer's V with an interval, and the p-value of a test that the attributes are independent.

    With too few reports the value is NaN, the interval is from 0 to 1, and the p-value is 1. `left_out` has the
    attribute and the answer of those that are too rare to count: noise may hide all who give them.
    """

    value: float
    low: float
    high: float
    level: float
    p_value: float
    left_out: tuple[tuple[str, str], ...] = ()

    def explain(self) -> str:
        """The association in one sentence."""
        if np.isnan(self.value):
            return "Cramer's V cannot be estimated from so few reports: any value from 0 to 1 is possible."
        interval = f"{100 * self.level:g} % interval from {self.low:.2f} to {self.high:.2f}"
        rare = f" Too rare to count: {', '.join(answer for _, answer in self.left_out)}." if self.left_out else ""
        return (
            f"Cramer's V is {self.value:.2f} ({interval}); the test of independence has p = {self.p_value:.2g}.{rare}"
        )


def relative_risk(table: TableEvidence, outcome: Any, group: Any, other: Any, level: float, target: Target) -> Ratio:
    """P(outcome | group) / P(outcome | other group)."""
    shape, (row, base), column = _places(table, (group, other), outcome)
    said = about(table.names, outcome, group, other)
    moments = table.functional(_risk(shape, row, base, column), target)
    return _ratio(moments.values, moments.covariance, RISK, said, level)


def odds_ratio(
    table: TableEvidence, outcome: Any, group: Any, other: Any, against: Any, level: float, target: Target
) -> Ratio:
    """P(outcome, group) P(rest, other group) / (P(rest, group) P(outcome, other group))."""
    shape, (row, base), column = _places(table, (group, other), outcome)
    rest = None if against is None else _places(table, (group, other), against)[2]
    said = about(table.names, outcome, group, other)
    moments = table.functional(_odds(shape, row, base, column, rest), target)
    return _ratio(moments.values, moments.covariance, ODDS, said, level)


def all_ratios(table: TableEvidence, level: float, skip: Collection[str] = ()) -> list[Ratio]:
    """Relative risks and odds ratios of each outcome, for each group against the first group.

    Answers in `skip`, such as reasons for giving no answer, are neither groups nor outcomes.
    """
    groups, outcomes = (
        [(place, label) for place, label in enumerate(axis.labels) if str(label) not in skip]
        for axis in table.axes.each
    )
    values, covariance = table.values(), table.covariance(Target.POPULATION)
    ratios = []
    for measure, factors in ((RISK, _risk), (ODDS, _odds)):
        for column, outcome in outcomes:
            for row, group in groups[1:]:
                rows = factors(table.shape, row, groups[0][0], column)
                said = about(table.names, outcome, group, groups[0][1])
                ratios.append(_ratio(rows @ values, rows @ covariance @ rows.T, measure, said, level))
    return ratios


def about(names: Sequence[str], outcome: Any, group: Any, other: Any) -> str:
    """What a ratio is about: an outcome of the second attribute, for two groups of the first."""
    return f"{names[1]} {outcome} for {names[0]} {group} against {other}"


def _risk(shape: tuple[int, ...], row: int, base: int, column: int) -> Floats:
    """The cells of outcome and group, of the other group, of outcome and other group, and of the group."""
    cells = np.zeros((4, *shape))
    cells[0, row, column] = cells[2, base, column] = 1
    cells[1, base] = cells[3, row] = 1
    return cells.reshape(4, -1)


def _odds(shape: tuple[int, ...], row: int, base: int, column: int, against: int | None = None) -> Floats:
    """The cells of the four corners; the rest are all other outcomes, or the one that is named."""
    rest = np.zeros(shape[1]) if against is not None else np.ones(shape[1])
    if against is not None:
        rest[against] = 1
    rest[column] = 0
    cells = np.zeros((4, *shape))
    cells[0, row, column] = cells[3, base, column] = 1
    cells[1, base], cells[2, row] = rest, rest
    return cells.reshape(4, -1)


def _places(table: TableEvidence, groups: Sequence[Any], outcome: Any) -> tuple[tuple[int, ...], list[int], int]:
    """The shape of a table of two attributes, and the places of labels."""
    if len(table.names) != 2:
        raise ParameterError("A relative risk or an odds ratio needs a table of two attributes: groups and outcome.")
    rows, columns = (list(axis.labels) for axis in table.axes.each)
    for label, labels, name in ((groups[0], rows, 0), (groups[1], rows, 0), (outcome, columns, 1)):
        if label not in labels:
            listed = ", ".join(map(str, labels[:20]))
            raise ParameterError(f"The attribute {table.names[name]} has no such answer. Known: {listed}.")
    if groups[0] == groups[1]:
        raise ParameterError("A ratio compares two different groups.")
    return table.shape, [rows.index(group) for group in groups], columns.index(outcome)


def _ratio(x: Floats, spread: Floats, measure: str, said: str, level: float) -> Ratio:
    """The ratio of factors 0 and 1 over factors 2 and 3, each a sum of cells, from their values and covariance."""
    top, bottom = x[0] * x[1] - spread[0, 1], x[2] * x[3] - spread[2, 3]
    slopes = np.array([[x[1], x[0], 0, 0], [0, 0, x[3], x[2]]])
    errors = slopes @ spread @ slopes.T
    pairs = ((0, 1), (2, 3))
    for i, (a, b) in enumerate(pairs):  # of products of normal variables, beyond the linear part
        for j, (c, d) in enumerate(pairs):
            errors[i, j] += spread[a, c] * spread[b, d] + spread[a, d] * spread[b, c]
    low, high = fieller_above_zero(float(top), float(bottom), errors, level)
    value = float(top / bottom) if bottom > 0 and top > 0 else float("nan")
    return Ratio(measure, value, low, high, level, said)


def fieller_above_zero(top: float, bottom: float, errors: Floats, level: float) -> tuple[float, float]:
    """The ratios r >= 0 for which top - r * bottom is not significantly different from zero; their hull.

    The condition is a quadratic inequality in r. Its solutions may be an interval, a half-line, or everything.
    """
    square = deviate(level) ** 2
    a = bottom**2 - square * errors[1, 1]
    b = top * bottom - square * errors[0, 1]
    c = top**2 - square * errors[0, 0]
    root = b * b - a * c
    if root <= 0 or a == 0:
        return 0.0, float("inf")  # no ratio is rejected
    left, right = sorted(((b - root**0.5) / a, (b + root**0.5) / a))
    if a > 0:
        return (max(left, 0.0), right) if right >= 0 else (0.0, 0.0)
    return (0.0 if left >= 0 else max(right, 0.0)), float("inf")


def cramers_v(table: TableEvidence, level: float, skip: Collection[str] = ()) -> Association:
    """The root of phi**2 = sum of (p_ij - p_i p_j)**2 / (p_i p_j) over the smaller number of answers less one.

    The noise adds its own variance to the sum of squares, which is subtracted. The sum is close to a scaled non-central
    chi-square variable with the first two moments of the noise (Satterthwaite); the interval inverts its law. Answers
    in `skip`, such as reasons for giving no answer, are left out, and so are answers that noise may hide: one rare
    answer has a large weight, and would hide how all others go together. The p are shares of the people with others.
    The upper end is at least that of a sum of squares with its mean under independence: a small sum is no exact zero.
    """
    if len(table.names) != 2:
        raise ParameterError("Cramer's V needs a table of two attributes.")
    asked = [np.array([str(label) not in skip for label in axis.labels]) for axis in table.axes.each]
    kept = _common(table, asked)
    if table.normal_is_poor().all() or kept is None:
        return Association(float("nan"), 0.0, 1.0, level, 1.0)
    away, spread = _interaction(table, kept, weighted=True)
    trace, square = float(np.trace(spread)), float((spread * spread).sum())
    scale, degrees = square / trace, trace**2 / square
    statistic, most = float(away @ away), min(int(side.sum()) for side in kept) - 1
    ends = zip((statistic, max(statistic, trace)), _tails(level), strict=True)
    low, high = (max(_noncentral(end / scale, degrees, tail), 0) * scale for end, tail in ends)
    value, low, high = (float(np.sqrt(np.clip(one / most, 0, 1))) for one in (statistic - trace, low, high))
    rare = tuple(
        (name, str(label))
        for name, axis, wanted, used in zip(table.names, table.axes.each, asked, kept, strict=True)
        for label, left in zip(axis.labels, wanted & ~used, strict=True)
        if left
    )
    return Association(min(max(value, low), high), low, high, level, _independence(table, asked), rare)


def _independence(table: TableEvidence, kept: Sequence[np.ndarray]) -> float:
    """The p-value of independence, from the interactions of cells in standard errors: rare cells weigh little."""
    away, spread = _interaction(table, kept, weighted=False)
    errors = np.sqrt(np.maximum(np.diag(spread), np.finfo(float).tiny))
    correlation = spread / np.outer(errors, errors)
    trace, square = float(np.trace(correlation)), float((correlation * correlation).sum())
    statistic = float(((away / errors) ** 2).sum())
    return float(chi2.sf(statistic * trace / square, trace**2 / square))


def _interaction(table: TableEvidence, kept: Sequence[np.ndarray], *, weighted: bool) -> tuple[Floats, Floats]:
    """How far each cell is from an independent one, among people with kept answers, and the covariance of that.

    Weighted cells are divided by the root of the share that is expected of them.
    """
    places = np.flatnonzero(np.outer(*kept).ravel())
    rows, columns = (int(side.sum()) for side in kept)
    inside = table.values()[places]
    people = float(inside.sum())
    shares = (inside / people).reshape(rows, columns)
    first, second = shares.sum(1), shares.sum(0)
    roots = np.sqrt(np.outer(first, second)).ravel() if weighted else np.ones(rows * columns)
    # The derivative of p_ij - p_i p_j; rows and columns hold the derivatives of the two totals.
    total_row = np.kron(np.eye(rows), np.ones((columns, columns))) * np.tile(second, rows)[:, None]
    total_column = np.kron(np.ones((rows, rows)), np.eye(columns)) * np.repeat(first, columns)[:, None]
    slopes = (np.eye(rows * columns) - total_row - total_column) / roots[:, None]
    away = (shares - np.outer(first, second)).ravel() / roots
    weights = np.zeros((rows * columns, len(table.values())))
    weights[:, places] = (slopes - (slopes @ shares.ravel())[:, None]) / people  # shares of all to shares of these
    return away, table.functional(weights).covariance


def _common(table: TableEvidence, asked: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """The answers of each attribute whose totals are surely above zero; None where too few people give them."""
    everyone = float(table.values() @ np.outer(*asked).ravel())
    kept = [side.copy() for side in asked]
    for _ in range(2 * max(table.shape)):
        before = [side.copy() for side in kept]
        for axis, side in enumerate(kept):
            totals = _totals(table, kept, axis)
            side[side] = totals.values >= COMMON * totals.errors
            if side.sum() < 2:
                return None
        if all(map(np.array_equal, before, kept)):
            break
    inside = float(table.values() @ np.outer(*kept).ravel())
    return kept if inside >= LEAST_KEPT * everyone else None


def _totals(table: TableEvidence, kept: Sequence[np.ndarray], axis: int) -> Functional:
    """The totals of the rows or columns that are kept, over what is kept of them."""
    inside, place = np.outer(*kept), np.indices(table.shape)[axis]
    sums = np.stack([inside & (place == one) for one in np.flatnonzero(kept[axis])])
    return table.functional(sums.reshape(len(sums), -1).astype(float))


def _tails(level: float) -> tuple[float, float]:
    return (1 + level) / 2, (1 - level) / 2


def _noncentral(statistic: float, degrees: float, below: float) -> float:
    """The non-centrality for which the statistic is exceeded with probability 1 - below; 0 if there is none."""

    def excess(centre: float) -> float:
        return float(ncx2.cdf(statistic, degrees, centre)) - below

    if excess(0.0) <= 0:
        return 0.0
    top = statistic + 10 * np.sqrt(2 * degrees + 4 * statistic) + 50
    return float(brentq(excess, 0.0, top))
