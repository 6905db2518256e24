"""Calibrate: posterior means under a power law, against direct sums, and on crowds that follow one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import sottovoce as sv
from sottovoce.estimate.decoders.calibrate import calibrated


def test_posterior_means_are_those_of_a_sum_over_all_counts() -> None:
    n, errors = 4_000, np.full(60, 0.01)
    rng = np.random.default_rng(1)
    truth = 0.5 / np.arange(1, 61) ** 1.5
    values = truth + errors * rng.normal(size=60)
    found, exponent = calibrated(values, errors, n)
    counts = np.arange(n + 1)
    prior = (counts + 1.0) ** -exponent
    posterior = prior * norm.pdf(values[:, None], counts / n, 0.01)
    right = (posterior @ counts) / n / posterior.sum(axis=1)
    assert found == pytest.approx(right, abs=1e-5)
    others = [_likelihood(values, n, one) for one in (exponent - 0.4, exponent, exponent + 0.4)]
    assert others[1] == max(others)


def _likelihood(values: np.ndarray, n: int, exponent: float) -> float:
    counts = np.arange(n + 1)
    prior = (counts + 1.0) ** -exponent
    return float(np.log((prior / prior.sum() * norm.pdf(values[:, None], counts / n, 0.01)).sum(axis=1)).sum())


def test_errors_are_smaller_where_shares_follow_a_power_law() -> None:
    truth = np.arange(1, 201) ** -1.3
    truth /= truth.sum()
    rng, m = np.random.default_rng(2), sv.mechanism("oue", sv.Integers(0, 199), epsilon=1)
    plain, better = [], []
    for run in range(20):
        answers = rng.choice(200, 10_000, p=truth)
        found = m.estimate(m.tally(m.privatize(answers, seed=run)))
        plain.append(np.sum((found.values - truth) ** 2))
        better.append(np.sum((found.decoded("calibrate").values - truth) ** 2))
    assert np.mean(better) < 0.5 * np.mean(plain)
    assert (found.decoded("calibrate").values >= 0).all()
