"""Real answers, where SOTTOVOCE_DATA names a folder of them: every oracle finds the shares it should."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.testing.statistics import ALPHA

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


# --- at the stated rate ----------------------------------------------------------------------------------------------
def stays_inside(covered: int, intervals: int, level: float) -> None:
    """Neither below the level beyond chance, nor everywhere: intervals that never miss state another level.

    Intervals of one tally are nearly independent; false alarms are one in a million.
    """
    lowest = stats.binom.ppf(ALPHA, intervals, level)
    assert lowest <= covered < intervals, f"{covered} of {intervals} intervals of {level:.0%} hold the share."


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_shares_of_adults_are_inside_as_often_as_stated(level: float, shared_data: Callable[[str], Path]) -> None:
    """The method of the plan; as many people are drawn from the table for each of forty tallies of three columns."""
    table = pq.read_table(shared_data("adult.parquet"), columns=["education", "occupation", "native_country"])
    rng, covered, intervals = np.random.default_rng(1), 0, 0
    for name in table.column_names:
        _, held = np.unique(table.column(name).to_numpy(), return_counts=True)
        domain, n = sv.Integers(0, len(held) - 1), int(held.sum())
        m = sv.plan(sv.Frequency(domain), epsilon=1, participants=n, methods=["grr", "oue"]).best.mechanism
        for seed in range(40):
            tally = sv.simulate_counts(m, rng.multinomial(n, held / n), seed=seed)
            low, high = m.estimate(tally).ci(level)
            covered += int(((low <= held / n) & (held / n <= high)).sum())
            intervals += len(held)
    stays_inside(covered, intervals, level)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_word_frequencies_are_inside_as_often_as_stated(level: float, shared_data: Callable[[str], Path]) -> None:
    """The 1,023 most frequent words and all others; 100,000 people are drawn anew for each of six tallies."""
    counts = pq.read_table(shared_data("word_frequency.parquet"), columns=["count"]).column("count").to_numpy()
    shares = np.array([*counts[:1023], counts[1023:].sum()], float) / counts.sum()
    m = sv.plan(sv.Frequency(sv.Integers(0, 1023)), epsilon=3, participants=100_000, methods=["flh", "grr", "oue"]).best
    rng, covered = np.random.default_rng(1), 0
    for seed in range(6):
        tally = sv.simulate_counts(m.mechanism, rng.multinomial(100_000, shares), seed=seed)
        low, high = m.mechanism.estimate(tally).ci(level)
        covered += int(((low <= shares) & (shares <= high)).sum())
    stays_inside(covered, 6 * 1024, level)
