"""How coordinates go together: unbiased, with honest standard errors, and the covariance of the estimated means."""

from __future__ import annotations

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.estimate.vector_mean.pairs import coordinate_pairs

BOX = sv.Box(0, 10, dimensions=3)


def crowd(n: int, rng: np.random.Generator) -> np.ndarray:
    """Half of the first number is 0; the second follows it, the third goes the other way."""
    first = np.where(rng.random(n) < 0.5, 0.0, rng.integers(1, 11, n))
    return np.stack([first, np.clip(first + rng.integers(0, 3, n), 0, 10), 10 - first], axis=1)


@pytest.mark.parametrize(
    ("name", "options"), [("split-epsilon", {"inner": "bernoulli"}), ("sampled", {"count": 2, "inner": "nprr"})]
)
def test_covariances_are_unbiased_and_their_errors_are_errors(name: str, options: dict[str, object]) -> None:
    """40 runs: the mean of 3 x 40 scores has a standard error of about 0.1, their spread one of 0.07."""
    m, rng, scores, means = sv.mechanism(name, BOX, epsilon=6, **options), np.random.default_rng(0), [], []
    truth = np.cov(crowd(400_000, rng).T)
    for run in range(40):
        reports = m.privatize(crowd(3000, rng), seed=run)
        pairs = coordinate_pairs(reports)
        off = np.tril_indices(3, -1)
        scores.append((pairs.answers[off] - truth[off]) / pairs.std_errors[off])
        means.append((m.estimate(m.tally(reports)).values, pairs.means[off]))
    assert abs(np.mean(scores)) < 0.45
    assert 0.7 < np.std(scores) < 1.35
    values = np.cov(np.array([value for value, _ in means]).T)[off]
    assert values == pytest.approx(np.mean([each for _, each in means], axis=0), abs=0.6 * np.abs(values).max())


def test_reports_are_read_like_the_scalar_definition() -> None:
    m = sv.mechanism("sampled", BOX, epsilon=4, count=2, inner="nprr")
    reports = m.privatize(crowd(200, np.random.default_rng(1)), seed=1)
    counts = coordinate_pairs(reports).counts
    firsts = [m.channel.first((int(a), int(b))) for a, b in reports.public]
    assert counts[0, 1] == firsts.count(0) and counts[2, 0] == firsts.count(2)
    assert np.trace(counts) == 400


def test_reports_about_one_coordinate_are_refused() -> None:
    m = sv.mechanism("split-n", BOX, epsilon=1)
    with pytest.raises(sv.ParameterError, match="do not contain two coordinates"):
        coordinate_pairs(m.privatize([[1, 2, 3]], seed=1))
