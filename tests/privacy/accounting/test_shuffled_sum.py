"""Means behind a shuffler: their central guarantee against exact losses, and their error beside published bounds."""

import math

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.channel.facets import Rounded, need
from sottovoce.privacy.accounting import exact_shuffle
from sottovoce.privacy.accounting.shuffled_sum import shuffled_mean
from sottovoce.privacy.accounting.shuffling import shuffled
from sottovoce.tally.laws import law_row

RANGE = sv.Interval(0, 1)


def published(n: int, epsilon: float, delta: float) -> float:
    """The least standard error of Balle et al. 2019, Theorem 3.1, over the number of levels."""
    errors = []
    for levels in range(1, 65):
        blanket = max(14 * levels * math.log(2 / delta) / (n - 1) / epsilon**2, 27 * levels / (n - 1) / epsilon)
        if blanket < 1:
            kept = 1 - blanket + blanket / (levels + 1)
            noise = blanket * (1 - blanket) / 4 + blanket * (levels + 2) / (12 * levels)  # at an end, and of a level
            errors.append(math.sqrt((noise + 1 / (4 * levels**2)) / n) / (1 - blanket))
            assert kept > 1 / (levels + 1)
    return min(errors)


def test_the_central_guarantee_is_never_below_the_exact_loss_of_small_crowds():
    for n, epsilon, delta in ((4, 1.0, 0.05), (6, 0.7, 0.02), (8, 1.5, 0.01)):
        found = shuffled_mean(RANGE, participants=n, epsilon=epsilon, delta=delta)
        levels = found.levels
        inner = need(found.mechanism.channel, Rounded).second  # type: ignore[attr-defined]
        law = np.array([law_row(inner, code) for code in range(levels + 1)])
        if (n + 1) ** levels <= 10_000:
            assert exact_shuffle.delta(law, n, epsilon) <= delta * (1 + 1e-9)
        assert found.mechanism.epsilon >= epsilon - 1e-6


@pytest.mark.slow
def test_the_error_is_below_that_of_published_parameters_and_of_local_reports():
    n = 1_000
    found = shuffled_mean(RANGE, participants=n, epsilon=1, delta=1e-6)
    again = shuffled(found.mechanism, participants=n, delta=1e-6)
    assert 0.99 < again.epsilon <= 1 and again.method == "law"
    local = math.sqrt(sv.mechanism("nprr", RANGE, epsilon=1).worst_case_variance() / n)
    assert found.std_error < min(0.7 * published(n, 1, 1e-6), local / 3)
    assert found.std_error == pytest.approx(math.sqrt(found.mechanism.worst_case_variance() / n), rel=1e-6)
    assert f"{found.levels + 1} levels" in found.text() and "epsilon 1 with delta 1e-06" in found.text()


def test_more_people_have_more_levels_and_less_noise():
    few, many = (shuffled_mean(RANGE, participants=n, epsilon=1, delta=1e-6) for n in (100, 500))
    assert many.levels > few.levels and many.std_error < few.std_error / math.sqrt(5)
    wide = shuffled_mean(sv.Interval(-10, 10), participants=100, epsilon=1, delta=1e-6)
    assert wide.std_error == pytest.approx(20 * few.std_error) and wide.levels == few.levels


@pytest.mark.parametrize("wrong", [{"participants": 0}, {"delta": 0.0}, {"delta": 1}, {"epsilon": 0}])
def test_bad_parameters(wrong):
    with pytest.raises(sv.ParameterError):
        shuffled_mean(RANGE, **{"participants": 100, "epsilon": 1, "delta": 1e-6, **wrong})
