"""Tallies drawn from their law are tallies of reports, in law; and their variance is the predicted one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.estimate.frequency import evidence
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.tally.count import count_cells
from sottovoce.tally.counts import simulate_cells
from sottovoce.testing.statistics import ALPHA

ORACLES = [name for name in sv.names() if name != "rr"]  # which takes two categories only
HASHED = ("olh", "blh", "slh")
JOINT = [name for name in ORACLES if name not in HASHED]


def crowd(k: int, n: int) -> np.ndarray:
    """Few holders of few codes, and many who hold none of these."""
    histogram = np.zeros(k, int)
    histogram[: min(4, k)] = [n * 2 // 5, n // 10, n // 100, 0][: min(4, k)]
    histogram[-1] += n - histogram.sum()
    return histogram


def laws_differ(a: np.ndarray, b: np.ndarray, seed: int) -> bool:
    """Whether scores in one of eight random directions refute that two samples of tallies have one law."""
    directions = np.random.default_rng(seed).normal(size=(a.shape[1], 8))
    return any(stats.ks_2samp(a @ one, b @ one).pvalue < ALPHA / 8 for one in directions.T)


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("name", JOINT)
def test_drawn_tallies_are_counted_reports_in_law(name: str, epsilon: float, seed: int) -> None:
    """Two samples of whole tallies, compared along random directions, which by Cramér and Wold fix the joint law."""
    m = sv.mechanism(name, sv.Integers(0, 5), epsilon=epsilon)
    histogram, runs = np.array([7, 4, 0, 3, 0, 1]), 1500
    drawn = simulate_cells(m, histogram, runs=runs, seed=seed)
    codes = np.tile(np.repeat(np.arange(6), histogram), runs).astype(np.uint32)
    reports = draw(m, codes, WordStream.seeded(m.words, seed))
    n = int(histogram.sum())
    counted = np.array([count_cells(reports[i * n : (i + 1) * n], threads=1) for i in range(runs)])
    assert not laws_differ(drawn, counted, seed), f"alarm with probability {ALPHA} if the laws are equal"


def test_the_comparison_of_laws_has_power(seed: int) -> None:
    """A probability of keeping that is 30 % too large is noticed."""
    m, other = (sv.mechanism("grr", sv.Integers(0, 5), epsilon=e) for e in (1.0, 1.43))
    histogram = np.array([7, 4, 0, 3, 0, 1])
    a, b = (simulate_cells(x, histogram, runs=1500, seed=seed) for x in (m, other))
    assert laws_differ(a, b, seed)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("k", [16, 256])
@pytest.mark.parametrize("name", ORACLES)
def test_measured_variance_is_the_predicted_one(name: str, k: int, epsilon: float, seed: int) -> None:
    """Averaged over the values, 20,000 replicates: within 3 %, where the standard error is about 0.4 % at most."""
    m = sv.mechanism(name, sv.Integers(0, k - 1), epsilon=epsilon)
    n, runs, block = 10_000, 20_000, 1000
    if (name, k) == ("flh", 256):
        runs = 4000  # each decodes up to 12,167 cells; the standard error is still below one percent
    histogram = crowd(k, n)
    joint = name not in (*HASHED, "subset") or m.statistic == "outputs"
    total, square = np.zeros(k), np.zeros(k)
    for part in range(runs // block):
        cells = simulate_cells(m, histogram, runs=block, seed=seed + part, joint=joint)
        values = np.array([evidence(m, n, row).values() for row in cells]) - histogram / n
        total += values.sum(axis=0)
        square += (values**2).sum(axis=0)
    measured = square / runs - (total / runs) ** 2
    predicted = m.variance(histogram / n, n, target="sample")
    assert measured.mean() == pytest.approx(predicted.mean(), rel=0.03)
    # Unbiased: no value's mean is more than six standard errors off.
    assert (np.abs(total / runs) < 6 * np.sqrt(predicted / runs)).all()


def test_ten_million_participants_are_one_draw() -> None:
    for name in ORACLES:
        m = sv.mechanism(name, sv.Integers(0, 127), epsilon=1.0)
        tally = sv.simulate_counts(m, crowd(128, 10**7), seed=1, joint=name not in (*HASHED, "subset"))
        assert tally.n == 10**7
        assert np.abs(m.estimate(tally).values[0] - 0.4) < 0.01


def test_what_has_no_tractable_joint_law_says_so() -> None:
    m = sv.mechanism("olh", sv.Integers(0, 5), epsilon=1.0)
    with pytest.raises(sv.ParameterError, match="joint=False"):
        sv.simulate_counts(m, [1, 2, 3, 0, 0, 0], seed=0)
    large = sv.mechanism("subset", sv.Integers(0, 4095), epsilon=0.5)
    with pytest.raises(sv.TooLargeError, match="joint=False"):
        sv.simulate_counts(large, np.ones(4096, int), seed=0)


@pytest.mark.parametrize("wrong", [[1, 2], [1.5] * 6, [-1, 0, 0, 0, 0, 7], "abc"])
def test_wrong_histograms_are_refused(wrong: object) -> None:
    m = sv.mechanism("grr", sv.Integers(0, 5), epsilon=1.0)
    with pytest.raises(sv.ParameterError, match="histogram"):
        sv.simulate_counts(m, wrong, seed=0)
