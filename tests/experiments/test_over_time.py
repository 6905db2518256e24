"""Published ways to publish a stream: their losses by enumeration, their budgets, and the law of their counts."""

from __future__ import annotations

import numpy as np
import pytest

from sottovoce_experiments.over_time.ldp_ids import NAMES, Division, from_counts, mean_variance, oracle, window_loss
from sottovoce_experiments.over_time.streams import PEOPLE, stream


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("epochs", [3, 5])
def test_a_window_of_a_person_loses_epsilon_and_no_more(window: int, epochs: int) -> None:
    """Enumerated over all histories of reports and of answers of a person who is alone."""
    for name in ("LBU", "LSP", "LBA"):
        assert window_loss(Division(name, 1, 2, 1.0, window), epochs) == pytest.approx(1.0)
    # LBD hands out half of what is left, so it never spends the last part.
    assert 0.74 < window_loss(Division("LBD", 1, 2, 1.0, window), epochs) <= 1 - 2.0 ** -(window + 1) + 1e-9


def test_a_longer_window_than_stated_loses_more() -> None:
    loss = window_loss(Division("LBU", 1, 2, 1.0, 2), 4)
    assert loss < window_loss(Division("LBU", 1, 2, 1.5, 2), 4) == pytest.approx(1.5)


@pytest.mark.parametrize("name", NAMES)
def test_no_window_uses_more_than_there_is(name: str) -> None:
    rng, counts = np.random.default_rng(1), stream("lns")[:60]
    division = Division(name, PEOPLE, 2, 1.0, 10)
    published, used = division.run(60, 5, lambda epoch: from_counts(counts[epoch], rng))
    most = max(used[start : start + 10].sum(axis=0).max() for start in range(51))
    whole = PEOPLE if division.divides_people else 1.0
    assert 0.4 * whole < most <= whole * (1 + 1e-9)
    assert published.shape == (60, 5, 2) and abs(float(np.mean(published.sum(axis=2))) - 1) < 1e-9


@pytest.mark.parametrize(("d", "epsilon"), [(2, 1.0), (5, 0.5), (40, 0.5), (40, 2.0)])
def test_counts_have_the_mean_and_the_variance_of_reports(d: int, epsilon: float) -> None:
    """Both oracles, drawn 4,000 times: means within five standard errors, mean variance within eight per cent."""
    rng, n = np.random.default_rng(2), 2_000
    counts = np.full(d, 10 * n // d)
    drawn = from_counts(counts, rng)(1, np.full(4_000, float(n)), np.full(4_000, epsilon), np.ones(4_000, bool))
    expected = mean_variance(d, np.array([epsilon]), np.array([float(n)]))[0]
    expected += (1 / d) * (1 - 1 / d) / n * (1 - n / counts.sum())  # people are drawn without replacement
    assert float(np.mean(drawn.var(axis=0))) == pytest.approx(expected, rel=0.08)
    assert np.abs(drawn.mean(axis=0) - 1 / d).max() < 5 * np.sqrt(expected / 4_000)
    own, other, direct = oracle(d, np.array([epsilon]))
    assert (own / other)[0] == pytest.approx(np.exp(epsilon)) if direct[0] else own[0] == 0.5
