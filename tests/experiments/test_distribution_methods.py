"""All methods of Table 2 of the square-wave paper run by one call each, and their errors are plausible."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce_experiments.catalogue import find
from sottovoce_experiments.distribution.methods import MEANS, METHODS, errors, run
from sottovoce_experiments.distribution.table_2 import ERRORS, LABELS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("label", LABELS)
def test_a_method_of_table_2(label: str) -> None:
    answers = np.random.default_rng(5).beta(5, 2, 20_000)
    found = run(label, answers, 3.0, 64, 7)
    assert {*found} == {*ERRORS}
    known = {name for name in ERRORS if found[name] is not None}
    assert known == ({"mean", "variance"} if label in MEANS else {*ERRORS})
    assert all(0 <= found[name] < 0.06 for name in known)  # type: ignore[operator]


def test_errors_of_the_truth_are_zero_and_those_of_a_shift_are_known() -> None:
    truth = np.array([0.25, 0.25, 0.25, 0.25, 0, 0, 0, 0, 0, 0])
    assert set(errors(truth, truth).values()) == {0.0}
    moved = errors(np.roll(truth, 1), truth)
    assert moved["wasserstein"] == pytest.approx(0.1) and moved["mean"] == pytest.approx(0.1)
    assert moved["ks"] == pytest.approx(0.25) and moved["variance"] == pytest.approx(0)


def test_the_experiment_computes_every_method() -> None:
    experiment = find("sw-table-2")
    assert {point["method"] for point in experiment.points(quick=True)} == {*METHODS, *MEANS} == {*LABELS}
