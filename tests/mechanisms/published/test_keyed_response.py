"""Algorithm 3 with a frequency oracle for the answer: its law, its estimate within groups, and its best split."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.question import WithinGroups
from sottovoce.estimate.within_groups.evidence import predicted_variance
from sottovoce.mechanisms.group.cells import build
from sottovoce.testing.statistics import ALPHA
from tests.each import for_each


def asked(groups: int, answers: int, reasons: int = 0) -> WithinGroups:
    return WithinGroups(sv.Integers(1, groups + reasons), sv.Frequency(sv.Integers(1, answers)), reasons)


def test_the_law_is_that_of_the_algorithm() -> None:
    """Group by randomized response; the answer by another one where the group is kept, else drawn evenly."""
    groups, answers, inner = 3, 4, 0.8
    m = build(asked(groups, answers), epsilon=2, value_epsilon="0.8")
    keep = math.exp(inner) / (math.exp(inner) + answers - 1)
    outer = math.exp(2) / (answers * keep)  # what is left of the odds for the group
    group = outer / (outer + groups - 1)
    for cell in range(groups * answers):
        for report in range(groups * answers):
            if report // answers != cell // answers:
                expected = (1 - group) / (groups - 1) / answers
            else:
                expected = group * (keep if report == cell else (1 - keep) / (answers - 1))
            assert m.channel.rows[cell][report] / UNIT == pytest.approx(expected, rel=1e-12)
    assert sv.audit(m).ok and m.epsilon == pytest.approx(2, abs=1e-12)


def test_reasons_are_groups_of_one_cell_and_no_weight_is_too_small() -> None:
    """Rows of different lengths leave columns whose ratio would exceed the budget: the small weights are raised."""
    for epsilon, part in ((Decimal(2), Decimal("1.5")), (Decimal(1), Decimal(1))):
        m = build(asked(2, 3, reasons=2), epsilon=epsilon, value_epsilon=part)
        rows, e = m.channel.rows, odds(epsilon)
        for column in zip(*rows, strict=True):
            assert max(column) <= e * min(column)
        inner = odds(part)
        for cell, row in enumerate(rows):
            group = range(cell // 3 * 3, cell // 3 * 3 + 3) if cell < 6 else range(cell, cell + 1)
            whole = e + (len(group) - 1) * e / inner + (8 - len(group))
            for place, weight in enumerate(row):
                drawn = (e if place == cell else e / inner if place in group else 1) / whole
                least = max(other[place] for other in rows) / e
                if place != cell:
                    assert weight == pytest.approx(float(max(drawn * UNIT, least)), rel=1e-12)
        assert m.epsilon == pytest.approx(float(epsilon), abs=1e-9) and sv.audit(m).ok


@for_each("groups,answers,epsilon", [(2, 2, 1), (3, 2, 2), (2, 5, 1), (4, 4, 3)])
def test_the_whole_budget_for_the_answer_is_best(groups: int, answers: int, epsilon: int) -> None:
    """Exact variances for even shares; subset selection on all cells has no more."""
    question, even = asked(groups, answers), np.full(groups * answers, 1 / groups / answers)
    errors = [
        predicted_variance(build(question, epsilon=epsilon, value_epsilon=epsilon * Decimal(part) / 10), even, 1).mean()
        for part in (3, 5, 7, 9, 10)
    ]
    assert errors == sorted(errors, reverse=True)
    plan = sv.plan(question, epsilon=epsilon, participants=10_000, methods=["keyed-response", "binned"])
    by_name = {option.method: option.std_error for option in plan.options}
    assert by_name["keyed-response"] == pytest.approx(math.sqrt(errors[-1] / 10_000), rel=1e-9)
    assert by_name["binned"] <= by_name["keyed-response"] * (1 + 1e-9)
    usual = sv.plan(question, epsilon=epsilon, participants=10_000)
    assert "keyed-response" not in [option.method for option in usual.options]


@pytest.mark.slow
def test_shares_within_groups_have_intervals_and_tests(seed: int) -> None:
    m = build(asked(2, 3, reasons=1), epsilon=2, value_epsilon="1.5")
    assert sv.audit(m).ok
    rng, n = np.random.default_rng(seed), 60_000
    group = rng.choice([1, 2, 3], n, p=[0.5, 0.4, 0.1])
    inside = {1: [0.6, 0.3, 0.1], 2: [0.2, 0.3, 0.5], 3: [1, 0, 0]}
    answer = np.zeros(n, int)
    for one, shares in inside.items():
        answer[group == one] = rng.choice([1, 2, 3], int((group == one).sum()), p=shares)
    estimate = m.estimate(m.tally(m.privatize(list(zip(group.tolist(), answer.tolist(), strict=True)), seed=seed)))
    low, high = estimate.ci(1 - ALPHA)
    truth = np.array([*inside[1], *inside[2]])
    assert ((low <= truth) & (truth <= high)).all(), f"alarm with probability {ALPHA}"
    p_values = estimate.all_pairs().adjusted
    assert p_values[0] < 1e-6 and p_values[2] < 1e-6  # of 0.6 and 0.2, of 0.1 and 0.5
    assert estimate.reasons.values[0] == pytest.approx(0.1, abs=0.02)


@for_each(
    "groups,answers,options,words",
    [
        (2, 2, {"epsilon": 1, "value_epsilon": 2}, "'value_epsilon' parameter of keyed-response"),
        (9, 9, {"epsilon": 1}, "at most 64 cells"),
        (2, 2, {"epsilon": 0}, "'epsilon' parameter of keyed-response"),
    ],
)
def test_bad_input_gets_one_sentence(groups: int, answers: int, options: dict[str, object], words: str) -> None:
    with pytest.raises(sv.ParameterError, match=words):
        build(asked(groups, answers), **options)
