"""Searches with one threshold a round: Bayes with screening, and gradient steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.core.domain import Above
from sottovoce.core.round import Round
from sottovoce.protocols.play import play
from sottovoce.protocols.quantile.answers import ThresholdAnswers
from sottovoce.protocols.quantile.bayes_search import QuantileBayesSearch
from sottovoce.protocols.quantile.gradient import QuantileGradient
from sottovoce.tally.tally import Tally

UNIT = sv.Interval(0, 1)


def answers_at(threshold: str, asked: int, below: float, epsilon: float = 1.0) -> ThresholdAnswers:
    """Answers whose unbiased estimate of the share below is nearly the given one."""
    mechanism = sv.mechanism("rr", Above(UNIT, threshold), epsilon=epsilon)
    keep = np.exp(epsilon) / (np.exp(epsilon) + 1)
    yes = round(asked * (keep + (1 - 2 * keep) * below))
    return ThresholdAnswers.of(UNIT, [Tally(mechanism, asked, np.array([asked - yes, yes]))])


def error_of(protocol: Any, power: float, seed: int) -> float:
    """Error of the share below the estimate, where the share below x is x to a power."""
    rng = np.random.default_rng(seed)

    def ask(stage: Round, number: int) -> tuple[Tally, ...]:
        (arm,) = stage.arms
        view: Any = arm.mechanism.domain
        above, asked = 1 - float(view.threshold) ** power, protocol.people(number - 1)
        keep = np.exp(float(protocol.epsilon)) / (np.exp(float(protocol.epsilon)) + 1)
        yes = int(rng.binomial(asked, 1 - keep + (2 * keep - 1) * above))
        return (Tally(arm.mechanism, asked, np.array([asked - yes, yes])),)

    estimate = play(protocol, ask).estimates["quantile"]
    return abs(float(estimate.value) ** power - float(protocol.share))


def test_a_bayesian_search_asks_where_both_sides_are_equally_likely() -> None:
    protocol = QuantileBayesSearch(UNIT, "0.5", 1, 10_000, rounds=10, parts=8, error="0.1")
    assert protocol.next_threshold(()) is not None and float(protocol.next_threshold(()) or 0) == 0.5
    first = answers_at("0.5", 400, 0.4)
    # By hand: parts above the threshold have a share of 0.4 below it, those below 0.6.
    rate = {side: float(first.yes_rate(share)) for side, share in (("above", 0.4), ("below", 0.6))}
    yes, asked = float(first.yes[0]), 400
    odds = np.exp(
        sum(
            sign * (yes * np.log(rate[side]) + (asked - yes) * np.log1p(-rate[side]))
            for side, sign in (("above", 1), ("below", -1))
        )
    )
    chances = np.array([1.0] * 4 + [odds] * 4)
    cumulative = np.cumsum(chances)[:-1] / chances.sum()
    expected = (np.argmin(np.abs(cumulative - 0.5)) + 1) / 8
    assert float(protocol.next_threshold((first,)) or 0) == expected == 0.75


def test_screening_keeps_thresholds_that_were_asked_about() -> None:
    protocol = QuantileBayesSearch(UNIT, "0.5", 1, 10_000, rounds=12, parts=64)
    learned = tuple(answers_at(place, 700, float(place)) for place in ("0.5", "0.25", "0.6", "0.4", "0.55", "0.45"))
    rounds = (*learned, *(answers_at("0.5", 700, 0.5) for _ in range(3)))
    asked = {float(one.thresholds[0]) for one in learned}
    for _ in range(3):
        threshold = protocol.next_threshold(rounds)
        if threshold is None:
            break
        assert float(threshold) in asked
        rounds = (*rounds, answers_at(str(threshold), 1_000, float(threshold)))
    assert protocol.place(rounds) in asked


@pytest.mark.parametrize("share", ["0.5", "0.8"])
def test_both_searches_find_quantiles_of_a_skewed_law(share: str) -> None:
    floor = ((float(share) * (1 - float(share)) + np.e / (np.e - 1) ** 2) / 20_000) ** 0.5
    for protocol in (
        QuantileBayesSearch(UNIT, share, 1, 20_000, rounds=30, parts=256),
        QuantileGradient(UNIT, share, 1, 20_000, rounds=40),
    ):
        errors = [error_of(protocol, 2.0, seed) for seed in range(6)]
        assert np.sqrt(np.mean(np.square(errors))) < 8 * floor, type(protocol).__name__


def test_a_gradient_step_moves_against_the_estimated_gradient() -> None:
    protocol = QuantileGradient(UNIT, "0.5", 1, 1_000, rounds=10)
    one = answers_at("0.5", 100, 0.8)
    bound = np.sqrt(float(one.variance(0.5)) / 100 + 0.25)
    moved = 0.5 - (float(one.below[0]) - 0.5) / (2 * bound)
    assert float(protocol.next_threshold((one,)) or 0) == pytest.approx(moved, abs=2e-6)
    assert protocol.place((one,)) == pytest.approx((0.5 + moved) / 2)  # the mean of all places


def test_thresholds_of_whole_numbers_are_possible_answers() -> None:
    numbers = sv.Integers(0, 9)
    for protocol in (
        QuantileBayesSearch(numbers, "0.5", 4, 4_000, rounds=8),
        QuantileGradient(numbers, "0.5", 4, 4_000, rounds=8),
    ):
        estimate = sv.simulate(protocol, np.arange(4_000) % 10, seed=1)["quantile"]
        assert estimate.value in range(3, 7), type(protocol).__name__


@pytest.mark.parametrize(
    ("wrong", "said"), [({"rounds": 3}, "'rounds'"), ({"parts": 1}, "'parts'"), ({"error": 2}, "'error'")]
)
def test_mistakes_are_named(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(sv.ParameterError, match=said):
        QuantileBayesSearch(UNIT, "0.5", 1, 1_000, **wrong)
