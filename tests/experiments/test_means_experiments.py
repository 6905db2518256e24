"""Errors that experiments about means compute exactly, beside what simulations and formulas give."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.estimate.group_mean.truth import Crowd
from sottovoce.protocols.mean.adaptive import AdaptiveMeanRounds
from sottovoce_experiments.coverage.personal import CASES
from sottovoce_experiments.group_means.orders import _means
from sottovoce_experiments.means.decided import exact_ratios
from sottovoce_experiments.means.range_others import group_error
from sottovoce_experiments.means.sok import bimodal, binomial, variances
from sottovoce_experiments.means.sok_vectors import EUCLID, noise

pytestmark = pytest.mark.slow


def test_after_a_square_wave_only_the_second_round_counts() -> None:
    """Its reports are no part of the mean, so the error is that of fewer people through the chosen channel."""
    law = sv.Prior([-0.2, 0.0, 0.3], [1, 2, 1])
    protocol = AdaptiveMeanRounds(sv.Interval(-1, 1), 2, 2_000, first="square-wave")
    asked = protocol.start().arms[0].mechanism
    first = asked.tally(asked.privatize(np.random.default_rng(1).choice(law.values, protocol.asked_first), seed=1))
    decision = protocol.decision(first)
    later = protocol.participants - first.n
    usual = (protocol.one_round().average_variance(law) + law.variance) / protocol.participants
    alone = (decision.mechanism.average_variance(law) + law.variance) / later
    assert exact_ratios(protocol, law, first, decision)[0] == pytest.approx(alone / usual)


def test_the_exact_error_of_group_means_is_that_of_simulations() -> None:
    """1,500 squared errors of two groups: their mean has a standard error of 4 %."""
    asked = sv.mechanism("group-nprr", sv.Pair(sv.Categories(["a", "b"]), sv.Interval(0, 10)), epsilon=3)
    parts, n, rng = [np.array([1.0, 2.0, 6.0]), np.array([4.0, 4.0, 9.0])], 3_000, np.random.default_rng(2)
    crowd = Crowd.of(asked.domain, None, [sv.Prior.of(part) for part in parts])
    truth, errors = np.array([part.mean() for part in parts]), []
    for _ in range(750):
        totals = _means(asked, crowd, n, rng).totals
        # Sums are counted from the middle of the range.
        errors.append(totals.sums / totals.sizes + 5 - truth)
    assert np.mean(np.square(errors)) == pytest.approx(group_error(asked, parts, n), rel=0.15)
    clamped = sv.mechanism("group-nprr", sv.Pair(sv.Categories(["a", "b"]), sv.Interval(0, 6)), epsilon=3)
    assert group_error(clamped, parts, 10**9) == pytest.approx(0.5, rel=1e-3)  # of 9 clamped to 6: a bias of 1


def test_intervals_of_each_case_are_about_its_truth() -> None:
    """With 40,000 people every interval is near the truth that the study compares it with."""
    rng = np.random.default_rng(3)
    for name, ask in CASES.items():
        for of, (low, high, truth, _) in ask(3.0, 40_000, rng).items():
            middle, half = (low + high) / 2, (high - low) / 2
            assert (np.abs(middle - truth) <= 2.5 * half + 1e-9).all(), (name, of)


def test_the_laws_of_the_overview_have_their_moments() -> None:
    law = binomial()
    assert 50 * (law.mean + 1) == pytest.approx(20) and 2500 * law.variance == pytest.approx(16)
    parts = [stats.truncnorm(-mean / sd, (1 - mean) / sd, mean, sd).mean() for mean, sd in ((0.3, 0.1), (0.6, 0.2))]
    assert (bimodal().mean + 1) / 2 == pytest.approx(np.mean(parts), abs=1e-6)


@pytest.mark.parametrize(("method", "epsilon", "ratio"), [("piecewise", 4.0, 1.0), ("designed", 10.0, 0.86)])
def test_a_mean_absolute_error_follows_from_the_variance(method: str, epsilon: float, ratio: float) -> None:
    """600 drawn errors of 100 participants, of which the mean is off by 3 % (standard error)."""
    law, asked = binomial(), sv.mechanism(method, sv.Interval(-1, 1), epsilon=str(epsilon))
    noise = variances("synthetic", method, epsilon)[0][3]
    held = np.random.default_rng(1).choice(law.values, (600, 100), p=law.weights)
    means = [float(asked.estimate(asked.tally(asked.privatize(one, seed=i))).value) for i, one in enumerate(held)]
    found = np.abs(np.array(means) - held.mean(axis=1)).mean() / 2
    assert found / np.sqrt(2 / np.pi * noise / 100) == pytest.approx(ratio, abs=0.12)


def test_the_variance_in_a_ball_averages_that_of_each_answer() -> None:
    law, asked = binomial(), sv.mechanism("duchi-l2", sv.Ball(2, 4), epsilon="1.0")
    each = [float(asked.variance(np.full(4, x), target="sample")[0]) for x in law.values]
    assert noise(EUCLID, 4, 1.0)[0] == pytest.approx(np.dot(each, law.weights) / 4, rel=1e-6)
