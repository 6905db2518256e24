"""Real answers, where SOTTOVOCE_DATA names a folder of them: every oracle finds the shares it should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import sottovoce as sv

LEVEL = 1 - 1e-6  # for all values of a question at once, so that a false alarm is one in a million

QUESTIONS = [
    ("adult.parquet", "education"),
    ("adult.parquet", "native_country"),
    ("nycflights13.parquet", "carrier"),
    ("diabetes_130_hospitals.parquet", "age_band"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("file", "column"), QUESTIONS)
def test_intervals_hold_the_shares_of_real_answers(
    file: str, column: str, seed: int, shared_data: Callable[[str], Path]
) -> None:
    values = pq.read_table(shared_data(file), columns=[column]).column(column).to_numpy()
    domain = sv.Categories(sorted(set(values)))
    truth = np.array([(values == label).mean() for label in domain.labels()])
    for name in sv.names(sv.Frequency):
        if name == "rr":
            continue
        m = sv.mechanism(name, domain, epsilon=2.0)
        estimate = m.estimate(m.tally(m.privatize(values, seed=seed)))
        low, high = estimate.ci(LEVEL, target="sample", simultaneous=True)
        assert ((low <= truth + 1e-12) & (truth - 1e-12 <= high)).all(), name
        error = np.sqrt(np.mean((estimate.values - truth) ** 2))
        assert error < 3 * np.sqrt(np.mean(m.variance(truth, len(values), target="sample"))), name
