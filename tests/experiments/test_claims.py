"""Sentences of papers: in which cases they hold, on rows whose answer is known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from sottovoce_experiments.coverage.declared.shares import lowest
from sottovoce_experiments.experiment import Row
from sottovoce_experiments.frequencies.claims import CLAIMS
from sottovoce_experiments.frequencies.sok import BUDGETS, METHODS


def rows(**changed: float) -> list[Row]:
    """Errors that fall with participants and epsilon alike, except where a factor says otherwise."""
    return [
        {
            "k": k,
            "n": n,
            "method": method,
            "epsilon": epsilon,
            "mse": changed.get(method, 1.0) / n / epsilon,
            "variance": 1 / n / epsilon,
        }
        for k, n, method, epsilon in product((8, 128), (1_000, 10_000), METHODS, BUDGETS)
    ]


def held(beginning: str, given: Sequence[Row]) -> tuple[int, int]:
    """In how many cases the sentence that begins so is true."""
    (claim,) = (one for several in CLAIMS.values() for one in several if one.sentence.startswith(beginning))
    found = claim.judged(given)
    return found.held, found.cases


def test_errors_that_always_fall_never_level_off_or_rise() -> None:
    small = [row for row in rows() if row["k"] == 8]
    methods, people, budgets = len(METHODS), 2, len(BUDGETS)
    everywhere = methods * budgets * (people - 1) + methods * people * (budgets - 1)
    assert held("More participants", small) == (everywhere, everywhere)
    assert held("OLH, OUE and Nguyen", small) == (0, 3 * people)
    assert held("The errors of OUE", small) == (0, 2 * people)
    assert held("Nguyen's method has", small) == (0, 4)
    assert held("RAPPOR has its least", small) == (0, people)
    assert held("The variance of most", small) == (0, methods * people)
    assert held("For large epsilon the variance", small) == (0, methods)


def test_a_curve_that_levels_off_is_seen() -> None:
    small = [dict(row) for row in rows() if row["k"] == 8]
    for row in small:
        if row["method"] == "oue" and row["epsilon"] > 1:
            row["mse"] = 1.2 / row["n"]  # more than at epsilon 1, and the same from there on
        row["variance"] = 1e-6
    assert held("OLH, OUE and Nguyen", small) == (2, 6)
    assert held("The errors of OUE", small) == (2, 4)
    assert held("The variance of most", small) == (len(METHODS) * 2, len(METHODS) * 2)
    assert held("For large epsilon the variance", small) == (len(METHODS), len(METHODS))


@pytest.mark.parametrize(("factor", "worse"), [(1.5, True), (0.5, False)])
def test_methods_are_compared_where_the_paper_compares_them(factor: float, worse: bool) -> None:
    grr, subset = rows(grr=factor), rows(subset=factor)
    # 128 values, two numbers of participants, three budgets; then 8 values, 10,000 participants, three budgets
    assert held("Randomized response has", grr) == (6 * worse, 6)
    assert held("Subset selection does not", subset) == (3 * worse, 3)
    assert held("The small-sample", grr) == (4 * worse, 4)  # both numbers of values, 1,000 participants, two budgets


def test_the_cell_furthest_below_its_level_is_named() -> None:
    base = {"mechanism": "rappor", "k": 1024, "epsilon": 1.0, "n": 1_000, "target": "sample", "runs": 100}
    given: list[Row] = [
        {**base, "of": "share 0.3", "level": 0.95, "coverage": 0.92},  # of 300 intervals: 1.6 standard errors of 1.26
        {**base, "of": "all shares", "level": 0.9, "coverage": 0.86},  # of 100 crowds: 1 of 3
        {**base, "of": "share 0", "level": 0.99, "coverage": None},
    ]
    assert lowest(given) == (
        "Of 2 single coverages 2 are more than a point below their level; the furthest in its own standard errors is"
        " 92.0 at 95 (rappor, 1,024 values, epsilon 1, n = 1,000, share 0.3, sample), 1.6 of them below."
    )
