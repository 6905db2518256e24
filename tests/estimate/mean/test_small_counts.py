"""Few reports at a large budget: rare answers that nobody gave so far, and rare bits. Coverage is computed."""

from __future__ import annotations

import itertools
import math
from math import comb
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import sottovoce as sv
from sottovoce.estimate.mean.single import UNSEEN, hides_rare_answers


@pytest.mark.parametrize("epsilon", [3, 8])
@pytest.mark.parametrize("n", [50, 150])
def test_coordinates_of_one_bit_are_covered_at_every_truth(epsilon: int, n: int) -> None:
    """All tallies of one coordinate, with their exact probabilities; one in 1,000 answers differs from the others."""
    mechanism = sv.mechanism("duchi-linf", sv.Box(-1, 1, dimensions=1), epsilon=epsilon)
    estimates = [mechanism.estimate(sv.Tally(mechanism, n, np.array([n - ones, ones]))) for ones in range(n + 1)]
    reach = float(estimates[-1].value - estimates[0].value)
    assert all(one.default_method == "exact" and one.doubt() is None for one in estimates)
    bounds = [one.ci() for one in estimates]
    for truth in (-1, -0.998, -0.98, 0.3, 1):
        rate = (truth - float(estimates[0].value)) / reach
        chances = [comb(n, ones) * rate**ones * (1 - rate) ** (n - ones) for ones in range(n + 1)]
        covered = sum(c for c, (low, high) in zip(chances, bounds, strict=True) if low[0] <= truth <= high[0])
        assert sum(chances) == pytest.approx(1) and covered >= 0.95


def test_simultaneous_exact_intervals_are_wider_and_other_methods_stay() -> None:
    mechanism = sv.mechanism("duchi-linf", sv.Box(-1, 1, dimensions=3), epsilon=4)
    estimate = mechanism.estimate(mechanism.tally(mechanism.privatize([[0.5, -0.5, 0.0]] * 300, seed=1)))
    exact, joint = estimate.ci(), estimate.ci(simultaneous=True)
    assert ((joint.low < exact.low) & (exact.high < joint.high)).all()
    for method in ("normal", "hoeffding"):
        low, high = estimate.ci(method=method)
        assert ((low < estimate.values) & (estimate.values < high)).all()


@pytest.mark.parametrize(("epsilon", "n"), [(8, 50), (8, 100), (8, 200), (5, 50)])
def test_a_rare_answer_that_nobody_gave_is_inside_the_interval(epsilon: int, n: int) -> None:
    """Reports as expected of answers that are all 0: one in n of the people may still hold 1."""
    mechanism = sv.mechanism("nprr", sv.Interval(-1, 1), epsilon=epsilon, k=2)
    estimate = mechanism.estimate(sv.Tally(mechanism, n, np.array([0, n, 0])))
    low, high = estimate.ci()
    assert estimate.default_method == "betting" and estimate.doubt() is None
    assert low[0] < -1 / n < 1 / n < high[0]


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "n"), [(3, 50), (8, 100), (8, 150)])
def test_two_kinds_of_reports_are_covered_as_often_as_intervals_without_a_doubt_must_be(epsilon: int, n: int) -> None:
    """All tallies of one bit, at 401 means: the normal interval misses at most 4/3 times as often as promised."""
    mechanism = sv.mechanism("bernoulli", sv.Interval(-1, 1), epsilon=epsilon)
    estimates = [mechanism.estimate(sv.Tally(mechanism, n, np.array([n - ones, ones]))) for ones in range(n + 1)]
    low, high = np.array([one.quiet_ci() for one in estimates]).squeeze(axis=2).T
    first, last = (float(estimates[place].value) for place in (0, -1))
    assert all(one.doubt() is None for one in estimates)
    for truth in np.linspace(-1, 1, 401):
        chances = binom.pmf(np.arange(n + 1), n, (truth - first) / (last - first))
        assert chances[(low <= truth) & (truth <= high)].sum() >= 1 - 0.05 * 4 / 3


@pytest.mark.parametrize("share", [0.001, 0.01, 0.05])
def test_rare_answers_are_covered_by_enumeration(share: float) -> None:
    """Two kinds of answers at epsilon 8: all tallies of 50 reports with three outputs, by their probabilities."""
    n, domain = 50, sv.Interval(-1, 1)
    mechanism = sv.mechanism("nprr", domain, epsilon=8, k=2)
    law = np.array([[float(mechanism.channel.likelihood(output, code)) for output in range(3)] for code in (0, 1)])
    rates, truth = (1 - share) * law[0] + share * law[1], share
    covered, seen = 0.0, 0.0
    for cells in _compositions(n):
        chance = math.exp(_log_multinomial(cells, rates))
        if chance > 1e-9:
            estimate = mechanism.estimate(sv.Tally(mechanism, n, np.array(cells)))
            low, high = estimate.ci()
            covered += chance * bool(low[0] <= truth <= high[0])
            seen += chance
    assert seen > 0.999 and covered >= 0.95


def _compositions(n: int) -> Any:
    return ((a, n - a - b, b) for a, b in itertools.product(range(n + 1), repeat=2) if a + b <= n)


def _log_multinomial(cells: tuple[int, ...], rates: np.ndarray) -> float:
    each = (count * math.log(rate) - math.lgamma(count + 1) for count, rate in zip(cells, rates, strict=True))
    return math.lgamma(sum(cells) + 1) + sum(each)


def test_the_rule_is_that_of_three() -> None:
    """A share of 3 / n is absent from n reports with a probability of 5 %."""
    assert pytest.approx(0.05, rel=0.01) == (1 - UNSEEN / 1000) ** 1000
    assert hides_rare_answers(0.01, 100, 1.0) and not hides_rare_answers(0.01, 1000, 1.0)
    few = sv.mechanism("sampled", sv.Box(-1, 1, dimensions=2), epsilon=8)
    estimate = few.estimate(few.tally(few.privatize([[0.3, -1.0]] * 150, seed=1)))
    assert "Hoeffding interval holds" in (estimate.doubt() or "")
