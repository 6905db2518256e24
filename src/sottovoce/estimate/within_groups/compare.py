"""Compare a number between every two groups: differences, simultaneous intervals and adjusted tests."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.comparison.multiple import adjust, check_correction
from sottovoce.estimate.evidence import Bounds, Floats, Ints
from sottovoce.estimate.group_mean.contrasts import MAX_PAIRS, Pairs
from sottovoce.estimate.group_mean.equal_means import PairTests
from sottovoce.estimate.request import IntervalRequest, Target, check_level

if TYPE_CHECKING:
    from sottovoce.estimate.within_groups.evidence import AnswersWithin
    from sottovoce.estimate.within_groups.table import CellTable

_STEPS = 14  # of a bisection
_LEAST = 1e-6  # p-values below this are not told apart


def _checked(level: float, correction: str, count: int) -> None:
    check_level(level)
    check_correction(correction, "all_pairs")
    if count > MAX_PAIRS:
        raise ParameterError(f"There are more than {MAX_PAIRS} pairs; compare fewer groups.")


def share_pairs(table: CellTable, level: float, correction: str, target: Target) -> Pairs:
    """The share of each value in every two groups; of two values, whose shares sum to one, that of the first."""
    width, shown = table.width, np.flatnonzero(table.estimable)
    compared = range(1 if width == 2 else width)
    pairs = [(g * width + v, h * width + v) for g, h in combinations(shown.tolist(), 2) for v in compared]
    _checked(level, correction, len(pairs))
    rows, columns = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    ratios, spread = table.ratios(target)
    count = len(table.groups) * width
    sizes, others = count + rows // width, count + columns // width
    joint = spread[sizes, others], spread[sizes, columns], spread[rows, others], spread[rows, columns]
    tests = PairTests(ratios.part(rows), ratios.part(columns), joint)
    means = ratios.values()
    values = means[rows] - means[columns]
    mixed = joint[3] - means[rows] * joint[1] - means[columns] * joint[2] + means[rows] * means[columns] * joint[0]
    variances = ratios.variances()
    errors = (
        variances[rows] + variances[columns] - 2 * mixed / (table.sizes[rows // width] * table.sizes[columns // width])
    )
    p_values = tests.p_values(values)
    labels = _labels(table, [str(one) for one in table.cells.of.value.labels()])
    return _pairs(table, labels, rows, columns, values, errors, p_values, level, correction, tests, target)


@dataclass(frozen=True, slots=True, eq=False)
class IntervalTests:
    """Differences of numbers that have intervals and no joint law: both intervals hold at half the error each."""

    evidence: AnswersWithin
    rows: Ints
    columns: Ints
    target: Target

    def intervals(self, values: Floats, level: float) -> Bounds:
        """From the least to the largest difference of two numbers inside their intervals."""
        each = IntervalRequest(1 - (1 - level) / 2, self.evidence.default, self.target)
        low, high = self.evidence.interval(each)
        return Bounds(low[self.rows] - high[self.columns], high[self.rows] - low[self.columns])

    def p_values(self, values: Floats) -> Floats:
        """The least 1 - level whose interval leaves out zero, by bisection of its logarithm."""
        least, most = np.full(len(values), np.log(_LEAST)), np.zeros(len(values))
        for place in range(len(values)):
            one = IntervalTests(
                self.evidence, self.rows[place : place + 1], self.columns[place : place + 1], self.target
            )
            for _ in range(_STEPS):
                middle = (least[place] + most[place]) / 2
                low, high = one.intervals(values[place : place + 1], 1 - float(np.exp(middle)))
                apart = bool(low[0] > 0 or high[0] < 0)
                least[place], most[place] = (least[place], middle) if apart else (middle, most[place])
        return np.asarray(np.exp(most))


def interval_pairs(
    evidence: AnswersWithin, shown: Ints, labels: int, level: float, correction: str, target: Target
) -> Pairs:
    """Every two groups, by the intervals of both."""
    pairs = [(a, b) for a, b in combinations(shown.tolist(), 2) if a % labels == b % labels]
    _checked(level, correction, len(pairs))
    rows, columns = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    values, variances = evidence.values(), evidence.variances(target)
    tests = IntervalTests(evidence, rows, columns, target)
    differences = values[rows] - values[columns]
    names = _labels(evidence.table, [str(one) for one in evidence.parts[0].labels] if labels > 1 else [])
    about = (differences, variances[rows] + variances[columns], tests.p_values(differences))
    return _pairs(evidence.table, names, rows, columns, *about, level, correction, tests, target)


def _labels(table: CellTable, within: list[str]) -> list[object]:
    """Groups with what is compared in them; the groups alone where that is one number."""
    return [f"{group}: {one}" for group in table.groups for one in within] if within else list(table.groups)


def _pairs(
    table: CellTable,
    labels: list[object],
    rows: Ints,
    columns: Ints,
    values: Floats,
    variances: Floats,
    p_values: Floats,
    level: float,
    correction: str,
    tests: PairTests | IntervalTests,
    target: Target,
) -> Pairs:
    return Pairs(
        tuple(labels[one] for one in rows),
        tuple(labels[one] for one in columns),
        values,
        np.sqrt(np.maximum(variances, 0)),
        p_values,
        adjust(p_values, correction),
        level,
        correction,
        tuple(group for group, ok in zip(table.groups, table.estimable, strict=True) if not ok),
        tests,  # type: ignore[arg-type]
        target,
    )
