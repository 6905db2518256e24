"""Published ways to publish a stream: their losses by enumeration, their budgets, and the law of their counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.privacy.accounting.repeats import repeat_loss
from sottovoce.privacy.accounting.sequences import sequence_loss
from sottovoce_experiments.over_time import devices
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
    """Counts of both oracles, 4,000 times: means within five standard errors, mean variance within eight per cent."""
    rng, n = np.random.default_rng(2), 2_000
    counts = np.full(d, 10 * n // d)
    drawn = from_counts(counts, rng)(1, np.full(4_000, float(n)), np.full(4_000, epsilon), np.ones(4_000, bool))
    expected = mean_variance(d, np.array([epsilon]), np.array([float(n)]))[0]
    expected += (1 / d) * (1 - 1 / d) / n * (1 - n / counts.sum())  # people are drawn without replacement
    assert float(np.mean(drawn.var(axis=0))) == pytest.approx(expected, rel=0.08)
    assert np.abs(drawn.mean(axis=0) - 1 / d).max() < 5 * np.sqrt(expected / 4_000)
    own, other, direct = oracle(d, np.array([epsilon]))
    assert (own / other)[0] == pytest.approx(np.exp(epsilon)) if direct[0] else own[0] == 0.5


# --- devices ----------------------------------------------------------------------------------------------------------
def test_every_law_sums_to_one() -> None:
    for device, values in (
        (devices.fresh(1.0), 2),
        (devices.scheduled(1.0, 2), 2),
        (devices.memo(1.0, 2.0), 2),
        (devices.hashed_memo(3, 2, 1.0, 2.0), 3),
        (devices.rounded_memo(3, 1.0, math.inf), 3),
        (devices.bits_memo(3, 1, 1.0, 2.0), 3),
        (devices.votes(0.5, 0.5, 1), 2),
        (devices.tree(1.0, 1), 2),
    ):
        for history in ((0, 0), (0, 1), (values - 1, 0)):
            law = device(history)
            assert sum(law.values()) == pytest.approx(1) and min(law.values()) >= 0


def test_schedules_lose_what_the_accounting_of_studies_says() -> None:
    """Two enumerations, written apart: of laws in floats here, and of shipped samplers in fractions there."""
    response = sv.mechanism("rr", sv.Categories(["a", "b"]), epsilon=1)
    for window in (1, 2, 4):
        for span in (1, 2, 4):
            found = devices.loss(devices.scheduled(1.0, window), 2, 4, span)
            assert found == pytest.approx(repeat_loss(response, Repeat(1, 4, window), span=span), abs=1e-9)


def test_memos_lose_their_epsilon_for_an_unchanged_value_and_more_over_sequences() -> None:
    """Known numbers: one report of a memo (1) with fresh noise (2) loses 0.735; memos alone have no bound."""
    rappor = devices.memo(1.0, 2.0)
    assert devices.loss(rappor, 2, 1) == pytest.approx(0.7353, abs=1e-4)
    assert devices.loss(rappor, 2, 4, constant=True) < 1 < 4 * 0.7353 < devices.loss(rappor, 2, 4)
    alone = devices.memo(1.0, math.inf)
    assert devices.loss(alone, 2, 3, constant=True) == pytest.approx(1) and math.isinf(devices.loss(alone, 2, 2))
    # Rounding hides changes on one side of the point, but not that there was a change.
    assert math.isinf(devices.loss(devices.rounded_memo(3, 1.0, math.inf), 3, 2))
    assert devices.loss(devices.rounded_memo(3, 1.0, math.inf), 3, 2, constant=True) == pytest.approx(1)
    # A public hash, its memo and fresh noise lose what RAPPOR's bit with the same budgets does.
    hashed = devices.hashed_memo(3, 2, 1.0, 2.0)
    assert devices.loss(hashed, 3, 2) == pytest.approx(devices.loss(rappor, 2, 2))


@pytest.mark.parametrize("waves", [1, 2, 4])
def test_mechanisms_with_memos_lose_what_their_devices_lose(waves: int) -> None:
    """Two enumerations, written apart: of shipped samplers in fractions, and of laws of devices in floats."""
    once, numbers = math.log((math.exp(3) + 1) / (math.exp(2) + math.e)), sv.Integers(0, 2)
    budgets: dict[str, Any] = {"epsilon": f"{once + 1e-9:.9f}", "epsilon_forever": 1}
    cases = {
        sv.mechanism("loloha", numbers, g=2, **budgets): devices.hashed_memo(3, 2, 1.0, 2.0),
        sv.mechanism("bernoulli-memo", numbers, **budgets): devices.rounded_memo(3, 1.0, 2.0),
        sv.mechanism("d-bit-flip-memo", numbers, d=1, **budgets): devices.bits_memo(3, 1, 1.0, 2.0),
    }
    for mechanism, device in cases.items():
        for unchanged in (False, True):
            exact = max(
                sequence_loss(mechanism, waves, unchanged=unchanged, cohort=cohort)
                for cohort in range(mechanism.cohorts)
            )
            assert exact == pytest.approx(devices.loss(device, 3, waves, constant=unchanged), abs=1e-6)
        assert mechanism.epsilon_forever <= 1


def test_votes_and_trees_of_changes_stay_within_their_budgets() -> None:
    for vote, estimate in ((0.25, 0.25), (0.1, 0.4)):
        found = devices.loss(devices.votes(vote, estimate, 1), 2, 3)
        assert vote + estimate < found <= 2 * (vote + estimate) + 1e-9
    assert devices.loss(devices.tree(1.0, 1), 2, 4) == pytest.approx(0.5)
    assert devices.loss(devices.tree(1.0, 2), 2, 4) <= 1.0
